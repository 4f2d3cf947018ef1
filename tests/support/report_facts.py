"""Facts of lakehouses that are not there, as the page of a report shows them."""

import random
from dataclasses import replace

from cdc_lakehouse.report.facts import (
    Arrival,
    Drift,
    Facts,
    Finding,
    Gap,
    GoldTable,
    Partition,
    Problem,
    Rejected,
    Run,
    RunStep,
    Sample,
    SourceTable,
    Stored,
)

NOW = 1795867200.0  # 2026-11-28 12:00:00 UTC
SPAN = 3600.0
SPANS = 48
SECRET = "Grace Hopper, 4929-1234"  # the value of a row
MASKED = "Xxxxx Xxxxxx, 9999-9999"

# Names and texts that do something where a page takes them for markup, code or directions.
HOSTILE = (
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "<!--<script>",
    # These end or begin an element without a `>` of their own.
    "</script ><script >window.hacked=1</script ",
    "<!--<script ",
    "' onclick='window.hacked=1",
    "{{ script }} ${window.hacked=1} `window.hacked=1`",
    "javascript:window.hacked=1",
    "line\u2028separator\u2029paragraph",
    "exe.\u202egnp.shop",
    "nul\x00escape\x1bbell\x07tab\tline\nend\r",
    "lone\ud800surrogate",
    "&lt;b&gt;&amp;&#0;",
    "__proto__",
    "n" * 10_000,
)


def empty() -> Facts:
    """A lakehouse in which nothing has landed."""
    return Facts("new", NOW, "0.1.0", False, SPAN)


def typical() -> Facts:
    """A lakehouse of a shop with some rejected, waiting and missing messages; without values."""
    partitions = _partitions()
    return Facts(
        *("shop_lakehouse", NOW, "0.1.0", False, SPAN),
        partitions=partitions,
        arrivals=arrivals(partitions, SPANS),
        gaps=(
            Gap("shop.payments", 1, 4_100, 4_180, "unread", NOW - 7200),
            Gap("shop.payments", 1, 5_000, 5_011, "erasure", NOW - 90_000),
        ),
        rejected=_rejected(MASKED, None),
        drift=_drift(),
        source_tables=(
            SourceTable("shop.orders", 182_340, 14, 3, NOW - 190, NOW - 60, NOW - 40, 150.2, True),
            SourceTable(
                "shop.customers", 20_101, 0, 0, NOW - 4000, NOW - 3600, NOW - 3500, 480.0, True
            ),
            SourceTable(
                "shop.payments", 61_220, 2, 0, NOW - 31, NOW - 30.5, NOW - 30.2, 0.84, True
            ),
            SourceTable(
                "crm.Order Notes",
                912,
                0,
                0,
                NOW - 86_000,
                NOW - 81_000,
                NOW - 80_000,
                5100.0,
                False,
            ),
            SourceTable("inventory.parts", 77, 0, 0, None, NOW - 81_000, NOW - 80_000, None, False),
        ),
        gold_tables=(
            GoldTable("gold.orders", 92_118, NOW - 190),
            GoldTable("gold.customers", 20_077, NOW - 4000, _problems(MASKED)),
            GoldTable("gold.payments", 61_001, NOW - 31),
        ),
        runs=(_ingest(), _build()),
        stored=(
            Stored("bronze.messages", 291_003, 48, 182_400_512),
            Stored("silver.events", 301_400, 31, 96_311_808),
            Stored("gold.orders", 92_118, 4, 6_291_456),
            Stored("gold.customers", 20_077, 2, 1_204_224),
            Stored("bronze.landed_files", 64, 3, 48_112),
        ),
    )


def with_values() -> Facts:
    """The same with the values of rows."""
    customers = GoldTable("gold.customers", 20_077, NOW - 4000, _problems(SECRET))
    found = typical()
    return replace(
        found,
        has_values=True,
        rejected=_rejected(SECRET, f"no number: {SECRET}"),
        gold_tables=(found.gold_tables[0], customers, found.gold_tables[2]),
    )


