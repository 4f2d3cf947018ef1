"""Describe an erasure for a person."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cdc_lakehouse.bronze.removal import Removal
from cdc_lakehouse.operate.erase.found import Found
from cdc_lakehouse.operate.erase.keys import file_holds
from cdc_lakehouse.operate.erase.subjects import Subjects
from cdc_lakehouse.runtime.paths import lakehouse_dir
from cdc_lakehouse.storage.files import Location
from cdc_lakehouse.storage.objects import ObjectPath


@dataclass
class Removed:
    """How many rows of a table went and stay."""

    table: str
    removed: int
    stay: int


@dataclass
class Left:
    """A table that a person has to clean or to look at, and why."""

    table: str
    reason: str


@dataclass
class Erased:
    """The result of erasing the subjects of one table of the source.

    Attributes:
        table: of the source; None of an erasure that was interrupted, whose record names no key.
        began_at: of an erasure that was interrupted.
        deliveries, messages: rows of bronze.messages, and how many messages they are.
        rows: of silver.events.
        tables: the tables of gold and others that were cleaned or rebuilt.
        left: are to be cleaned by hand.
        undecided: hold no row with the key's text; what else they hold is not known.
    """

    table: str | None
    is_dry_run: bool = False
    began_at: str | None = None
    deliveries: int | None = None
    messages: int | None = None
    rows: int | None = None
    tables: list[Removed] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    undecided: list[Left] = field(default_factory=list)


def erased_of(
    found: Found | Removal,
    counts: dict[str, tuple[int, int]],
    table: str | None,
    is_dry_run: bool = False,
    began_at: str | None = None,
) -> Erased:
    """Return what a program reads about an erasure, or about one that was only tried."""
    erased = Erased(table, is_dry_run, began_at, messages=found.messages, rows=len(found.rows))
    erased.deliveries = found.deliveries if isinstance(found, Found) else None
    erased.tables = [Removed(t, before - after, after) for t, (before, after) in counts.items()]
    erased.left = [Left(*each) for each in found.left]
    erased.undecided = [Left(*each) for each in found.undecided]
    return erased


@dataclass
class Report:
    """The text about an erasure, and whether nothing is left to do by hand."""

    lines: list[str] = field(default_factory=list)
    erased: list[Erased] = field(default_factory=list)
    is_complete: bool = True

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def conclude(self, what: str, left: list[list[str]]) -> None:
        """Add the last line: whether anything is left that has to be cleaned by hand."""
        versions = line_of_versions(lakehouse_dir())
        if versions:
            self.lines.append(versions)
        if left:
            self.is_complete = False
            self.lines.append(f"{what} is not complete: {_tables(left)} named above to be cleaned.")
        elif versions:
            self.is_complete = False
            self.lines.append(f"{what} is not complete: the storage may keep what was deleted.")
        else:
            self.lines.append(f"{what} is complete.")


def line_of_versions(storage: Location) -> str | None:
    """Return what object storage may keep of the files that were deleted; None if it keeps none."""
    if not isinstance(storage, ObjectPath):
        return None
    try:
        if not storage.keeps_versions():
            return None
    except OSError as error:
        return f"Whether the storage keeps deleted objects is not known: {error}. Look it up there."
    return (
        f"The bucket of {storage} keeps the versions of objects that were deleted or replaced, and "
        "with them the rows. Delete the versions that are not current, or let a lifecycle rule do "
        "it."
    )


def _tables(left: list[list[str]]) -> str:
    return "1 table is" if len(left) == 1 else f"{len(left):,} tables are"


def lines_of_left(left: list[list[str]], undecided: list[list[str]]) -> list[str]:
    """Return which tables a person has to clean, and which nobody can tell."""
    lines = []
    if left:
        lines.append("Not cleaned, so do it by hand:")
        lines += [f"  {table}: {why}" for table, why in left]
    if undecided:
        lines.append("No row of these holds the key's text; what else they hold is not known:")
        lines += [f"  {table}: {why}" for table, why in undecided]
    return lines


def lines_of_counts(counts: dict[str, tuple[int, int]]) -> list[str]:
    """Return how many rows of each table went and stay."""
    return [
        f"{table}: {before - after:,} rows removed, {after:,} stay"
        for table, (before, after) in counts.items()
    ]


def lines_not_reached(files: list[str]) -> list[str]:
    """Return where the subjects may still be, however complete the erasure is."""
    return [
        "Not reached: the topics in Kafka, delivered files, backups, others' copies.",
        *(f"  delivered by {path}" for path in files if Path(path).exists()),
    ]


def log_folders(project_dir: Path) -> list[Path]:
    """Return where dbt writes, also in earlier runs: a merge names the keys that it looks for."""
    folders = [os.environ.get("DBT_LOG_PATH") or Path(project_dir) / "logs"]
    folders.append(os.environ.get("DBT_TARGET_PATH") or Path(project_dir) / "target")
    return [Path(folder) for folder in folders]


def lines_of_found(
    subjects: Subjects, found: Found, counts: dict[str, Any], dry_run: bool
) -> list[str]:
    """Return what was found of the subjects, and what becomes of it."""
    has = "would be" if dry_run else "were"
    lines = [
        f"{subjects.table}, {subjects.text()} in {', '.join(subjects.columns)}:",
        f"bronze.messages: {found.deliveries:,} rows {has} removed ({found.messages:,} messages)",
        f"silver.events: {len(found.rows):,} rows {has} removed",
    ]
    if dry_run:
        lines += [f"{table} would be rebuilt" for _, table in (*found.models, *found.tests)]
        lines += [
            f"{table}: {rows:,} rows would be removed" for table, rows in found.cleaned_rows.items()
        ]
    lines += lines_of_counts(counts)
    if found.unread:
        lines.append(
            f"{found.unread:,} of the messages are rejected, tombstones or shards: their bytes "
            "hold the key's text."
        )
    messages, rows = found.neighbours
    if messages:
        lines.append(
            f"{messages:,} of the messages hold other rows too: {rows:,} rows stay in silver "
            "and gold and lose their bytes in bronze, so silver.events cannot be rebuilt."
        )
    if found.other_keys:
        lines.append("The rows had other keys before or after, which are not erased:")
        lines += [
            f"  {', '.join(f'{c}={v}' for c, v in zip(subjects.columns, key, strict=True))}"
            for key in found.other_keys
        ]
    return lines


def lines_of_unreached(subjects: Subjects, found: Found, project_dir: Path) -> list[str]:
    """Return where the subjects may still be, with the seeds and logs that hold their keys."""
    lines = lines_not_reached(found.files)
    lines += [f"  the seed {path}, which holds the key's text" for path in found.seeds]
    logs = (p for f in log_folders(project_dir) for p in sorted(f.rglob("*")))
    holding = [str(p) for p in logs if p.is_file() and file_holds(p, subjects.stored)]
    if holding:
        lines.append(
            "These logs of earlier runs hold the key's text, maybe by chance; delete them:"
        )
        lines += [f"  {path}" for path in holding]
    return lines
