"""The `lakehouse` command; one function for each subcommand."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from cdc_lakehouse.errors import NOT_WRITABLE, LakehouseError
from cdc_lakehouse.runtime.project import find_project, use_project


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 done in part, 2 nothing done."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except LakehouseError as error:
        print(f"lakehouse: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("lakehouse: interrupted; the next run completes what was begun.", file=sys.stderr)
        return 130


def setup(options: argparse.Namespace) -> int:
    """Fetch the Java libraries that pyspark does not bring, and archive their classes."""
    from cdc_lakehouse.runtime.class_archive import make_archive
    from cdc_lakehouse.runtime.jars import FOLDER, fetch_jars

    print(f"{len(fetch_jars())} jars in {FOLDER}")
    if reason := make_archive():
        print(f"No archive of Java's classes, so each start takes longer: {reason}")
    return 0


def ingest_files(options: argparse.Namespace) -> int:
    """Land the new files below a folder and print what was landed."""
    from cdc_lakehouse.ingest.landing import ingest_files

    path = Path(options.path).absolute()
    project_dir = enter_project(options.project_dir)
    report = ingest_files(path, topic=options.topic, project_dir=project_dir)
    print(report.text())
    return 1 if report.problems else 0


def ingest_kafka(options: argparse.Namespace) -> int:
    """Land what is new in Kafka's topics and print what was landed."""
    from cdc_lakehouse.ingest.kafka.options import Request, parse_options
    from cdc_lakehouse.ingest.kafka.source import ingest_kafka

    request = Request(
        bootstrap_servers=options.bootstrap_servers
        or os.environ.get("KAFKA_BOOTSTRAP_SERVERS", ""),
        subscribe=options.subscribe or "",
        subscribe_pattern=options.subscribe_pattern or "",
        assign=options.assign or "",
        starting_offsets=options.starting_offsets or "",
        starting_timestamp=options.starting_timestamp,
        max_offsets=options.max_offsets,
        limit=options.limit,
        options=parse_options(options.option),
        options_file=os.path.abspath(options.options_file) if options.options_file else "",
        name=options.name,
        every=options.every if options.continuous else None,
        accept_gaps=options.accept_gaps,
        recover=options.recover,
    )
    print(ingest_kafka(request, project_dir=enter_project(options.project_dir)).text())
    return 0


def reroute(options: argparse.Namespace) -> int:
    """Give unrouted messages the format that their topics have by now."""
    from cdc_lakehouse.console.report import reroute_text
    from cdc_lakehouse.operate.replay import reroute

    print(reroute_text(reroute(enter_project(options.project_dir))))
    return 0


def replay(options: argparse.Namespace) -> int:
    """Put messages that have landed back in line, and print which."""
    from cdc_lakehouse.console.report import replay_text
    from cdc_lakehouse.operate.replay import Selection, parse_offsets, replay

    selection = Selection(
        reasons=tuple(options.reason),
        topics=tuple(options.topic),
        partition=options.partition,
        offsets=parse_offsets(options.offsets) if options.offsets is not None else None,
        settled=options.settled,
        all=options.all,
    )
    print(replay_text(replay(selection, enter_project(options.project_dir))))
    return 0


def maintain(options: argparse.Namespace) -> int:
    """Compact, checkpoint and vacuum the tables, and print what became of each."""
    from cdc_lakehouse.operate.maintain import maintain, parse_duration

    enter_project(options.project_dir)
    report = maintain(parse_duration(options.retention), options.wait)
    print(report.text())
    return 1 if report.problems else 0


def show(options: argparse.Namespace) -> int:
    """Print one table, or a view of the whole lakehouse."""
    from cdc_lakehouse.console.show import run_query, show_lakehouse

    enter_project(options.project_dir)
    if options.table:
        run_query(f"select * from {options.table}", options.rows)
        return 0
    return 0 if show_lakehouse() else 1


def query(options: argparse.Namespace) -> int:
    """Print the result of a SQL statement."""
    from cdc_lakehouse.console.show import run_query

    enter_project(options.project_dir)
    run_query(options.sql, options.rows, csv=options.csv)
    return 0


