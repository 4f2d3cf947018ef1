"""What of the facts is beyond its limit: what a person should look at."""

from collections import defaultdict
from collections.abc import Iterator

from cdc_lakehouse.report.facts import Drift, Facts, Finding, Partition
from cdc_lakehouse.report.limits import Limits
from cdc_lakehouse.report.units import duration
from cdc_lakehouse.routes import EXTRACT_TOPIC

DAY = 86400


def findings(facts: Facts, limits: Limits) -> list[Finding]:
    """Return what is beyond its limit, the findings of a kind one after the other."""
    topics: dict[str, list[Partition]] = defaultdict(list)
    for partition in facts.partitions:
        topics[partition.topic].append(partition)
    return [
        *(Finding("error", "lakehouse", problem, "lakehouse show") for problem in facts.problems),
        *_gaps(facts),
        *(
            found
            for topic, parts in topics.items()
            for found in _of_topic(topic, parts, facts, limits)
        ),
        *(found for partition in facts.partitions for found in _of_partition(partition, limits)),
        *_of_tables(facts, limits),
    ]


def _gaps(facts: Facts) -> Iterator[Finding]:
    """Yield the offsets that were lost for good: no limit makes that a matter of course."""
    for gap in facts.gaps:
        if gap.reason == "unread":
            yield Finding(
                "missing_offsets",
                f"{gap.topic}/{gap.partition}",
                f"Kafka had deleted offsets {gap.first_offset:,} to {gap.last_offset:,} before "
                "they were read.",
                'lakehouse query "select * from bronze.offset_gaps"',
            )


def _of_topic(
    topic: str, parts: list[Partition], facts: Facts, limits: Limits
) -> Iterator[Finding]:
    messages, rejected = sum(p.messages for p in parts), sum(p.rejected for p in parts)
    share, most = rejected / messages if messages else 0.0, limits.value("rejected_share", topic)
    if most is not None and share > most:
        yield Finding(
            "rejected_share",
            topic,
            f"{rejected:,} of {messages:,} messages are rejected ({share:.2%}, limit {most:.2%}).",
            'lakehouse query "select * from silver.rejected_by_reason"',
        )
    waiting = [p.unprocessed_since for p in parts if p.unprocessed_since is not None]
    longest = limits.value("waiting_seconds", topic)
    if waiting and longest is not None and (since := facts.made_at - min(waiting)) > longest:
        count = sum(p.unprocessed for p in parts)
        yield Finding(
            "waiting_seconds",
            topic,
            f"{count:,} messages have landed and are not processed, the first for "
            f"{duration(since)} (limit {duration(longest)}).",
            "dbt build",
        )
    delays = [p.delay_seconds for p in parts if p.delay_seconds is not None]
    longest = limits.value("delay_seconds", topic)
    if delays and longest is not None and max(delays) > longest:
        yield Finding(
            "delay_seconds",
            topic,
            f"The latest change was processed {duration(max(delays))} after its commit in the "
            f"source (limit {duration(longest)}).",
            "lakehouse timings",
        )
    if not topic.startswith(EXTRACT_TOPIC):  # nobody expects the next one
        came = max((p.ingested_at for p in parts if p.ingested_at is not None), default=None)
        yield from _silence("No message", topic, came, facts.made_at, limits)


def _silence(
    what: str, subject: str, came: float | None, made_at: float, limits: Limits
) -> Iterator[Finding]:
    longest = limits.value("silence_seconds", subject)
    if came is not None and longest is not None and made_at - came > longest:
        yield Finding(
            "silence_seconds",
            subject,
            f"{what} has come for {duration(made_at - came)} (limit {duration(longest)}).",
            'lakehouse query "select * from silver.table_accounting"',
        )


def _of_partition(partition: Partition, limits: Limits) -> Iterator[Finding]:
    most = limits.value("missing_offsets", partition.topic)
    if most is not None and partition.missing_offsets > most:
        yield Finding(
            "missing_offsets",
            f"{partition.topic}/{partition.partition}",
            f"{partition.missing_offsets:,} offsets between {partition.first_offset:,} and "
            f"{partition.last_offset:,} have no message (limit {most:,.0f}). A producer with "
            "transactions, and compaction, leave such gaps, too.",
            'lakehouse query "select * from silver.message_accounting"',
        )


def _of_tables(facts: Facts, limits: Limits) -> Iterator[Finding]:
    for table in facts.source_tables:
        yield from _silence("No change", table.table, table.ingested_at, facts.made_at, limits)
    for drift in facts.drift:
        days, at = limits.value("drift_days", drift.table), drift.committed_at
        if days is not None and (at is None or facts.made_at - at < days * DAY):
            yield Finding("drift_days", drift.table, _drift_text(drift), "dbt test -s models/gold")
    for table in facts.gold_tables:
        count = sum(problem.problems for problem in table.problems)
        most = limits.value("problems", table.table)
        if most is not None and count > most:
            columns = sorted({p.column or p.code for p in table.problems})
            yield Finding(
                "problems",
                table.table,
                f"{count:,} {'problem' if count == 1 else 'problems'} with values, keys or rules: "
                f"{', '.join(columns[:5])}{', …' if columns[5:] else ''} (limit {most:,.0f}).",
                "lakehouse show gold.gold_problems",
            )


def _drift_text(drift: Drift) -> str:
    place = f"{drift.topic}/{drift.partition}, offset {drift.offset:,}"
    column = f"column {drift.column}" if drift.column else "the table"
    said = {
        "new": f"{column} is new{f', of type {drift.type}' if drift.type else ''}",
        "vanished": f"{column} has vanished",
        "retyped": f"{column} was {drift.previous_type} and is {drift.type}",
        "renamed": f"{column} was called {drift.previous_name}",
        "renamed_table": f"the table was called {drift.previous_name}",
        "dropped_table": "the table was dropped",
    }[drift.drift]
    return f"In the source {said} ({place})."
