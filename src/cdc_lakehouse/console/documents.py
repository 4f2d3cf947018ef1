"""Turn reports whose keys and rows are tuples into objects with names, for --json."""

from collections import Counter
from typing import Any

from cdc_lakehouse.console.output import plain
from cdc_lakehouse.ingest.report import IngestReport, KafkaReport
from cdc_lakehouse.operate.replay import Replay

LANDED = ("topic", "partition", "format", "messages", "first_offset", "last_offset")


def landed_document(report: IngestReport | KafkaReport) -> dict[str, Any]:
    """Return what an ingest of files or from Kafka has landed."""
    document: dict[str, Any] = plain(report) | {"rerouted": reroute_document(report.rerouted)}
    if isinstance(report, KafkaReport):
        return document | {"landed": [dict(zip(LANDED, row, strict=True)) for row in report.landed]}
    names = ("messages", "formats")
    rest = {name: value for name, value in document.items() if name not in names}
    landed = [
        {"topic": topic, "format": report.formats[topic], "messages": count}
        for topic, count in sorted(report.messages.items())
    ]
    return rest | {"landed": landed}


def reroute_document(rerouted: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return how many messages of which topics have which format now."""
    return [
        {"topic": topic, "format": name, "messages": count}
        for (topic, name), count in sorted(rerouted.items())
    ]


def replay_document(replay: Replay) -> dict[str, Any]:
    """Return what became of a replay."""
    replayed = [
        {"topic": topic, "outcome": result, "format": name, "messages": count}
        for (topic, result, name), count in sorted(replay.replayed.items())
    ]
    document: dict[str, Any] = plain(replay) | {"replayed": replayed}
    return document
