"""The report of an ingest: what it landed, and what it could not land."""

import os
from collections import Counter
from dataclasses import dataclass, field

from cdc_lakehouse.errors import short_message
from cdc_lakehouse.ingest.columns import Refused
from cdc_lakehouse.ingest.files import UNFIT_NAME, is_parquet


@dataclass
class IngestReport:
    """What a run landed, by topic and in total, and what it could not land."""

    found: int = 0
    landed_before: int = 0  # of those that were found
    files: int = 0
    bytes: int = 0  # of the values
    seconds: float = 0
    messages: Counter[str] = field(default_factory=Counter)
    formats: dict[str, str] = field(default_factory=dict)
    rerouted: Counter[tuple[str, str]] = field(default_factory=Counter)  # by topic and format
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass
class Place:
    """What an archive has of one partition, and what bronze has of the same messages.

    Attributes:
        holes: offsets between its first and its last that neither it nor bronze has.
        in_bronze: its messages that bronze has, too.
        conflicting: its messages for which it or bronze also has other bytes.
        erased: its messages that an erasure has removed from bronze.
        before, after: the nearest offsets of bronze outside of it.
    """

    topic: str
    partition: int
    format: str
    messages: int
    first_offset: int
    last_offset: int
    holes: int = 0
    in_bronze: int = 0
    conflicting: int = 0
    first_conflict: int | None = None
    erased: int = 0
    before: int | None = None
    after: int | None = None


@dataclass
class BackfillReport(IngestReport):
    """What a backfill landed or would land, compared with what bronze has."""

    is_dry_run: bool = False
    places: list[Place] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)  # why it would not land; of a dry run alone


@dataclass
class KafkaReport:
    """What a run landed of each partition of the topics that it read, and what it found out."""

    topics: int = 0  # that were read
    seconds: float = 0
    # topic, partition, format, messages, first and last offset
    landed: list[tuple[str, int, str, int, int, int]] = field(default_factory=list)
    rerouted: Counter[tuple[str, str]] = field(default_factory=Counter)  # by topic and format
    notes: list[str] = field(default_factory=list)


def problem(path: str, error: Exception) -> str:
    """Return the sentence that says why the file at `path` was not landed, and what to do."""
    shown = ascii(path) if UNFIT_NAME.search(path) else path
    if isinstance(error, Refused):
        return f"{shown} {error}"
    if isinstance(error, EOFError):
        return f"{shown} is a truncated gzip file. Deliver it again, whole."
    if isinstance(error, OSError) and error.strerror:
        return f"{shown} cannot be landed: {error.strerror}. Remove the cause and run again."
    kind = "Parquet" if is_parquet(path) else "gzip"
    reason = (short_message(error).splitlines() or ["no reason given"])[0].strip(" .")
    return f"{shown} is not a sound {kind} file: {reason}. Deliver it again, whole."


def gone(path: str) -> str | None:
    """Return the sentence on a file that was recorded and is not there; None if it is there.

    An extract has a label in the place of a path, and is delivered again by its own command.
    """
    if not os.path.isabs(path) or os.path.exists(path):
        return None
    return (
        f"{path} was recorded as landed, but bronze lacks its messages, and the file is gone. Put "
        "it back, or put a bronze back that has them."
    )
