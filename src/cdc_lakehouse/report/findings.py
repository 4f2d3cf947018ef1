"""Find the facts that are beyond their limit: what a person should look at."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from cdc_lakehouse.report.facts import (
    Drift,
    Facts,
    Finding,
    Partition,
    Rejected,
    Source,
    SourceTable,
)
from cdc_lakehouse.report.limits import Limits
from cdc_lakehouse.report.questions import query_of, replay_command
from cdc_lakehouse.report.units import duration
from cdc_lakehouse.routes import EXTRACT_TOPIC
from cdc_lakehouse.sql import identifier

DAY = 86400
NAMED = 5  # topics, tables and reasons in one finding


def findings(facts: Facts, limits: Limits) -> list[Finding]:
    """Return the findings beyond a limit, one kind after the other."""
    topics: dict[str, list[Partition]] = defaultdict(list)
    for partition in facts.partitions:
        topics[partition.topic].append(partition)
    return [
        *(Finding("error", "lakehouse", problem, "lakehouse show") for problem in facts.problems),
        *_gaps(facts),
        *_of_rejected(topics, facts, limits),
        *(
            found
            for topic, parts in topics.items()
            for found in _of_topic(topic, parts, facts, limits)
        ),
        *(found for partition in facts.partitions for found in _of_partition(partition, limits)),
        *(found for source in facts.sources for found in _of_source(source, limits)),
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


def _of_rejected(
    topics: dict[str, list[Partition]], facts: Facts, limits: Limits
) -> Iterator[Finding]:
    """Yield one finding of all topics with too many rejected messages: what is to do is the same.

    It names the topics, the reasons, and what was found in the first message of the most frequent.
    """
    counts = {
        topic: (sum(p.rejected for p in parts), sum(p.messages for p in parts))
        for topic, parts in topics.items()
    }
    values = {topic: limits.value("rejected_share", topic) for topic in counts}
    beyond = {
        topic: count
        for topic, count in counts.items()
        if (limit := values[topic]) is not None and count[1] and count[0] / count[1] > limit
    }
    if not beyond:
        return
    rejected, messages = (sum(numbers) for numbers in zip(*beyond.values(), strict=True))
    most = {values[topic] for topic in beyond}
    only = f", limit {most.pop():.2%}" if len(most) == 1 else ""
    share = f"({rejected / messages:.2%}{only})"
    groups = [group for group in facts.rejected if group.topic in beyond]
    if len(beyond) == 1:
        (subject,) = beyond
        said = f"{rejected:,} of {messages:,} messages are rejected {share}."
    else:
        subject = f"{len(beyond):,} topics"
        named = _listed([f"{t} ({n:,})" for t, (n, _) in _most(beyond)])
        said = f"{rejected:,} of {messages:,} messages are rejected in {subject} {share}: {named}."
    text, remedy = said + _reasons(groups), _mend(list(beyond), groups)
    several = tuple(beyond) if len(beyond) > 1 else ()
    yield Finding("rejected_share", subject, text, remedy, several)


def _most(counts: dict[str, tuple[int, int]]) -> list[tuple[str, tuple[int, int]]]:
    return sorted(counts.items(), key=lambda each: -each[1][0])


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - NAMED:,} more" if len(texts) > NAMED else ""
    return ", ".join(texts[:NAMED]) + more


def _reasons(groups: Sequence[Rejected]) -> str:
    """Return why messages were rejected, and what was found in the first of them, if it is told."""
    counts: Counter[str] = Counter()
    for group in groups:
        counts[group.reason] += group.messages
    if not counts:
        return ""
    named = _listed([f"{reason} ({count:,})" for reason, count in counts.most_common()])
    detail = next((group.detail for group in groups if group.detail), None)
    return f" Reasons: {named}." + (f" The first: {detail}." if detail else "")


def _mend(topics: Sequence[str], groups: Sequence[Rejected]) -> str:
    """Return how to see rejected messages of some topics, and how to process them once mended."""
    see = query_of("silver.rejected_messages", "topic", topics)
    again = {replay_command(group.topic, group.reason) for group in groups}
    if len(topics) > 1 or len(again) != 1:
        again = {f"lakehouse replay --topic {shlex.quote(topic)}" for topic in topics[:NAMED]}
    mend = "the route, the schema or the producer (what was cut short has to be delivered again)"
    return f"{see}. Mend {mend}; then {' && '.join([*sorted(again), 'dbt build'])}"


def _of_topic(
    topic: str, parts: list[Partition], facts: Facts, limits: Limits
) -> Iterator[Finding]:
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
        remedy = query_of("silver.message_accounting", "topic", [topic])
        yield from _silence("No message", topic, came, facts.made_at, limits, remedy)


def _silence(
    what: str, subject: str, came: float | None, made_at: float, limits: Limits, remedy: str
) -> Iterator[Finding]:
    longest = limits.value("silence_seconds", subject)
    if came is not None and longest is not None and made_at - came > longest:
        yield Finding(
            "silence_seconds",
            subject,
            f"{what} has come for {duration(made_at - came)} (limit {duration(longest)}).",
            remedy,
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
            query_of("silver.message_accounting", "topic", [partition.topic]),
        )


def _of_source(source: Source, limits: Limits) -> Iterator[Finding]:
    """Yield the source if it stands still while its changes go on."""
    longest, newest = limits.value("incomplete_seconds", source.source), source.newest_committed_at
    until = source.complete_until
    if longest is None or newest is None or (until is not None and newest - until <= longest):
        return
    waits = f" It waits for {source.waits_for}." if source.waits_for else ""
    behind = "up to no moment" if until is None else f"up to {duration(newest - until)} before"
    where = "its newest change" if until is not None else "though changes have come"
    yield Finding(
        "incomplete_seconds",
        source.source,
        f"The source is complete {behind} {where} (limit {duration(longest)}).{waits}",
        "Let its next message come; or, if none will, give the topic "
        f"{source.topic or 'that it waits for'} an idle_after in seeds/topics.csv, and run dbt.",
    )


def _of_tables(facts: Facts, limits: Limits) -> Iterator[Finding]:
    for table in facts.source_tables:
        remedy = query_of("silver.table_accounting", "table_name", [table.names[-1] or table.table])
        came, made_at = table.ingested_at, facts.made_at
        yield from _silence("No change", table.table, came, made_at, limits, remedy)
    yield from _unread(facts.source_tables, limits)
    for drift in facts.drift:
        days = limits.value("drift_days", drift.table)
        if days is not None and _is_to_be_looked_at(drift, facts.made_at, days):
            yield Finding("drift_days", drift.table, _drift_text(drift), _remedy_of_drift(drift))
    for shared in facts.shared_keys:
        most = limits.value("shared_keys", shared.table)
        if most is not None and shared.keys > most:
            first = f", the first {shared.first_key}" if shared.first_key else ""
            yield Finding(
                "shared_keys",
                shared.table,
                f"{shared.keys:,} {'key is' if shared.keys == 1 else 'keys are'} of rows in several"
                f" source tables{first}: {_listed(shared.source_tables)}. Gold shows one row of "
                f"each (limit {most:,.0f}).",
                "Add source_table as source to the columns of the model and to its key, or read "
                "each source table in a model of its own.",
            )
    for gold in facts.gold_tables:
        count = sum(problem.problems for problem in gold.problems)
        most = limits.value("problems", gold.table)
        if most is not None and count > most:
            columns = sorted({p.column or p.code for p in gold.problems})
            yield Finding(
                "problems",
                gold.table,
                f"{count:,} {'problem' if count == 1 else 'problems'} with values, keys or rules: "
                f"{', '.join(columns[:5])}{', …' if columns[5:] else ''} (limit {most:,.0f}).",
                "lakehouse show gold.gold_problems",
            )


def _unread(tables: Sequence[SourceTable], limits: Limits) -> Iterator[Finding]:
    """Yield one finding of all source tables that no gold model reads."""
    unread = []
    for table in tables:
        most = limits.value("unread_tables", table.table)
        if not table.has_model and most is not None and table.changes > most:
            unread.append(table)
    if not unread:
        return
    named = _listed([f"{each.table} ({each.changes:,} changes)" for each in unread])
    alone = len(unread) == 1
    commands = [f"lakehouse add-table {shlex.quote(_name(each))}" for each in unread[:NAMED]]
    yield Finding(
        "unread_tables",
        unread[0].table if alone else f"{len(unread):,} source tables",
        f"No gold model reads {named}.",
        commands[0] if alone else f"lakehouse add-table --all, or {' && '.join(commands)}",
    )


def _name(table: SourceTable) -> str:
    """The name of a table as `add-table` takes it: parts with a dot in backticks."""
    parts = [part for part in table.names if part is not None]
    plain = (part if set(part).isdisjoint(".,` ") else identifier(part) for part in parts)
    return ".".join(plain) or table.table


def _is_to_be_looked_at(drift: Drift, made_at: float, days: float) -> bool:
    """Tell whether a change of a source table is open, or new where nothing can be open."""
    if drift.is_open is not None:
        return drift.is_open
    since = drift.committed_at if drift.seen_at is None else drift.seen_at
    return since is None or made_at - since < days * DAY


def _remedy_of_drift(drift: Drift) -> str:
    if not drift.is_open:
        return "dbt test -s models/gold"
    files, column = _listed(drift.models), drift.column
    except_ = "`except` of the test source_columns_are_read in its YAML"
    if drift.drift == "vanished":
        return f"Read another column in its place in {files}, or name {column} in {except_}."
    return f"Read {column} in {files}, or name it in {except_}."


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