def findings() -> tuple[Finding, ...]:
    """What should be looked at in the typical lakehouse."""
    return (
        Finding(
            *("rejected_share", "shop.customers"),
            "4.1% of the messages of the last day were rejected; the limit is 1%.",
            "lakehouse replay --topic shop.customers --reason not_json",
        ),
        Finding(
            *("missing_offsets", "shop.payments/1"),
            "Kafka had deleted 81 offsets before they were read; the limit is 0.",
            "Run `lakehouse ingest kafka` more often than the retention of the topic.",
        ),
        Finding(
            *("silent_seconds", "inventory.parts"),
            "Its latest change is 22 h old; the limit is 12 h.",
            "Look whether its capture is running.",
        ),
    )


def hostile() -> tuple[Facts, tuple[Finding, ...]]:
    """Facts and findings in which each name and text is hostile."""
    partitions = tuple(
        Partition(
            *(text, number, text, 1000),
            **{"row_changes": 900, "inserts": 900, "rejected": 100, "missing_offsets": 5},
            **{
                "first_offset": 0,
                "last_offset": 2**63 - 1,
                "produced_at": 1e15,
                "delay_seconds": -3.0,
            },
        )
        for number, text in enumerate(HOSTILE)
    )
    facts = Facts(
        *(HOSTILE[1], NOW, HOSTILE[2], True, SPAN),
        partitions=partitions,
        arrivals=arrivals(partitions, 3),
        gaps=tuple(Gap(text, n, 1, 5, text, NOW) for n, text in enumerate(HOSTILE)),
        rejected=tuple(
            Rejected(text, text, text, 1, 0, 0, NOW, text, text, (Sample(0, 0, 9, text),))
            for text in HOSTILE
        ),
        drift=tuple(Drift(t, t, t, t, t, t, NOW, t, 0, 0, t) for t in HOSTILE),
        source_tables=tuple(SourceTable(t, 1, 0, 0, NOW, NOW, NOW, 0.0, False) for t in HOSTILE),
        gold_tables=tuple(GoldTable(t, 1, NOW, (Problem(t, t, 1, t),)) for t in HOSTILE),
        runs=tuple(Run(t, NOW, 2.0, (RunStep(t, t, 0.0, 1.0, 1, 1, 1, 1),)) for t in HOSTILE),
        stored=tuple(Stored(t, 1, 1, 2**50) for t in HOSTILE),
        problems=HOSTILE,
    )
    return facts, tuple(Finding(text, text, text, text) for text in HOSTILE)


def huge(topics: int = 10_000) -> tuple[Facts, tuple[Finding, ...]]:
    """A lakehouse of so many topics, of which each hundredth has rejected messages."""
    partitions = tuple(_partition(f"tenant_{n:05}.orders", 0, n) for n in range(topics))
    bad = partitions[::100]
    facts = Facts(
        *("all_tenants", NOW, "0.1.0", False, SPAN),
        partitions=partitions,
        arrivals=arrivals(partitions, 24),
        rejected=tuple(
            Rejected(
                *(p.topic, p.format, "not_json", p.rejected, 5, 4_000, NOW - 60, None),
                f"lakehouse replay --topic {p.topic} --reason not_json",
                (Sample(0, 5, 27, '{"xx":"9999","xxxxxx":"xxx'),),
            )
            for p in bad
        ),
        source_tables=tuple(
            SourceTable(
                p.topic,
                p.row_changes,
                0,
                0,
                p.committed_at,
                p.ingested_at,
                p.processed_at,
                2.0,
                n % 3 > 0,
            )
            for n, p in enumerate(partitions)
        ),
        gold_tables=tuple(GoldTable(f"gold.{p.topic}", 900, p.committed_at) for p in partitions),
        runs=(Run("dbt-build", NOW - 500, 400.0, tuple(_steps(partitions))),),
        stored=tuple(
            Stored(f"gold.{p.topic}", 900, 2, 81_920 + n) for n, p in enumerate(partitions)
        ),
    )
    text = "2.5% of the messages of the last day were rejected; the limit is 1%."
    remedy = "lakehouse replay --topic {} --reason not_json"
    return facts, tuple(
        Finding("rejected_share", p.topic, text, remedy.format(p.topic)) for p in bad
    )


