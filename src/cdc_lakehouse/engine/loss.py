"""Refuse to rebuild the change log if it would lose rows that bronze can no longer give it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from cdc_lakehouse.bronze.removal import ERASURE, EXPIRY
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.storage.files import Location

# The environment variable that lets the change log lose these rows.
LOSE_REMOVED = "LAKEHOUSE_LOSE_REMOVED"


@dataclass(frozen=True)
class LostRows:
    """Rows of a change log of whose messages bronze holds none, and when they were committed."""

    count: int
    first_committed_at: str | None = None
    last_committed_at: str | None = None


def query_of_lost_rows(table: str) -> str:
    """Return the query of the `LostRows` that a change log would lose if it were built again."""
    return f"""
        select
            count(*),
            cast(min(committed_at) as string),
            cast(max(committed_at) as string)
        from {table} as processed
        where exists (
            select 1 from bronze.removed_messages as runs
            where processed.topic = runs.topic
                and processed.partition = runs.partition
                and processed.offset between runs.first_offset and runs.last_offset
        )"""


def refuse_rebuild(table: str, lost: LostRows) -> None:
    """Refuse to build a change log again that has rows of removed messages.

    Raises:
        LakehouseError: it has some, and nobody has said that they may be lost.
    """
    if not lost.count or _may_be_lost():
        return
    raise LakehouseError(
        f"{table} cannot be rebuilt without loss: {lost.count} of its rows, committed from "
        f"{lost.first_committed_at} to {lost.last_committed_at}, are of messages that bronze no "
        "longer holds (retention, or an erasure of others in the same messages). Build gold alone, "
        f"`dbt run --full-refresh -s gold`; or, to lose them, set {LOSE_REMOVED}=yes."
    )


def refuse_protection(table: str, lost: LostRows) -> None:
    """Refuse to protect other columns of rows whose clear values are gone with their messages.

    Raises:
        LakehouseError: there are some, and nobody has said that they may be lost.
    """
    if _may_be_lost():
        return
    raise LakehouseError(
        f"{table} cannot follow seeds/protected_columns.csv: a line that counts for its rows, or "
        f"the key, has changed, and {lost.count} of them, committed from {lost.first_committed_at} "
        f"to {lost.last_committed_at}, are of messages that bronze no longer holds. Put the lines "
        "and the key back as they were; new lines may stand below them. To lose these rows, set "
        f"{LOSE_REMOVED}=yes."
    )


def refuse_first_build(removed: Mapping[str, int], path: Location) -> None:
    """Refuse to build a silver.events that has read nothing from a bronze that is not whole.

    Bronze itself says what it no longer holds, so it does not matter how silver was lost.

    Args:
        removed: how many messages bronze has removed, by reason.
        path: the folder of silver.events.

    Raises:
        LakehouseError: it has removed some, and nobody has said that they may be lost.
    """
    if not sum(removed.values()) or _may_be_lost():
        return
    kinds = {EXPIRY: "dropped by `lakehouse expire`", ERASURE: "removed by `lakehouse erase`"}
    counts = [
        f"{removed[reason]:,} {text}" for reason, text in kinds.items() if removed.get(reason)
    ]
    raise LakehouseError(
        "silver.events is missing or has read nothing yet, and cannot be built again without loss: "
        f"bronze no longer holds all messages ({', '.join(counts)}). Put {path} back from a backup "
        "and run again; gold tables keep their rows meanwhile. To build silver.events without "
        f"those messages, set {LOSE_REMOVED}=yes."
    )


def _may_be_lost() -> bool:
    return os.environ.get(LOSE_REMOVED) == "yes"
