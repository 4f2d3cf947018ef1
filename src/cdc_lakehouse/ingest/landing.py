"""Land files of messages in bronze: every file once, every byte as it is, one commit a run."""

import os
import time
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from cdc_lakehouse.bronze import deliveries, operations
from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.bronze.ledger import APPLICATION, landed_batch, unlanded
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.delivered import existing, find_once
from cdc_lakehouse.ingest.files import (
    UNFIT,
    File,
    come_once,
    describe,
    digest_of,
    is_parquet,
    stage,
)
from cdc_lakehouse.ingest.generations import new_file, numbers_of
from cdc_lakehouse.ingest.names import NO_NAMES, Names
from cdc_lakehouse.ingest.overlap import conflict
from cdc_lakehouse.ingest.report import IngestReport, gone, problem
from cdc_lakehouse.ingest.room import Room, max_file_bytes
from cdc_lakehouse.ingest.writing import staged_for_workers, writing
from cdc_lakehouse.routes import Routes, read_routes
from cdc_lakehouse.runtime.locks import hold
from cdc_lakehouse.runtime.paths import lakehouse_dir
from cdc_lakehouse.runtime.progress import rows_read, say, showing
from cdc_lakehouse.runtime.session import MANY_BYTES, compile_plans
from cdc_lakehouse.runtime.timings import Recorder, Step
from cdc_lakehouse.storage.files import Location


def ingest_files(
    path: str | Path,
    topic: str | None = None,
    project_dir: str | Path = ".",
    timings: Recorder | None = None,
) -> IngestReport:
    """Land every new file below `path` in bronze.messages, in one commit.

    Messages that landed before their topic had a route are rerouted first, in a commit of their
    own; where another command is changing bronze, the next ingest does it. Needs room in
    LAKEHOUSE_DIR for a copy of the new files.

    Args:
        path: a folder, read recursively, or one file.
        topic: the topic of the line files; None takes the name of the folder that holds the file.
        project_dir: the dbt project, for its seeds/topics.csv.
        timings: of what went before and belongs to the ingest; what it records is kept.

    Raises:
        LakehouseError: nothing could be done: no such path, no readable routes, another ingest at
            work, Spark failed. A file that cannot be landed is a problem in the report instead.
    """
    root = existing(path)
    if topic == "":
        raise LakehouseError("The topic is empty. Name one, or leave --topic out.")
    routes = read_routes(Path(project_dir))
    timings = timings or Recorder()
    with writing(timings) as (spark, staging):
        report = Ingest(spark, routes, staging, timings).run([root], topic)
        report.notes += filter(None, [timings.finish("ingest-files", spark)])
    return report


