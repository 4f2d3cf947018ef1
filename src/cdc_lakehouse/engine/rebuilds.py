"""Decide whether and why a gold table is rebuilt, by the properties of the stored table."""

from collections.abc import Mapping, Sequence

from cdc_lakehouse.delta.past import Mark

# The properties of a stored table: what decides its content, its materialization, and whether it
# has rows with columns that are older than the row, or key changes of such: `none`, marks, `some`.
DEFINITION, KIND = "cdc_lakehouse.definition", "cdc_lakehouse.kind"
PARTIAL_ROWS, PARTIAL_KEY_CHANGES = "cdc_lakehouse.partial_rows", "cdc_lakehouse.partial_moves"


def why_rebuilt(
    stored: Mapping[str, str | None],
    definition: str,
    changed_columns: Sequence[str],
    reprocessed: bool,
    is_asked: bool,
    why_not_of_past: str | None = None,
) -> str | None:
    """Return why a table that is there is built again; empty if a person asks, None if it is not.

    Args:
        stored: the table's properties.
        definition: the name of what decides its content now.
        changed_columns: the columns in which it differs from its definition.
        reprocessed: whether changes that it has read were processed otherwise since.
        is_asked: whether a person asks to build it again.
        why_not_of_past: why the changes that it has are not those of the change log, if so.
    """
    if is_asked:
        return ""
    if why_not_of_past:
        return why_not_of_past
    if changed_columns:
        return f"its definition has changed: {', '.join(changed_columns)}"
    if stored.get(DEFINITION) != definition:
        return "its SQL, its key or its options have changed"
    if reprocessed:
        return "messages of its source tables were reprocessed"
    if stored.get(PARTIAL_KEY_CHANGES) is None and stored.get(PARTIAL_ROWS) != "none":
        # It is from before rows kept columns through key changes that do not carry them.
        return "rows whose primary key has changed keep more columns"
    return None


def why_not_of_past(mark: Mark, events: Mark) -> str | None:
    """Return why the changes of a table are not of the past of the change log, if two marks tell.

    Args:
        mark, events: how far the table and the change log have read bronze.messages.
    """
    if mark.is_lost:
        return "it was restored to a version of which its log no longer tells what it had read"
    if mark.version is not None and mark.version == events.version and not mark.is_at(events):
        return f"commit {mark.version} of bronze.messages was another one when the table read it"
    return None
