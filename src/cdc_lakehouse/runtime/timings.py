"""Record the steps of a command: the time of each, and what Spark read and wrote for it.

A command leaves them in a file of its own in LAKEHOUSE_DIR/timings; its next run replaces the file.
"""

import json
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

from py4j.java_gateway import JVMView
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.runtime.jvm import java_began, java_seconds, java_session, jvm_of
from cdc_lakehouse.runtime.paths import work_dir
from cdc_lakehouse.storage.files import write_whole

FOLDER = "timings"
# What Spark says of a stage, and the field of a step that is the sum of it.
METRICS = {
    "inputRecords": "rows_read",
    "inputBytes": "bytes_read",
    "outputRecords": "rows_written",
    "outputBytes": "bytes_written",
}

_group_numbers = count()


@dataclass
class Step:
    """What was done for a part of a command: a model of dbt, or the files of an ingest.

    Attributes:
        began: seconds from the beginning of the command.
        seconds: how long it took.
        rows_read, bytes_read: of files, by Spark's tasks, and by the step itself.
        rows_written, bytes_written: the same; of a write that marks rows, what it rewrote.
    """

    part: str
    name: str
    began: float
    seconds: float = 0.0
    rows_read: int = 0
    bytes_read: int = 0
    rows_written: int = 0
    bytes_written: int = 0


@dataclass(frozen=True)
class Timings:
    """The steps of a command that has ended, in the order in which they began.

    Attributes:
        java_seconds: CPU that Spark's Java took meanwhile, for this command and others that use it.
        compiler_seconds: those of its compilers, which are a part of them.
    """

    command: str
    began_at: str  # ISO 8601, UTC
    seconds: float
    steps: tuple[Step, ...]
    java_seconds: float = 0.0
    compiler_seconds: float = 0.0

    @property
    def seconds_outside(self) -> float:
        """The seconds in which no step was at work, in no thread."""
        inside, until = 0.0, 0.0
        for step in sorted(self.steps, key=lambda step: step.began):
            end = step.began + step.seconds
            inside += max(0.0, end - max(until, step.began))
            until = max(until, end)
        return self.seconds - inside

    def by_part(self) -> "list[Step]":
        """Return the steps of each part as one, in the order in which the parts began."""
        parts: dict[str, Step] = {}
        for step in sorted(self.steps, key=lambda step: step.began):
            whole = parts.setdefault(step.part, Step(step.part, "", step.began))
            for field in ("seconds", *METRICS.values()):
                setattr(whole, field, getattr(whole, field) + getattr(step, field))
        return list(parts.values())


class Recorder:
    """Records the steps of a command; several threads may."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin a command; what was recorded of an earlier one is gone."""
        self._began_at, self._clock = datetime.now(UTC), time.monotonic()
        self._steps: dict[str, Step] = {}
        # What Java had taken, in all and to compile, when a step first saw it.
        self._java_before: tuple[float, float] | None = None
        self._inside = threading.local()

    @contextmanager
    def step(self, part: str, name: str, spark: SparkSession | None = None) -> Iterator[Step]:
        """Record what is done inside as one step; one inside another is a part of that.

        Args:
            spark: the session of the thread, if Spark is asked meanwhile.
        """
        step = Step(part, name, time.monotonic() - self._clock)
        if getattr(self._inside, "step", None) is not None:
            yield step
            return
        # Several processes may use one Spark.
        group = f"lakehouse {os.getpid()} step {next(_group_numbers)}"
        self._inside.step = self._steps[group] = step
        if spark is not None:
            self._java_before = self._java_before or self._taken_before(jvm_of(spark))
            spark.sparkContext.setJobGroup(group, f"{part}: {name}")
        try:
            yield step
        finally:
            self._inside.step = None
            step.seconds = time.monotonic() - self._clock - step.began
            if spark is not None:
                # If Java has ended, what was done inside says so.
                with suppress(Py4JError, OSError):
                    # None is how a property ends, which PySpark's types do not know.
                    for name in ("spark.jobGroup.id", "spark.job.description"):
                        spark.sparkContext.setLocalProperty(name, None)  # type: ignore[arg-type]

    def finish(self, command: str, spark: SparkSession | None) -> str | None:
        """Keep what was recorded as that of the last `command`, and begin again.

        Nothing is kept if there was no step.

        Returns:
            Why it could not be kept, which does not undo what the command has done.
        """
        if not self._steps:
            return None
        seconds = time.monotonic() - self._clock
        began_at = self._began_at.isoformat(timespec="seconds")
        steps, before = self._steps, self._java_before
        self.begin()
        taken: tuple[float, ...] = ()
        try:
            if spark is not None:
                _add_metrics(steps, spark)
                if before:
                    now = java_seconds(jvm_of(spark))
                    taken = tuple(after - b for after, b in zip(now, before, strict=True))
            found = Timings(command, began_at, seconds, tuple(steps.values()), *taken)
            write_whole(work_dir() / FOLDER / f"{command}.json", json.dumps(asdict(found)))
        except (LakehouseError, Py4JError, OSError) as error:
            return f"The timings of this command were not kept: {short_message(error)}"
        return None

    def _taken_before(self, jvm: JVMView) -> tuple[float, float]:
        """What a Java took before this command, which may have started it."""
        is_own = java_began(jvm) >= self._began_at.timestamp()
        return (0.0, 0.0) if is_own else java_seconds(jvm)


def _add_metrics(steps: Mapping[str, Step], spark: SparkSession) -> None:
    """Add to the steps, by their job groups, what Spark knows that their stages read and wrote."""
    context = java_session(spark).sparkContext()
    context.listenerBus().waitUntilEmpty()
    store = context.statusStore()
    writer = jvm_of(spark).org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()

    def stage(number: int) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = json.loads(
                writer.writeValueAsString(store.lastStageAttempt(number))
            )
        except Py4JJavaError:  # Spark keeps the latest thousand
            return None
        return found

    jobs = json.loads(writer.writeValueAsString(store.jobsList(None)))
    add_stages(steps, jobs, stage)


def add_stages(
    steps: Mapping[str, Step],
    jobs: Iterable[Mapping[str, Any]],
    stage: Callable[[int], Mapping[str, Any] | None],
) -> None:
    """Add to the steps what the stages of their jobs read and wrote; one that two jobs have, once.

    Args:
        steps: by the group of their jobs.
        jobs: those of Spark, also of no step.
        stage: returns what Spark knows of a stage by its number, None if it has forgotten it.
    """
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    for job in jobs:
        if job.get("jobGroup") in steps:
            numbers[job["jobGroup"]] |= set(job["stageIds"])
    for group, found in numbers.items():
        for known in filter(None, map(stage, sorted(found))):
            for metric, field in METRICS.items():
                setattr(steps[group], field, getattr(steps[group], field) + known[metric])


def read_timings(command: str) -> Timings | None:
    """Return what the last `command` has left; None if none has, or if it cannot be read."""
    try:
        kept = json.loads((work_dir() / FOLDER / f"{command}.json").read_text())
        steps = tuple(Step(**step) for step in kept.pop("steps"))
        return Timings(**kept, steps=steps)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def commands_timed() -> list[str]:
    """Return the commands that have left timings, the last one first."""
    found = (work_dir() / FOLDER).glob("*.json")
    return [path.stem for path in sorted(found, key=lambda path: -path.stat().st_mtime_ns)]
