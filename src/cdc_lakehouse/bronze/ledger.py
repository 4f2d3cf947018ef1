"""Check that bronze.landed_files, the ledger of files, has the same past as bronze.messages.

An ingest records a batch of files in the ledger, then commits their messages. That commit notes the
number of the batch and the ledger's commit that recorded it.
"""

from collections import defaultdict
from collections.abc import Iterable

from pyspark.sql import Row, SparkSession

from cdc_lakehouse.bronze.tables import LANDED_FILES, MESSAGES, folder_of
from cdc_lakehouse.delta.past import Mark, Unknown, note_of, past_of, read_mark, read_note
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.storage.files import Location

# The transactions by which the batches of files are numbered.
APPLICATION = "lakehouse ingest files"


def recorded_batch(ledger: Location, batch: int) -> tuple[int, str | None] | None:
    """Return the latest batch up to a number that a ledger has, and the commit that recorded it.

    Returns:
        -1 as the batch if it has none; None if its log does not tell.
    """
    try:
        for commit in past_of(ledger):
            noted = read_note(commit.user_metadata).get(APPLICATION)
            if noted and noted[0] <= batch:
                return noted[0], commit.identifier
            if not noted and commit.info.get("operation") == "WRITE":
                return None  # of an earlier release
    except Unknown:
        return None
    return -1, None


def note_of_record(batch: int) -> str:
    """Return the user metadata of the ledger's commit that records a batch."""
    return note_of({APPLICATION: (batch, None)})


def note_of_messages(batch: int) -> str:
    """Return what the commit of the messages of a batch notes of the ledger."""
    recorded = recorded_batch(folder_of(LANDED_FILES), batch)
    return note_of({APPLICATION: (batch, recorded and recorded[1])})


def landed_batch(spark: SparkSession) -> Mark:
    """Return up to which batch bronze.messages has the messages of the ledger's files.

    Raises:
        LakehouseError: the ledger is not the one that they were recorded in.
    """
    mark = read_mark(spark, folder_of(MESSAGES), APPLICATION)
    refuse_other_ledger(mark, folder_of(LANDED_FILES))
    return mark


def refuse_other_ledger(mark: Mark, ledger: Location) -> None:
    """Refuse a ledger that lacks the batch that bronze.messages has, or has another in its place.

    Without it, files would land a second time under other identities, or not at all.

    Raises:
        LakehouseError: it does.
    """
    recorded = recorded_batch(ledger, mark.number) if mark.number >= 0 else None
    if recorded is None:
        return
    batch, commit = recorded
    if batch < mark.number:
        found = f"has recorded {f'batch {batch}' if batch >= 0 else 'none'} before that"
    elif None not in (commit, mark.source) and commit != mark.source:
        found = f"has recorded other files as batch {batch}"
    else:
        return
    raise LakehouseError(
        f"bronze.messages has landed batch {mark.number}, but bronze.landed_files {found}: one of "
        "the two was restored, copied back or made again without the other. "
        "Nothing was landed. Put both back as they were at one moment, from one backup: "
        f"{folder_of(MESSAGES)} and {ledger}."
    )


def unlanded(rows: Iterable[Row], mark: Mark) -> list[list[Row]]:
    """Return the rows of the ledger whose messages bronze lacks, in the batches to land them.

    Of a path the last row counts. Where a RESTORE has taken batches back, all of them are one
    batch: the next to be committed makes its number that of the rows.

    Args:
        rows: those of later batches than bronze.messages has.
    """
    last = {row.path: row for row in sorted(rows, key=lambda row: row.batch)}
    if mark.went_back:
        return [list(last.values())] if any(row.messages for row in last.values()) else []
    batches: dict[int, list[Row]] = defaultdict(list)
    for row in last.values():
        batches[row.batch].append(row)
    # One without a message needs no commit.
    return [batches[batch] for batch in sorted(batches) if any(r.messages for r in batches[batch])]
