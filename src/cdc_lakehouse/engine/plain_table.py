"""How a run brings gold_plain.<name>, a copy of a gold table for other Delta readers, up to date.

The copy notes, as a transaction of Delta, which state of the stored table it shows.
"""

from typing import Literal

KIND = "plain_table"
SUFFIX = "_plain"  # of the schema of gold

Need = Literal["nothing", "mark", "merge", "replace", "remake"]


def transaction_of(storage_id: str) -> str:
    """Return the transaction under which a copy keeps the mark of a stored table.

    A table that is built again has another id, so an old mark never speaks of it.
    """
    return f"gold_storage {storage_id}"


def need_of(
    shown: int | None,
    before: int | None,
    now: int,
    changes: int,
    removes_others: bool,
    is_alike: bool = True,
) -> Need:
    """Return what a copy needs.

    Args:
        shown: the mark that it shows; None if there is no copy of this stored table.
        before: the mark that the stored table had before this run; None if the run has built it.
        now: the mark that it has.
        changes: how many changes the run has merged since `before`.
        removes_others: whether these remove rows of other keys, as a TRUNCATE does.
        is_alike: whether the copy was made by the rules and with the types that the model has.
    """
    if shown == now and is_alike:
        return "nothing"
    if shown is not None and shown > now:
        # The stored table was put back from a backup; Delta would skip a write with an older mark.
        return "remake"
    if before is None or shown != before or removes_others or not is_alike:
        return "replace"
    return "merge" if changes else "mark"