def arrivals(partitions: tuple[Partition, ...], spans: int) -> tuple[Arrival, ...]:
    """The messages of partitions over the last spans, more by day than by night."""
    chance = random.Random(7)
    first = NOW - spans * SPAN
    return tuple(
        Arrival(
            *(partition.topic, partition.partition, first + span * SPAN),
            int(partition.messages / spans * (0.4 + (span % 24) / 16) * chance.uniform(0.7, 1.3)),
            int(partition.rejected / 6) if 30 <= span % 48 < 36 else 0,
        )
        for partition in partitions
        for span in range(spans)
    )


def _partition(topic: str, number: int, seed: int) -> Partition:
    chance = random.Random(seed)
    rejected = 0 if seed % 100 else 25
    inserts, updates, deletes = (chance.randrange(200, 900) for _ in range(3))
    changes = inserts + updates + deletes
    committed = NOW - chance.uniform(2, 40_000)
    return Partition(
        *(topic, number, "debezium_json", changes + rejected + 40),
        **{"row_changes": changes, "inserts": inserts, "updates": updates, "deletes": deletes},
        **{"heartbeats": 40, "rejected": rejected, "unprocessed": seed % 7 * 3},
        **{"first_offset": 0, "last_offset": changes + rejected + 39},
        **{"produced_at": committed + 0.2, "committed_at": committed},
        **{"ingested_at": committed + 1.1, "processed_at": committed + chance.uniform(2, 90)},
        delay_seconds=chance.uniform(2, 90),
    )


def _partitions() -> tuple[Partition, ...]:
    orders = [
        Partition(
            *("shop.orders", number, "debezium_json", 61_000 + 70 * number),
            **{"row_changes": 60_780, "snapshots": 20_000, "inserts": 18_500, "updates": 21_080},
            **{"deletes": 1_200, "truncates": 1, "schema_changes": 3, "heartbeats": 216},
            **{"duplicates": 1, "late_changes": 4 + number, "first_offset": 0},
            **{"last_offset": 61_000 + 70 * number - 1, "produced_at": NOW - 185 + number},
            **{"committed_at": NOW - 190.5, "ingested_at": NOW - 100, "processed_at": NOW - 40},
            delay_seconds=150.4,
        )
        for number in range(3)
    ]
    return (
        *orders,
        Partition(
            *("shop.payments", 0, "dts_avro", 30_400),
            **{"row_changes": 30_100, "inserts": 22_000, "updates": 8_100, "heartbeats": 300},
            **{"first_offset": 0, "last_offset": 30_399, "produced_at": NOW - 30.5},
            **{"committed_at": NOW - 31, "ingested_at": NOW - 30.4, "processed_at": NOW - 30.16},
            delay_seconds=0.84,
        ),
        Partition(
            *("shop.payments", 1, "dts_avro", 31_307),
            **{"row_changes": 31_000, "inserts": 23_000, "updates": 8_000, "heartbeats": 307},
            **{"missing_offsets": 93, "first_offset": 0, "last_offset": 31_399},
            **{"produced_at": NOW - 35, "committed_at": NOW - 36, "ingested_at": NOW - 30.4},
            **{"processed_at": NOW - 30.16, "delay_seconds": 5.84},
        ),
        Partition(
            *("shop.customers", 0, "canal", 21_004),
            **{"row_changes": 20_140, "snapshots": 12_000, "inserts": 4_000, "updates": 4_140},
            **{"transaction_markers": 3, "rejected": 861, "unprocessed": 0, "first_offset": 0},
            **{"last_offset": 21_003, "produced_at": NOW - 3990, "committed_at": NOW - 4000},
            **{"ingested_at": NOW - 3600, "processed_at": NOW - 3500, "delay_seconds": 480.0},
        ),
        Partition(
            *("crm.notes", 0, "maxwell", 5_012),
            **{"row_changes": 912, "inserts": 700, "updates": 212, "unprocessed": 4_100},
            **{"first_offset": 0, "last_offset": 5_011, "produced_at": NOW - 12},
            **{"committed_at": NOW - 86_000, "ingested_at": NOW - 9, "processed_at": NOW - 80_000},
            delay_seconds=5100.0,
        ),
        Partition(
            *("inventory.parts", 0, "rows", 77),
            **{"row_changes": 77, "inserts": 77, "first_offset": 0, "last_offset": 76},
            **{
                "produced_at": NOW - 80_400,
                "ingested_at": NOW - 80_300,
                "processed_at": NOW - 80_000,
            },
        ),
        Partition(
            *("legacy.dump", 0, "unrouted", 18),
            **{"rejected": 18, "first_offset": 0, "last_offset": 17},
            **{
                "produced_at": NOW - 900_000,
                "ingested_at": NOW - 80_300,
                "processed_at": NOW - 80_000,
            },
        ),
    )


