"""Wait until a source is complete: runs note that in a file beside silver.complete_until."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cdc_lakehouse.engine.complete_until import FILE, TABLE, Complete, read_state
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.paths import lakehouse_dir, warehouse_path
from cdc_lakehouse.seeds import use_one_of

BETWEEN = 2.0  # seconds from one look to the next


@dataclass(frozen=True)
class Reached:
    """Up to where a source is complete, and whether that is far enough."""

    row: Complete
    until: datetime | None
    in_gold: bool

    @property
    def _found(self) -> int | None:
        return self.row.gold_complete_until if self.in_gold else self.row.complete_until

    @property
    def is_reached(self) -> bool:
        """Whether every change that was committed at the asked time or before is there."""
        found = self._found
        if self.until is None:
            return found is not None
        return found is not None and found >= int(self.until.timestamp() * 1_000_000)

    def document(self) -> dict[str, Any]:
        """Return what a program reads."""
        return {
            "source": self.row.source,
            "is_reached": self.is_reached,
            "until": self.until,
            "complete_until": _at(self.row.complete_until),
            "gold_complete_until": _at(self.row.gold_complete_until),
            "waits_for": self.row.waits_for,
        }

    def text(self) -> str:
        """Return it as a sentence or two."""
        what, found = "gold" if self.in_gold else "silver", _at(self._found)
        said = "up to no moment yet" if found is None else f"until {found:%Y-%m-%d %H:%M:%S.%f} UTC"
        waits = f" It waits for {self.row.waits_for}." if self.row.waits_for else ""
        return f"{self.row.source}: {what} is complete {said}.{'' if self.is_reached else waits}"


def _at(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else datetime.fromtimestamp(microseconds / 1e6, UTC)


def wait_for(source: str, until: datetime | None, seconds: float, in_gold: bool) -> Reached:
    """Look until a source is complete until a time, or some seconds are over.

    It takes no Spark, and no lock: runs go on.

    Raises:
        LakehouseError: no run has noted how far sources are, or there is none of that name.
    """
    end = time.monotonic() + seconds
    while True:
        found = Reached(_row_of(source), until, in_gold)
        left = end - time.monotonic()
        if found.is_reached or left <= 0:
            return found
        time.sleep(min(BETWEEN, left))


def _row_of(source: str) -> Complete:
    try:
        text = (warehouse_path(*TABLE.split(".")) / FILE).read_text()
    except OSError:
        text = ""
    state = read_state(text)
    if state is None:
        raise LakehouseError(
            f"No run has noted in {lakehouse_dir()} how far its sources are. Give topics a source "
            "in seeds/topics.csv, or a gold table a history; then run `dbt build`."
        )
    rows = {row.source: row for row in state.sources}
    if source not in rows:
        raise LakehouseError(f"There is no source {source!r}. {use_one_of(source, rows)}")
    return rows[source]
