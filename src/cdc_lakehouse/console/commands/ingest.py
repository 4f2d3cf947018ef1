"""`lakehouse ingest`: land messages from files and from Kafka."""

import argparse
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cdc_lakehouse.console.commands.ingest_snapshot import add_snapshot
from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.exits import Exit

if TYPE_CHECKING:
    from cdc_lakehouse.ingest.kafka.options import Request
    from cdc_lakehouse.ingest.report import IngestReport, KafkaReport
    from cdc_lakehouse.runtime.timings import Recorder


def add(commands: Commands) -> None:
    """Add the command, with one subcommand for each source, to the parser."""
    ingest = commands.add_parser("ingest", help="land messages")
    files, kafka = add_sources(ingest)
    kafka.add_argument("--continuous", action="store_true", help="stay up until SIGTERM or SIGINT")
    kafka.add_argument(
        "--every",
        metavar="SECONDS",
        type=_positive(float),
        default=10,
        help="seconds between two micro-batches; default: 10",
    )
    for command in (files, kafka):
        command.set_defaults(run=_ingest)
    add_snapshot(ingest)


def add_sources(
    command: argparse.ArgumentParser, are_required: bool = True
) -> tuple[argparse.ArgumentParser, ...]:
    """Add a subcommand for each source, files and Kafka, and return the two.

    Each sets `land`, the function that lands what is new there.
    """
    sources = command.add_subparsers(required=are_required, metavar="SOURCE")
    files = sources.add_parser("files", help="land new files, each once")
    files.add_argument(
        "path", metavar="PATH", type=os.path.abspath, help="a folder, read recursively, or one file"
    )
    files.add_argument("--topic", help="topic of the line files; default: their folder's name")
    files.set_defaults(land=_land_files)

    kafka = sources.add_parser("kafka", help="land what is new in topics, each message once")
    _add_kafka(kafka)
    kafka.set_defaults(land=_land_kafka, continuous=False)
    command.set_defaults(project_dir=None)
    for source in (files, kafka):
        add_project(source, default=argparse.SUPPRESS)  # `command` may have the option, too
    return files, kafka


def _add_kafka(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--bootstrap-servers", metavar="HOST:PORT", help="default: KAFKA_BOOTSTRAP_SERVERS"
    )
    command.add_argument("--subscribe", metavar="A,B", help="read these topics")
    command.add_argument(
        "--subscribe-pattern", metavar="REGEX", help="read the topics whose names match"
    )
    command.add_argument("--assign", metavar="JSON", help='read these partitions: {"A": [0, 1]}')
    command.add_argument(
        "--starting-offsets",
        metavar="WHERE",
        help='earliest (default), latest or {"A": {"0": 17}}; only where there is no checkpoint',
    )
    command.add_argument(
        "--starting-timestamp",
        metavar="TIME",
        type=_milliseconds,
        help="begin with messages of this time, such as 2026-11-01T00:00:00+00:00",
    )
    command.add_argument(
        "--max-offsets",
        metavar="N",
        type=_positive(int),
        help="read at most N offsets per micro-batch",
    )
    command.add_argument(
        "--limit", metavar="N", type=_positive(int), help="read at most N offsets per run"
    )
    command.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an option of Spark's Kafka source or of Kafka's clients; ${env:NAME} takes a secret "
        "from the environment",
    )
    command.add_argument(
        "--options-file",
        metavar="FILE",
        type=os.path.abspath,
        help="a file of such options as Java properties, for example secrets",
    )
    command.add_argument(
        "--name", default="kafka", help="name of the stream and its checkpoint; default: kafka"
    )
    command.add_argument(
        "--accept-gaps",
        action="store_true",
        help="continue after offsets that Kafka deleted before they were read, and record the gap",
    )
    command.add_argument(
        "--recover",
        action="store_true",
        help="continue after the offsets that bronze has, where the checkpoint is lost",
    )


def _ingest(options: argparse.Namespace) -> Exit:
    """Land what is new in a source and print what was landed."""
    from cdc_lakehouse.console.documents import landed_document
    from cdc_lakehouse.console.report import landed_text

    if options.land is _land_kafka and options.continuous:
        options.output.begin_lines()
    let_java_have_variables(options)
    report = options.land(options, enter_project(options.project_dir))
    options.output.tell(landed_document(report), landed_text(report))
    return exit_of(report)


def _land_files(
    options: argparse.Namespace, project_dir: Path, timings: "Recorder | None" = None
) -> "IngestReport":
    from cdc_lakehouse.ingest.landing import ingest_files

    return ingest_files(options.path, options.topic, project_dir, timings)


def _land_kafka(
    options: argparse.Namespace, project_dir: Path, timings: "Recorder | None" = None
) -> "KafkaReport":
    from cdc_lakehouse.ingest.kafka.source import ingest_kafka

    # A run that stays up reports each batch to a program; the report of any other has them all.
    tells = {"tell": options.output.tell} if options.continuous and options.output.as_json else {}
    return ingest_kafka(request_of(options), project_dir, timings, **tells)


def exit_of(report: "IngestReport | KafkaReport | None") -> Exit:
    """Return the exit code of an ingest; None as the report: there was nowhere to look."""
    return Exit.IN_PART if getattr(report, "problems", None) else Exit.DONE


def let_java_have_variables(options: argparse.Namespace) -> None:
    """Let Java, which is not started yet, have what options of Kafka take from the environment."""
    from cdc_lakehouse.ingest.kafka.options import variables_of
    from cdc_lakehouse.runtime.java_environment import let_java_have

    if options.land is _land_kafka:
        let_java_have(variables_of(request_of(options)))


def request_of(options: argparse.Namespace) -> "Request":
    """Return what the options of a command ask of Kafka."""
    from cdc_lakehouse.ingest.kafka import options as kafka

    return kafka.Request(
        bootstrap_servers=options.bootstrap_servers
        or os.environ.get("KAFKA_BOOTSTRAP_SERVERS", ""),
        subscribe=options.subscribe or "",
        subscribe_pattern=options.subscribe_pattern or "",
        assign=options.assign or "",
        starting_offsets=options.starting_offsets or "",
        starting_timestamp=options.starting_timestamp,
        max_offsets=options.max_offsets,
        limit=options.limit,
        options=kafka.parse_options(options.option),
        options_file=options.options_file or "",
        name=options.name,
        every=options.every if options.continuous else None,
        accept_gaps=options.accept_gaps,
        recover=options.recover,
    )


def _milliseconds(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        shown = f"{text!r} is no time such as 2026-11-01T00:00:00+00:00"
        raise argparse.ArgumentTypeError(shown) from None
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)


def _positive(kind: type[int] | type[float]) -> Callable[[str], int | float]:
    def positive(text: str) -> int | float:
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
        return value

    return positive
