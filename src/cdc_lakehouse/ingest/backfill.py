"""Land an archive of older messages beside a live feed."""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Row, SparkSession

from cdc_lakehouse.bronze import deliveries
from cdc_lakehouse.bronze.ledger import landed_batch
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.delivered import existing
from cdc_lakehouse.ingest.files import File
from cdc_lakehouse.ingest.landing import Ingest
from cdc_lakehouse.ingest.names import NO_NAMES, Names
from cdc_lakehouse.ingest.overlap import lines_beside_offsets, places_of
from cdc_lakehouse.ingest.report import BackfillReport, Place
from cdc_lakehouse.ingest.writing import staged_for_workers, writing
from cdc_lakehouse.routes import Routes, read_routes
from cdc_lakehouse.runtime.timings import Recorder

SHOWN = 3  # places that an error names


@dataclass(frozen=True)
class Request:
    """What a user asks of a backfill.

    Attributes:
        paths: folders, read recursively, or files.
        names: under which names the topics land.
        is_dry_run: whether it only says what would land.
        accept_conflicts: land other bytes under an offset that is known; the first that silver
            has processed stay.
        accept_erased: land messages that an erasure has removed.
    """

    paths: tuple[str, ...]
    names: Names = NO_NAMES
    is_dry_run: bool = False
    accept_conflicts: bool = False
    accept_erased: bool = False


def backfill(request: Request, project_dir: str | Path = ".") -> BackfillReport:
    """Land the files of an archive, each once, in one commit, or say what would land.

    What they hold is compared with bronze first. No place of a Kafka stream changes.

    Raises:
        LakehouseError: nothing was done: as of `ingest_files`, or because the archive has what
            must not land and was not accepted.
    """
    roots = [existing(path) for path in request.paths]
    routes = read_routes(Path(project_dir))
    timings = Recorder()
    with writing(timings) as (spark, staging):
        work = _Backfill(spark, routes, staging, timings, request)
        work.run(roots, None)
        report = work.report
        if not request.is_dry_run:
            report.notes += filter(None, [timings.finish("ingest-backfill", spark)])
    return report


class _Backfill(Ingest):
    """An ingest of files that gives topics other names, and looks before it lands."""

    report: BackfillReport

    def __init__(
        self,
        spark: SparkSession,
        routes: Routes,
        staging: Path,
        timings: Recorder,
        request: Request,
    ):
        super().__init__(spark, routes, staging, timings)
        self.request, self.names = request, request.names
        self.report = BackfillReport(is_dry_run=request.is_dry_run)

    def reroute(self) -> None:
        if not self.request.is_dry_run:
            super().reroute()

    def known_files(self, roots: list[str]) -> tuple[dict[str, list[Row]], int]:
        if not self.request.is_dry_run:
            return super().known_files(roots)
        committed = landed_batch(self.spark).number
        known = deliveries.landed_files(self.spark, roots, committed)
        landed = {path: [r for r in rows if r.batch <= committed] for path, rows in known.items()}
        return landed, committed + 1

    def is_landed(self, row: Row) -> bool:
        """Only under the same names: after a name was corrected, the archive lands again."""
        if row.partition is None:
            return bool(row.topic == self.names.text)
        return bool(row.topic == self.names.of(Path(row.path).parent.name))

    def refuse_conflicts(self, files: list[File], known: dict[str, list[Row]]) -> list[File]:
        """Return the files as they are: all of them are compared with bronze before they land."""
        return files

    def is_to_land(self, files: list[File]) -> bool:
        with self.step("compares with bronze"):
            if files:
                with staged_for_workers(self.spark, self.staging) as staged:
                    self.report.places = places_of(self.spark, staged, self.routes)
            refusals = self.refusals(files)
        self.report.notes += _gaps(self.report.places)
        if not self.request.is_dry_run:
            if refusals:
                raise LakehouseError(" ".join(["Nothing was landed.", *refusals]))
            return super().is_to_land(files)
        self.report.refusals += refusals
        for file in files:
            self.report.messages.update(file.messages)
            self.report.bytes += file.bytes
        self.report.files = len(files)
        self.report.formats = {t: self.routes.format_of(t) for t in self.report.messages}
        return False

    def refusals(self, files: list[File]) -> list[str]:
        """Return why the archive must not land as it is, a sentence or two for each cause."""
        refusals = []
        lines = {file.topic for file in files if file.topic is not None}
        for topic in lines_beside_offsets(self.spark, lines) if lines else []:
            refusals.append(
                f"The archive has line files of {topic}, of which bronze has messages with offsets "
                "of their own. Lines have none that could be compared. Give them a name of their "
                f"own, and that name a route: --topic {topic}={topic}@archive."
            )
        found = [place for place in self.report.places if place.conflicting]
        if found and not self.request.accept_conflicts:
            refusals.append(
                f"{sum(p.conflicting for p in found):,} messages have a topic, partition and "
                f"offset that is known with other bytes: {_listed(found)}. So the archive's "
                "offsets are not those of the topic. Give it a name of its own with --topic "
                "OLD=NEW; or land it with --accept-conflicts, if the bytes that silver has "
                "processed first are to stay."
            )
        found = [place for place in self.report.places if place.erased]
        if found and not self.request.accept_erased:
            refusals.append(
                f"{sum(p.erased for p in found):,} messages were removed by `lakehouse erase`: "
                f"{', '.join(f'{p.topic}/{p.partition}' for p in found)}. Take them out of the "
                "archive; or land it with --accept-erased, and erase again."
            )
        return refusals


def _listed(places: list[Place]) -> str:
    shown = [
        f"{p.topic}/{p.partition}, {p.conflicting:,} from offset {p.first_conflict:,}"
        for p in places[:SHOWN]
    ]
    more = f"; and {len(places) - SHOWN:,} more partitions" if len(places) > SHOWN else ""
    return "; ".join(shown) + more


def _gaps(places: list[Place]) -> list[str]:
    """Say which offsets neither the archive nor bronze has, beside and inside of the archive."""
    notes = []
    for place in places:
        name = f"{place.topic}/{place.partition}"
        between = ((place.before, place.first_offset), (place.last_offset, place.after))
        for last, following in between:
            if last is not None and following is not None and following > last + 1:
                notes.append(
                    f"{name}: neither the archive nor bronze has the offsets {last + 1:,} to "
                    f"{following - 1:,}."
                )
        if place.holes:
            notes.append(
                f"{name}: neither the archive nor bronze has {place.holes:,} of the offsets "
                f"{place.first_offset:,} to {place.last_offset:,}."
            )
    return notes