class Ingest:
    """One run: the intent goes to bronze.landed_files first, then the messages, as one commit."""

    def __init__(self, spark: SparkSession, routes: Routes, staging: Path, timings: Recorder):
        self.spark, self.routes, self.staging = spark, routes, staging
        self.timings, self.names = timings, NO_NAMES
        self.began_at, self.clock = datetime.now(UTC), time.monotonic()
        self.report = IngestReport()
        self.room = Room(staging, max_file_bytes(), isinstance(lakehouse_dir(), Path))

    def run(self, roots: list[str], topic: str | None) -> IngestReport:
        with self.step("reroutes"):
            self.reroute()
        with self.step("finds new files"):
            known, batch = self.known_files(roots)
            paths = find_once(roots, known, self.refuse, self.report.notes.append)
            self.report.found = len(paths)
            new = self.new_files(paths, known)
        say(f"{len(paths):,} files found, {len(new):,} of them new")
        size = sum(file.size for file in new)
        with (
            self.step("reads and stages files") as step,
            showing("reads files", size, "bytes", lambda: sum(file.read for file in new)),
        ):
            files = self.refuse_conflicts(self.stage_new(new, known, topic), known)
            step.bytes_read += sum(file.size for file in files)
            step.rows_read += sum(file.messages.total() for file in files)
        if self.is_to_land(files):
            with self.step("records files"):
                self.record_intent(files, batch)
            with self.step("appends messages"):
                self.land(files, batch)
        self.report.seconds = time.monotonic() - self.clock
        return self.report

    def is_to_land(self, files: list[File]) -> bool:
        """Tell whether what is staged is to land; what else is asked of it first, a kind adds."""
        return bool(files)

    def step(self, name: str) -> AbstractContextManager[Step]:
        return self.timings.step("ingest", name, self.spark)

    def reroute(self) -> None:
        try:
            held = hold("bronze", "The next ingest reroutes what is unrouted.")
        except LakehouseError as error:
            self.report.notes.append(str(error))
            return
        with held:
            self.report.rerouted = operations.reroute(self.spark, self.routes)

    def known_files(self, roots: list[str]) -> tuple[dict[str, list[Row]], int]:
        """Return what has landed below `roots`, by path, and the number of the next batch.

        What an earlier run was stopped from landing is landed first.
        """
        mark = landed_batch(self.spark)
        known = deliveries.landed_files(self.spark, roots, mark.number)
        later = [row for rows in known.values() for row in rows if row.batch > mark.number]
        free = 1 + max([mark.newest, *(row.batch for row in later)])
        # One at most, unless bronze has gone back.
        interrupted = unlanded(later, mark)
        for rows in interrupted:
            self.finish_interrupted(rows, free if mark.went_back else None)
        if interrupted:
            known = deliveries.landed_files(self.spark, roots, mark.number)
        return known, free + (mark.went_back and bool(interrupted))

    def finish_interrupted(self, rows: list[Row], batch: int | None) -> None:
        """Land what an earlier run wrote down but bronze does not have, if it is unchanged.

        Args:
            batch: its number, if it is to be recorded as another than it was.
        """
        say(f"completing an interrupted run of {len(rows):,} files")
        files = [file for row in rows if (file := self.stage_intended(row))]
        same = {file.path for file in files}
        for number in {row.batch for row in rows}:
            lost = [row.path for row in rows if row.path not in same and row.batch == number]
            deliveries.forget_files(self.spark, number, lost)
            self.report.problems += filter(None, map(gone, lost))
        if batch is None:
            self.land(files, rows[0].batch, rows[0].landed_at)
        elif files:
            self.record_intent(files, batch)
            self.land(files, batch)

    def stage_intended(self, row: Row) -> File | None:
        try:
            file = describe(row.path)
            file.digest = digest_of(row.path)
            if row.partition is None:
                file.names = Names.kept(row.topic)
            else:
                file.topic, file.partition = row.topic, row.partition
            same = file.digest == row.digest
            return stage(file, self.staging, self.room) if same else None
        except UNFIT:
            return None  # if it still exists, it is looked at again as a new file, and reported

    def new_files(self, paths: list[str], known: dict[str, list[Row]]) -> list[File]:
        new, looked = [], 0
        with showing("looks for new files", len(paths), "files", lambda: looked):
            for path in paths:
                landed = [row for row in known.get(path, []) if self.is_landed(row)]
                try:
                    file = new_file(path, landed)
                except UNFIT as error:
                    self.refuse(path, error)
                else:
                    new += [file] if file else []
                    self.report.landed_before += not file
                looked += 1
        return new

    def is_landed(self, row: Row) -> bool:
        """Tell whether a row of bronze.landed_files counts; whatever its topics were renamed to."""
        return True

    def stage_new(
        self, new: list[File], known: dict[str, list[Row]], topic: str | None
    ) -> list[File]:
        """Return the files that are fit to land. Parquet first: a line file takes a free number."""
        lines = [file for file in new if not is_parquet(file.path)]
        for file in lines:
            file.topic = topic or self.names.of(os.path.basename(os.path.dirname(file.path)))
        highest = deliveries.highest_partitions(
            self.spark, {file.topic for file in lines if file.topic is not None}
        )
        numbers = numbers_of(self.spark, lines, known)
        staged = []
        for file in sorted(new, key=lambda file: not is_parquet(file.path)):
            if file.topic is not None:
                file.partition = numbers.get(file.path, highest.get(file.topic, -1) + 1)
                if file.note and file.path not in numbers:
                    file.note = (
                        f"{file.path} does not begin with what has landed from it: landed as "
                        f"another file, partition {file.partition} of {file.topic}."
                    )
            else:
                file.names = self.names
            try:
                staged.append(stage(file, self.staging, self.room))
            except UNFIT as error:
                self.refuse(file.path, error)
                continue
            if file.topic is not None and file.partition is not None:
                file.highest[file.topic] = file.partition  # its number is taken if it is empty, too
            for name, partition in file.highest.items():
                highest[name] = max(partition, highest.get(name, -1))
        return staged

    def refuse_conflicts(self, files: list[File], known: dict[str, list[Row]]) -> list[File]:
        """Return the files without those that bring other messages under offsets that they have.

        A Parquet file says its partitions and offsets itself: what it brings under known ones
        would never be processed. Only a file that has landed before is asked; of the others the
        data tests of silver tell.
        """
        changed = [file for file in files if is_parquet(file.path) and file.path in known]
        if not changed:
            return files
        with staged_for_workers(self.spark, self.staging) as staged:
            found = {file.path: conflict(self.spark, staged, file.staged) for file in changed}
        for file in changed:
            if refused := found[file.path]:
                (self.staging / file.staged).unlink()
                self.refuse(file.path, refused)
        return [file for file in files if not found.get(file.path)]

    def refuse(self, path: str, error: Exception) -> None:
        self.report.problems.append(problem(path, error))

    def record_intent(self, files: list[File], batch: int) -> None:
        given = {"batch": batch, "landed_at": self.began_at}
        rows = [
            {**vars(f), "topic": f.topic or f.names.text, "messages": f.messages.total(), **given}
            for f in files
        ]
        deliveries.record_files(self.spark, rows)

    def land(self, files: list[File], batch: int, moment: datetime | None = None) -> None:
        """Append all staged messages to bronze.messages in one commit.

        Args:
            moment: when the ingest that recorded the files began, if it was another.
        """
        formats = {t: self.routes.format_of(t) for file in files for t in file.messages}
        if formats:
            compile_plans(self.spark, sum(file.bytes for file in files) > MANY_BYTES)
            messages = sum(file.messages.total() for file in files)
            appended = showing("appends", messages, "messages", rows_read(self.spark))
            with staged_for_workers(self.spark, self.staging) as staged, appended:
                self.append(staged, formats, (moment or self.began_at, batch), come_once(files))
        for left_over in self.staging.iterdir():
            left_over.unlink()
        self.room.empty()
        for file in files:
            self.report.messages.update(file.messages)
            self.report.bytes += file.bytes
            self.report.notes += [file.note] if file.note else []
        self.report.formats |= formats
        self.report.files += len(files)
        say(f"{len(files):,} files landed")

    def append(
        self, staged: Location, formats: dict[str, str], given: tuple[datetime, int], once: bool
    ) -> None:
        moment, batch = given
        try:
            transaction = (APPLICATION, batch)
            deliveries.append_messages(self.spark, staged, formats, moment, transaction, once)
        except (PySparkException, Py4JError):
            # A killed run's Java may live on for a moment and commit the batch itself.
            if bronze.committed_version(self.spark, APPLICATION) < batch:
                raise
