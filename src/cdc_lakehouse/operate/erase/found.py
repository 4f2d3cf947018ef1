"""What an erasure finds before it removes anything."""

from dataclasses import dataclass, field
from typing import Any

from cdc_lakehouse.bronze.tables import IDENTITY
from cdc_lakehouse.operate.erase.keys import Key

# The columns that identify a row of silver.events.
ROW = [*IDENTITY, "row_number"]


@dataclass
class Found:
    """What an erasure has found of the subjects."""

    rows: list[list[Any]] = field(default_factory=list)  # of silver.events
    messages: int = 0
    deliveries: int = 0  # rows of bronze.messages
    unread: int = 0  # of the messages: those that no format could read, or that wait for others
    neighbours: tuple[int, int] = (0, 0)  # messages that hold other rows too, and these rows
    other_keys: list[Key] = field(default_factory=list)  # that rows had before or after
    files: list[str] = field(default_factory=list)  # that delivered the messages
    runs: list[list[Any]] = field(default_factory=list)
    models: list[list[str]] = field(default_factory=list)
    tests: list[list[str]] = field(default_factory=list)
    cleaned: list[list[Any]] = field(default_factory=list)  # see `Removal`
    cleaned_rows: dict[str, int] = field(default_factory=dict)  # of them, by table
    hashes: list[str] = field(default_factory=list)
    left: list[list[str]] = field(default_factory=list)
    undecided: list[list[str]] = field(default_factory=list)
    seeds: list[str] = field(default_factory=list)  # files whose rows hold the key's text
