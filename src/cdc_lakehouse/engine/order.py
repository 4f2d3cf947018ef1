"""Decide which of two changes is later, and which rows a TRUNCATE, DROP or extract removes.

All statements use these functions. `engine/key_changes.py` compares changes in Python by the same
columns. The model of a format defines `sequence`.
"""

# Beside the place in the source's log. Of a before/after pair the row before comes first;
# of different changes at one place the one that was delivered last wins.
WITHIN_A_PLACE = ("partition", "offset", "row_number")


def order_columns(row: str = "", mark: str = "_") -> list[str]:
    """Return what changes are ordered by, the earliest first.

    Args:
        row: the name of a row and a dot.
        mark: what the names of the columns begin with: `_` in gold, nothing in silver.
    """
    own = [f"{row}{mark}{name}" for name in WITHIN_A_PLACE]
    return [f"{row}{mark}sequence", f"not {row}{mark}is_replaced", *own]


def order_key(sequence: str | None = None, mark: str = "_") -> str:
    """Return one value that is greater the later a change is.

    Args:
        sequence: the place in the source's log; None is that of the row.
        mark: as of `order_columns`.
    """
    place, *others = order_columns(mark=mark)
    return f"struct({', '.join([sequence or place, *others])})"


def order_within_a_place(row: str) -> str:
    """Return the same for changes that share their place in the source's log."""
    return f"struct({', '.join(order_columns(row)[1:])})"


def removed_by(row: str, marker: str) -> str:
    """Return the condition that a TRUNCATE, DROP or extract removes a row, by their sequences."""
    return f"{row} <= {marker}"
