"""Describe the result of a command for the person at the keyboard."""

from collections import Counter

from cdc_lakehouse.console.text_table import text_table
from cdc_lakehouse.ingest.report import BackfillReport, IngestReport, KafkaReport
from cdc_lakehouse.operate.maintain import MaintainReport
from cdc_lakehouse.operate.replay import Replay
from cdc_lakehouse.routes import UNROUTED


def landed_text(report: IngestReport | KafkaReport) -> str:
    """Return what a person reads about an ingest of files or from Kafka."""
    return kafka_text(report) if isinstance(report, KafkaReport) else ingest_text(report)


def ingest_text(report: IngestReport) -> str:
    """Return what a person reads about an ingest of files."""
    lines = [reroute_text(report.rerouted)] if report.rerouted else []
    if not report.files:
        lines.append(f"Nothing to land: {_found_text(report)}.")
    else:
        lines += [
            _counts({(t, report.formats[t]): n for t, n in report.messages.items()}),
            f"{len(report.messages):,} topics, {sum(report.messages.values()):,} messages, "
            f"{report.bytes:,} bytes, {report.files:,} files, {report.seconds:.1f} s",
        ]
    unrouted = sorted(t for t, name in report.formats.items() if name == UNROUTED)
    if unrouted:
        lines.append(f"{unrouted_text(unrouted)} The topic of a line file is its folder's name.")
    lines += report.notes
    if report.problems:
        lines += [f"Not landed ({len(report.problems):,}):", *report.problems]
    return "\n".join(lines)


def _found_text(report: IngestReport) -> str:
    found = f"{report.found:,} files found"
    if report.found and report.landed_before == report.found:
        return f"{found}, all landed before"
    if report.landed_before:
        return f"{found}, {report.landed_before:,} of them landed before"
    return found


def backfill_text(report: BackfillReport) -> str:
    """Return what a person reads about a backfill, or about what one would do."""
    if not report.places:
        return ingest_text(report)
    header = ["topic", "partition", "format", "messages", "first offset", "last offset"]
    header += ["in bronze", "other bytes", "erased"]
    cells = []
    for place in report.places:
        numbers = [place.messages, place.first_offset, place.last_offset]
        numbers += [place.in_bronze, place.conflicting, place.erased]
        cells.append(
            [place.topic, str(place.partition), place.format, *(f"{n:,}" for n in numbers)]
        )
    messages = report.messages.total()
    done = "would land" if report.is_dry_run else "landed. Run `dbt build` next"
    lines = [
        text_table(header, cells),
        f"{messages:,} messages, {report.bytes:,} bytes, {report.files:,} files {done}.",
    ]
    unrouted = sorted({place.topic for place in report.places if place.format == UNROUTED})
    if unrouted and report.is_dry_run:
        lines.append(f"Unrouted: {', '.join(unrouted)}. Add a line each to seeds/topics.csv first.")
    elif unrouted:
        lines.append(unrouted_text(unrouted))
    lines += report.notes
    if report.problems:
        lines += [f"Not landed ({len(report.problems):,}):", *report.problems]
    if report.refusals:
        lines += ["It would be refused as it is:", *report.refusals]
    return "\n".join(lines)


def kafka_text(report: KafkaReport) -> str:
    """Return what a person reads about an ingest from Kafka."""
    lines = [reroute_text(report.rerouted)] if report.rerouted else []
    messages = sum(row[3] for row in report.landed)
    if messages:
        header = ["topic", "partition", "format", "messages", "first offset", "last offset"]
        cells = [
            [t, str(p), f, *(f"{n:,}" for n in numbers)] for t, p, f, *numbers in report.landed
        ]
        lines.append(text_table(header, cells))
    else:
        lines.append(
            f"Nothing to land: no message is new in the {report.topics:,} topics that were read."
        )
    topics = len({row[0] for row in report.landed})
    lines.append(f"{topics:,} topics, {messages:,} messages, {report.seconds:.1f} s")
    unrouted = sorted({row[0] for row in report.landed if row[2] == UNROUTED})
    if unrouted:
        lines.append(unrouted_text(unrouted))
    return "\n".join([*lines, *report.notes])


def unrouted_text(topics: list[str]) -> str:
    """Return what a person reads about topics that landed without a route."""
    return (
        f"Unrouted: {', '.join(topics)}. Add a line each to seeds/topics.csv, then run "
        "`lakehouse reroute` and `dbt build`."
    )


def reroute_text(rerouted: Counter[tuple[str, str]]) -> str:
    """Return what a person reads about rerouted messages."""
    if not rerouted:
        return "Nothing to reroute: no unrouted message has a topic with a route."
    said = f"{rerouted.total():,} messages rerouted. Run `dbt build` next: it processes them."
    return f"{_counts(rerouted)}\n{said}"


def replay_text(replay: Replay) -> str:
    """Return what a person reads about replayed messages."""
    lines = []
    if replay.replayed:
        rows = [[*names, f"{count:,}"] for names, count in sorted(replay.replayed.items())]
        lines += [
            text_table(["topic", "result", "format", "messages"], rows),
            f"{replay.replayed.total():,} messages replayed. `dbt build` processes them next, with "
            "what seeds/topics.csv says now.",
        ]
    unrouted = sorted({topic for topic, _, name in replay.replayed if name == UNROUTED})
    if unrouted:
        lines.append(f"Without a line in seeds/topics.csv, so unrouted now: {', '.join(unrouted)}.")
    if replay.in_line:
        lines.append(
            f"{replay.in_line:,} messages are requeued already: `dbt build` processes them."
        )
    if replay.gone:
        lines.append(f"{replay.gone:,} messages cannot be replayed: bronze no longer holds them.")
    return "\n".join(lines) or "Nothing to replay: no message matches."


def maintain_text(report: MaintainReport) -> str:
    """Return what a person reads about a maintenance."""
    header = ["table", "files before", "files", "bytes before", "bytes"]
    header += ["files deleted", "bytes deleted", "files on disk", "log entries"]
    rows = [[t.table, *(f"{n:,}" for n in list(vars(t).values())[1:])] for t in report.tables]
    lines = [text_table(header, rows)] if rows else ["There are no tables yet."]
    if report.left_overs:
        lines.append(f"{report.left_overs:,} left-overs of killed runs removed from tmp")
    lines.append(f"{len(rows):,} tables, {report.seconds:.1f} s")
    if report.problems:
        lines += [f"Left out ({len(report.problems):,}):", *report.problems]
    return "\n".join([*lines[:-1], *report.notes, lines[-1]] if report.notes else lines)


def _counts(messages: dict[tuple[str, str], int]) -> str:
    rows = [[topic, name, f"{count:,}"] for (topic, name), count in sorted(messages.items())]
    return text_table(["topic", "format", "messages"], rows)