def _rejected(value: str, detail: str | None) -> tuple[Rejected, ...]:
    cut = f'{{"data":[{{"id":"9999","name":"{value}","xxxx":"xx'
    return (
        Rejected(
            *("shop.customers", "canal", "not_json", 861, 18_004, 20_991, NOW - 3600, detail),
            "lakehouse replay --topic shop.customers --reason not_json",
            (Sample(0, 18_004, 2_048, cut), Sample(0, 18_005, 41, "00 ff 9a 3c 7b 22 64 61 74 61")),
        ),
        Rejected(
            *("legacy.dump", "unrouted", "unrouted", 18, 0, 17, NOW - 80_300, detail),
            "lakehouse reroute",
            (Sample(0, 0, len(value), value),),
        ),
    )


def _problems(value: str) -> tuple[Problem, ...]:
    return (
        Problem("birthday", "bad_date", 12, "0000-00-00"),
        Problem("card", "bad_number", 3, value),
        Problem(None, "incomplete_row", 1, None),
    )


def _drift() -> tuple[Drift, ...]:
    place = ("shop.orders", 1, 40_211)
    added = "alter table orders add column channel varchar(20) not null default 'xxx'"
    return (
        Drift(
            "shop.orders", "channel", "new", None, None, "varchar(20)", NOW - 9000, *place, added
        ),
        Drift(
            *("shop.orders", "total", "retyped", None, "decimal(10,2)", "decimal(14,4)"),
            *(
                NOW - 90_000,
                "shop.orders",
                2,
                31_007,
                "alter table orders modify total decimal(14,4)",
            ),
        ),
        Drift(
            *("shop.customers", "mail", "renamed", "e_mail", "varchar(80)", "varchar(80)"),
            *(NOW - 400_000, "shop.customers", 0, 9_114, None),
        ),
        Drift(
            *("crm.notes_old", None, "dropped_table", None, None, None),
            *(NOW - 800_000, "crm.notes", 0, 17, "drop table notes_old"),
        ),
    )


def _ingest() -> Run:
    names = ("finds new files", "reads and stages files", "records files", "appends messages")
    took = (0.4, 2.7, 0.6, 1.2)
    steps = [RunStep("dbt", "starts Spark", 0.1, 3.9, 0, 0, 0, 0)]
    for name, seconds in zip(names, took, strict=True):
        began = steps[-1].began + steps[-1].seconds
        steps.append(RunStep("ingest", name, began, seconds, 20_400, 9_000_000, 20_400, 7_000_000))
    return Run("ingest-files", NOW - 110, 9.2, tuple(steps))


def _build() -> Run:
    parts = ("message_counts", "events", "result_counts", "orders", "customers", "payments")
    begins = (0.6, 1.4, 18.2, 18.4, 18.9, 27.0)
    names = ("runs a statement", "names results", "writes", "commits")
    shares = (0.1, 0.35, 0.45, 0.1)
    took = (0.8, 16.4, 3.1, 11.5, 7.6, 6.1)
    steps = []
    for part, began, seconds in zip(parts, begins, took, strict=True):
        for name, of in zip(names, shares, strict=True):
            length = seconds * of
            steps.append(RunStep(part, name, began, length, 20_400, 8_000_000, 20_000, 3_000_000))
            began += length
    return Run("dbt-build", NOW - 80, 36.4, tuple(steps))


def _steps(partitions: tuple[Partition, ...]):
    for number, partition in enumerate(partitions):
        began = number * 0.039
        yield RunStep(
            partition.topic, "merges", began, 0.2 + number % 17 / 10, 900, 8_000, 40, 4_000
        )