def add_table(options: argparse.Namespace) -> int:
    """Write the gold model of a source table, or of all that have none."""
    from cdc_lakehouse.console.show import tables_session
    from cdc_lakehouse.gold.add_table import Gold, find_table, seen_tables, split_names

    if options.all is bool(options.table):
        raise LakehouseError("Name one table, `lakehouse add-table DB.TABLE`, or give --all.")
    if options.all and (options.key or options.name):
        raise LakehouseError("--key and --as are of one table: name it instead of --all.")
    project_dir = enter_project(options.project_dir)
    with tables_session() as spark:
        tables = seen_tables(spark)
    gold = Gold(project_dir)
    with writing_models():
        if options.all:
            lines, failures = gold.add_all(tables, options.history, options.infer)
            print("\n".join(lines))
            return 1 if failures else 0
        key = split_names(options.key, ",") if options.key else None
        table = find_table(tables, options.table)
        print(gold.add(table, key, options.name, options.history, options.infer))
    print("Fill in what the descriptions do not say, then run `dbt build`.")
    return 0


@contextmanager
def writing_models() -> Iterator[None]:
    """Say in a sentence that a checkout cannot be written, as that of a scheduler may be.

    Raises:
        LakehouseError: the project's files are read-only.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in NOT_WRITABLE:
            raise
        raise LakehouseError(
            f"{error.filename} cannot be written: {error.strerror}. add-table writes models into "
            "the project: run it on a checkout that is writable."
        ) from None


def erase(options: argparse.Namespace) -> int:
    """Remove data subjects from every table and from disk, and print what was removed."""
    from cdc_lakehouse.operate.erase import erase, read_key, read_keys

    if options.key and options.keys_file:
        raise LakehouseError("Name one subject with --key, or several with --keys-file.")
    # Locks, dbt's artifacts and its logs name the command that wrote them.
    sys.argv[1:] = ["erase", *filter(None, [options.table])]
    subjects = [read_key(options.key)] if options.key else []
    if options.keys_file:
        subjects = read_keys(Path(options.keys_file).absolute())
    project_dir = enter_project(options.project_dir)
    report = erase(options.table, subjects, project_dir, options.dry_run)
    print(report.text)
    return 0 if report.is_complete else 1


def expire(options: argparse.Namespace) -> int:
    """Drop settled messages from bronze by their age."""
    from cdc_lakehouse.operate.expire import expire_messages

    enter_project(options.project_dir)
    print(expire_messages(options.older_than, options.dry_run))
    return 0


def enter_project(given: str | None) -> Path:
    """Let this process work on a project, there: dbt, which `erase` runs, takes it from there.

    Args:
        given: the folder; None takes the one that dbt would take.

    Raises:
        LakehouseError: there is no project.
    """
    project = use_project(find_project(given))
    os.chdir(project)
    return project


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lakehouse", description="Land change messages and look at the tables made of them."
    )
    released = f"lakehouse {version('cdc_lakehouse')}"
    parser.add_argument("--version", action="version", version=released)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("setup", help="fetch the Java libraries")
    command.set_defaults(run=setup)

    sources = commands.add_parser("ingest", help="land messages").add_subparsers(
        required=True, metavar="SOURCE"
    )
    command = sources.add_parser("files", help="land new files, each once")
    command.add_argument("path", metavar="PATH", help="a folder, read recursively, or one file")
    command.add_argument("--topic", help="topic of the line files; default: their folder's name")
    command.set_defaults(run=ingest_files)
    _add_project(command)

    command = sources.add_parser("kafka", help="land what is new in topics, each message once")
    _add_kafka(command)
    command.set_defaults(run=ingest_kafka)
    _add_project(command)

    command = commands.add_parser("reroute", help="route messages that landed without a route")
    command.set_defaults(run=reroute)
    _add_project(command)

    command = commands.add_parser("replay", help="put rejected messages back in line for dbt")
    command.add_argument(
        "--reason", metavar="CODE", action="append", default=[], help="why they were rejected"
    )
    command.add_argument(
        "--topic", metavar="NAME", action="append", default=[], help="* is any run of characters"
    )
    command.add_argument("--partition", type=int, metavar="N")
    command.add_argument("--offsets", metavar="FROM-TO", help="both are taken; FROM- and -TO, too")
    command.add_argument(
        "--settled", action="store_true", help="accepted messages, too, of the topics named"
    )
    command.add_argument("--all", action="store_true", help="every rejected message")
    command.set_defaults(run=replay)
    _add_project(command)

    command = commands.add_parser("maintain", help="compact and vacuum all tables")
    command.add_argument(
        "--retention", metavar="TIME", default="7 days", help="of replaced files; default: 7 days"
    )
    command.add_argument(
        "--wait", type=float, metavar="SECONDS", default=0, help="for dbt to end; default: 0"
    )
    command.set_defaults(run=maintain)
    _add_project(command)

    command = commands.add_parser("show", help="print a view of the lakehouse, or one table")
    command.add_argument("table", metavar="TABLE", nargs="?", help="for example gold.orders")
    command.add_argument("--rows", type=int, metavar="N", default=20, help="of TABLE; default: 20")
    command.set_defaults(run=show)
    _add_project(command)

    command = commands.add_parser("query", help="print the result of a SQL statement")
    command.add_argument("sql", metavar="SQL")
    command.add_argument("--rows", type=int, metavar="N", default=100, help="default: 100")
    command.add_argument(
        "--csv", action="store_true", help='CSV with a header; NULL is empty, an empty text is ""'
    )
    command.set_defaults(run=query)
    _add_project(command)

    command = commands.add_parser(
        "add-table", help="write the gold model of a table from what silver has seen"
    )
    command.add_argument(
        "table", metavar="DB.TABLE", nargs="?", help="names with dots in backticks; DB.SCHEMA.TABLE"
    )
    command.add_argument("--all", action="store_true", help="every table that no model reads yet")
    command.add_argument("--key", metavar="A,B", help="columns; default: as the messages name them")
    command.add_argument("--as", dest="name", metavar="NAME", help="of the model")
    command.add_argument(
        "--history", action="store_true", help="also write <name>_history, all versions of a row"
    )
    command.add_argument(
        "--infer",
        action="store_true",
        help="give columns without a type in the messages the type that all values seen fit; "
        "default: text, with that type in a comment",
    )
    command.set_defaults(run=add_table)
    _add_project(command)

    command = commands.add_parser(
        "erase", help="remove data subjects from all tables and from disk"
    )
    command.add_argument(
        "table",
        metavar="DB.TABLE",
        nargs="?",
        help="their table; default: only complete what was interrupted",
    )
    command.add_argument(
        "--key",
        metavar="COLUMN=VALUE",
        action="append",
        help="of one subject; once for each column of the key",
    )
    command.add_argument(
        "--keys-file", metavar="FILE", help="CSV: a header of the key's columns, a line a subject"
    )
    _add_dry_run(command)
    command.set_defaults(run=erase)
    _add_project(command)

    command = commands.add_parser(
        "expire", help="drop old messages from bronze; silver and gold keep what became of them"
    )
    command.add_argument(
        "--older-than", metavar="AGE", required=True, help="since the ingest, such as '400 days'"
    )
    _add_dry_run(command)
    command.set_defaults(run=expire)
    _add_project(command)
    return parser


def _add_kafka(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--bootstrap-servers", metavar="HOST:PORT", help="default: KAFKA_BOOTSTRAP_SERVERS"
    )
    command.add_argument("--subscribe", metavar="A,B", help="topics")
    command.add_argument("--subscribe-pattern", metavar="REGEX", help="that a topic's name matches")
    command.add_argument("--assign", metavar="JSON", help='partitions: {"A": [0, 1]}')
    command.add_argument(
        "--starting-offsets",
        metavar="WHERE",
        help='earliest (default), latest or {"A": {"0": 17}}; only where there is no checkpoint',
    )
    command.add_argument(
        "--starting-timestamp", metavar="TIME", type=_milliseconds, help="2026-11-01T00:00:00+00:00"
    )
    command.add_argument(
        "--max-offsets", metavar="N", type=_positive(int), help="at most so many a micro-batch"
    )
    command.add_argument("--limit", metavar="N", type=_positive(int), help="at most so many a run")
    command.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="of Spark's Kafka source or of Kafka's clients; ${env:NAME} takes a secret from the "
        "environment",
    )
    command.add_argument(
        "--options-file", metavar="FILE", help="the same as Java properties, for example secrets"
    )
    command.add_argument("--name", default="kafka", help="of the stream; default: kafka")
    command.add_argument(
        "--continuous", action="store_true", help="stay up until SIGTERM or SIGINT"
    )
    command.add_argument(
        "--every", metavar="SECONDS", type=_positive(float), default=10, help="default: 10"
    )
    command.add_argument(
        "--accept-gaps", action="store_true", help="go on behind what Kafka deleted unread"
    )
    command.add_argument(
        "--recover", action="store_true", help="go on behind what bronze has, without a checkpoint"
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


def _add_dry_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("--dry-run", action="store_true", help="say what would go, keep all")


def _add_project(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--project-dir",
        metavar="DIR",
        help="the dbt project; default: DBT_PROJECT_DIR, or the nearest folder upwards that is one",
    )


if __name__ == "__main__":
    sys.exit(main())
