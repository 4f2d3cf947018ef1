"""Up to where a source is complete: what decides it, and the queries, against plain Python."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from cdc_lakehouse.engine.complete_until import (
    Asked,
    Complete,
    Moment,
    OpenGroup,
    State,
    read_state,
    rows_in_sql,
)
from cdc_lakehouse.engine.partitions import (
    RUNS_KEPT,
    OffsetRun,
    Partition,
    place_of_time,
    with_later,
)
from cdc_lakehouse.engine.progress import (
    AFTER,
    SECOND,
    Found,
    sources_of,
    with_expected,
)
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.routes import Route, Routes

NOW = 1_000 * SECOND


def routes(**columns):
    """Routes of two topics of a server, shop.a and shop.b."""
    own = {"source": "shop", **columns}
    return Routes([Route(f"shop.{name}", "maxwell", "", "", "", "", **own) for name in "ab"])


def partition(topic="shop.a", number=0, place="5", **columns):
    own = {"committed_at": 900 * SECOND, "ingested_at": 990 * SECOND, "has_changes": True}
    return Partition(topic, number, "maxwell", place, **own | columns)


def only_source(partitions, given=None, known=(), extracts=None):
    (source,) = sources_of(partitions, given or routes(), NOW, known, extracts or {})
    return source


def test_the_partition_that_is_least_far_bounds_its_source():
    source = only_source([partition(place="7"), partition("shop.b", 3, "4"), partition(number=1)])
    assert (source.name, source.topics, source.bound) == ("shop", ("shop.a", "shop.b"), "4")
    found = source.complete(Found(None, "4", 800 * SECOND, 700 * SECOND, "9"))
    assert (found.place, found.complete_until) == ("4", 800 * SECOND - 1)
    assert (found.topic, found.partition) == ("shop.b", 3)
    assert found.waits_for == "the next message of shop.b/3"
    assert (found.partitions, found.idle_partitions) == (3, 0)


def test_a_topic_without_a_source_is_one():
    given = Routes([Route("t", "maxwell", "", "", "", ""), Route("u", "canal", "", "", "", "")])
    found = sources_of([partition("t"), partition("u")], given, NOW, (), {})
    assert [(each.name, each.is_by_time) for each in found] == [("t", False), ("u", False)]
    by_time = Partition("u", 0, "canal", "5", 900 * SECOND, None, NOW, True)
    (source,) = sources_of([by_time], given, NOW, (), {})
    assert (source.is_by_time, source.bound) == (True, place_of_time(900 * SECOND))


def test_topics_of_several_formats_are_placed_by_time():
    other = Partition("shop.b", 0, "dts_avro", "1", 800 * SECOND, None, NOW, True)
    source = only_source([partition(), other])
    assert (source.is_by_time, source.bound) == (True, place_of_time(800 * SECOND))


def test_a_topic_whose_route_has_changed_is_placed_by_time():
    both = replace(partition(), format="dts_avro, maxwell")
    assert only_source([both]).is_by_time
    # Of a topic that nobody has routed yet nothing is known.
    assert with_expected([replace(partition("z"), format="")], Routes([]), {}) == []


def test_a_mark_says_that_a_partition_has_come_further():
    marked = partition("shop.b", place="1", heard_at=950 * SECOND)
    source = only_source([partition(), marked])
    assert (source.bound, source.heard) == ("5", 950 * SECOND)
    # A mark that is older than the latest change says nothing.
    assert only_source([partition(), partition("shop.b", place="1", heard_at=1)]).bound == "1"
    # With marks alone all is there that was committed before the earliest of them.
    source = only_source([marked])
    found = source.complete(Found(None, None, None, 900 * SECOND, "1"))
    assert (found.place, found.complete_until) == (f"1{AFTER}", 950 * SECOND - 1)


def test_who_is_idle_is_not_waited_for():
    quiet = partition("shop.b", place="1", ingested_at=NOW - 61 * SECOND)
    given = routes(idle_after="1 minute")
    source = only_source([partition(), quiet], given)
    assert (source.bound, source.idle) == ("5", 1)
    # If all are, all that has come is complete.
    found = only_source([quiet], given).complete(Found(None, None, None, 7, "1"))
    assert (found.place, found.complete_until, found.waits_for) == (f"1{AFTER}", 7, None)


def test_a_partition_without_a_message_holds_its_source_back():
    read = {("shop.a", 0): 4, ("shop.a", 2): 0}
    found = with_expected([partition()], routes(), read)
    assert [(p.topic, p.number) for p in found] == [
        *(("shop.a", n) for n in range(3)),
        ("shop.b", 0),
    ]
    row = only_source(found).complete(None)
    assert (row.place, row.complete_until, row.waits_for) == (
        None,
        None,
        "a first message of shop.a/1",
    )
    assert len(with_expected([partition()], routes(partitions="8"), {})) == 16
    idle = routes(idle_after="0 seconds")
    assert only_source(with_expected([partition()], idle, {}), idle).bound is None


def test_what_tells_neither_changes_nor_times_is_not_waited_for():
    silent = Partition("shop.b", 0, "maxwell", ingested_at=NOW)
    assert only_source([partition(), silent]).bound == "5"
    # A message that was rejected may be a change.
    rejected = Partition("shop.b", 0, "maxwell", ingested_at=NOW, has_changes=True)
    row = only_source([partition(), rejected]).complete(None)
    assert row.waits_for == "a change with a place in the log from shop.b/0"


def test_a_gap_is_named():
    row = only_source([partition(missing=1_200, heard_at=NOW)]).complete(Found())
    assert row.waits_for == "offset 1,200 of shop.a/0"


def test_it_never_goes_back():
    known = Complete("shop", ("shop.a",), False, "8", 850 * SECOND, None, gold_place="7")
    late = [partition(), partition(number=1, place="3")]
    source = only_source(late, known=[known])
    assert source.floor == "8"
    row = source.complete(Found(None, "3", 100, 50, "9"))
    assert (row.place, row.complete_until, row.gold_place) == ("8", 850 * SECOND, "7")
    assert (row.topic, row.partition) == ("shop.a", 1)
    # Places of another kind cannot be compared with it.
    by_time = [Partition("shop.a", 0, "canal", "1", 5, None, NOW, True)]
    assert only_source(by_time, known=[known]).known is None


def test_what_is_new_of_a_partition_is_added_to_what_was_known():
    run = OffsetRun(0, 3, "5", 900 * SECOND, 990 * SECOND)
    known = [partition(runs=(run,), heard_at=7), partition("shop.b")]
    rejected = Partition("shop.a", 0, "canal", ingested_at=995 * SECOND, has_changes=True)
    rejected = replace(rejected, runs=(OffsetRun(4, 5, ingested_at=995 * SECOND),))
    found = with_later(known, [rejected, partition(number=1)])
    both = partition(ingested_at=995 * SECOND, heard_at=7, runs=(replace(run, last=5),))
    assert found == (
        replace(both, format="canal, maxwell"),
        partition("shop.b"),
        partition(number=1),
    )
    earlier = replace(partition(place="4"), committed_at=None, heard_at=9)
    found = with_later(known[:1], [earlier])[0]
    assert (found.place, found.committed_at, found.heard_at) == ("5", 900 * SECOND, 9)


def test_runs_of_offsets_become_one_where_nothing_is_missing():
    gap = partition(place="9", runs=(OffsetRun(0, 3, "5", 5), OffsetRun(6, 7, "9", 9, 6)))
    before = gap.up_to_gap(None)
    assert (before.place, before.committed_at, before.missing) == ("5", 5, 4)
    # What lies behind a gap came before the moment.
    assert gap.up_to_gap(6) == gap
    (filled,) = with_later([gap], [partition(place="7", runs=(OffsetRun(3, 5, "7", 7, 8),))])
    assert filled.runs == (OffsetRun(0, 7, "9", 9, 6),)
    assert filled.up_to_gap(None) == filled
    late = partition(runs=(OffsetRun(7, 7, "7", 7, 7),))
    assert (late.up_to_gap(None).place, late.up_to_gap(None).missing) == (None, 0)


def test_of_many_runs_the_first_are_kept():
    many = [partition(runs=(OffsetRun(n, n),)) for n in range(0, 4 * RUNS_KEPT, 2)]
    (found,) = with_later([], many)
    assert (len(found.runs), found.has_more_runs) == (RUNS_KEPT, True)
    assert found.up_to_gap(None).missing == 1
    (filled,) = with_later([found], [partition(runs=(OffsetRun(0, 4 * RUNS_KEPT),))])
    assert filled.has_lost_runs and not found.has_lost_runs


def test_an_extract_is_of_the_source_of_its_table():
    source = only_source([partition()], extracts={"extract:shop.a": "shop.a", "extract:z": "z"})
    assert source.topics == ("extract:shop.a", "shop.a")


def test_gold_moves_once_it_has_merged():
    row = Complete("shop", ("t",), False, "8", 5)
    moved = row.in_gold(7, 3)
    assert (moved.gold_place, moved.gold_complete_until, moved.gold_moved_at) == ("8", 5, 7)
    # The same place is complete until a later time, once something was heard.
    later = replace(moved, complete_until=6).in_gold(9, 4)
    assert later == replace(moved, complete_until=6, gold_complete_until=6)


def test_what_a_run_leaves_is_read_again():
    sources = (Complete("shop", ("t", "u"), True, "8", 5, "x", "t", None, 2),)
    partitions = (partition(runs=(OffsetRun(0, 7, "5"),)), partition("shop.b", None))
    kept = (OpenGroup("8", "9", 5, "t", 2), OpenGroup("8", "8", None, None, 2))
    state = State(3, 4, 2, "r", sources, partitions, (Asked("shop", "8", None, 2, kept),))
    for each in (state, replace(state, asked=(Asked("shop", None, 3, 2, None),))):
        assert read_state(each.text()) == each
    for text in (
        None,
        "",
        "{}",
        "[1]",
        '{"version": 1, "events": 1, "read": 1, "routes": "", "sources": [{}]}',
        # As an earlier release has left it.
        '{"version": 1, "events": 1, "routes": "", "sources": []}',
    ):
        assert read_state(text) is None


def test_a_moment_is_a_text_that_grows():
    row = Complete("shop", ("t", "u"), True, "8", 5, gold_place="7~", gold_bronze_version=2)
    moments = [
        Moment.of([replace(row, gold_moved_at=at), Complete("x", ("y",), False)]) for at in (9, 10)
    ]
    assert moments[0].topics == {"t": (True, "7~", 2), "u": (True, "7~", 2)}
    assert Moment.read(moments[0].text) == moments[0]
    assert moments[0].text < moments[1].text
    for text in ("", "x", "7 []"):
        with pytest.raises(LakehouseError, match="is no moment"):
            Moment.read(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("", None), ("0 seconds", 0), ("1 minute", 60), ("2 hours", 7200), ("3 days", 259_200)],
)
def test_idle_after_is_a_number_and_a_unit(text, seconds):
    assert Route("t", "canal", "", "", "", "", idle_after=text).idle_seconds == seconds


@pytest.fixture(scope="module")
def silver(spark):
    spark.sql("create database if not exists silver")
    spark.sql("create database if not exists bronze")
    spark.sql(
        "create or replace view bronze.removed_messages as select 't' as topic, 1 as partition, "
        "2L as first_offset, 3L as last_offset, timestamp_micros(0) as removed_at"
    )
    return spark


def events(silver, rows):
    """Let silver.events have rows of (topic, partition, offset, kind, sequence, second, txn)."""
    listed = ", ".join(
        f"('{t}', {p}, {o}L, '{kind}', {quoted(place)}, timestamp_seconds({second}), {quoted(tx)}, "
        f"timestamp_seconds({o}), {o}L, 'maxwell')"
        for t, p, o, kind, place, second, tx in rows
    )
    names = (
        "topic, partition, offset, kind, sequence, committed_at, transaction_id, ingested_at, "
        "bronze_version, format"
    )
    silver.sql(
        f"create or replace view silver.events as select * from values {listed} as e ({names})"
    )


def quoted(text):
    return "cast(null as string)" if text is None else f"'{text}'"


def complete(
    silver, bound, heard="cast(null as bigint)", floor="", is_by_time="false", version=-1, kept=""
):
    limits = f"('t', 's', {is_by_time}, '{floor}', {quoted(bound)}, {heard})"
    results = sql.results_where(f"bronze_version >= {version}")
    groups = silver.sql(sql.groups_of_changes(limits, f"({results})", kept))
    groups.createOrReplaceTempView("groups_of_changes")
    rows = silver.sql(sql.complete_places()).collect()
    return Found(*rows[0][1:]) if rows else None


def change(place, second, transaction=None, topic="t", kind="row_change"):
    return topic, 0, int(place), kind, place, second, transaction


def test_a_transaction_is_not_cut_in_two(silver):
    events(
        silver,
        [
            *(change("10", 1, "a"), change("11", 1, "a"), change("20", 2, "b")),
            *(change("21", 2, "b"), change("30", 3, "c"), change("99", 9, "x", topic="u")),
            change("98", 9, "x", kind="heartbeat"),
        ],
    )
    # Up to the bound all is there, but of b more may come.
    assert complete(silver, "21") == Found(None, "20", 2 * SECOND, 1 * SECOND, "30", 20, 2)
    assert complete(silver, "30") == Found(None, "30", 3 * SECOND, 2 * SECOND, "30", 30, 1)
    # Nobody is waited for.
    assert complete(silver, None) == Found(None, None, None, 3 * SECOND, "30")
    # What was committed when a mark was written may have more of its time.
    assert complete(silver, None, 2 * SECOND) == Found("20", "20", 2 * SECOND, SECOND, "30", 20, 2)
    assert complete(silver, None, 4 * SECOND) == Found(None, None, None, 3 * SECOND, "30")
    assert complete(silver, "30", floor="21").cut == "30"
    assert complete(silver, "30", floor="31") is None
    assert complete(silver, "30", version=31) is None
    by_time = complete(silver, place_of_time(2 * SECOND), is_by_time="true")
    assert by_time.cut == place_of_time(2 * SECOND)


def test_what_an_earlier_run_has_kept_counts_as_what_is_read_again(silver):
    log = [change("10", 1, "a"), change("20", 2, "b"), change("21", 2, "b"), change("30", 3, "c")]
    events(silver, log)
    assert complete(silver, "21").cut == "20"
    silver_knows = complete(silver, "30", floor="20")
    left = silver.sql(sql.groups_from_cuts("('s', '30')")).collect()
    assert [OpenGroup(*row[1:]) for row in left] == [OpenGroup("30", "30", 3 * SECOND, "c", 30)]
    # Of b one change came in the later run, and the other was kept.
    kept = "('s', '30', cast(null as bigint), '20', '20', 2000000L, 'b', 20L)"
    assert complete(silver, "30", floor="20", version=21, kept=kept) == silver_knows


def test_changes_of_one_time_stay_together(silver):
    events(silver, [change("10", 1), change("20", 2), change("21", 2), change("30", 2)])
    assert complete(silver, "30").cut == "20"


@pytest.mark.parametrize("seed", range(3))
def test_random_logs_are_cut_between_transactions(silver, seed):
    generator = random.Random(seed)
    log, place = [], 100
    for transaction in range(40):
        for _ in range(generator.randint(1, 4)):
            place += generator.randint(1, 3)
            log.append(change(str(place), 1000 + transaction // 3, f"t{transaction}"))
    begins = [log[0][4]] + [b[4] for a, b in pairwise(log) if a[6] != b[6]]
    events(silver, log)
    for bound in generator.sample([row[4] for row in log], 10):
        found = complete(silver, bound)
        assert found.cut in begins
        assert found.cut <= bound
        # Three transactions have one commit time: at most those are held back.
        assert int(bound) - int(found.cut) <= 3 * 4 * 3


def test_a_partition_is_as_far_as_its_offsets_have_come(silver):
    events(
        silver,
        [
            ("t", 0, 0, "row_change", "10", 1, None),
            ("t", 0, 1, "row_change", "11", 2, None),
            ("t", 0, 1, "row_change", "11", 2, None),
            ("t", 0, 4, "row_change", "14", 5, None),
            # Two offsets of the next were removed, and one has not come.
            *(("t", 1, n, "row_change", str(20 + n), n, None) for n in (0, 1, 4, 6)),
            # Of the last the first has not come.
            ("t", 2, 7, "row_change", "37", 8, None),
        ],
    )

    results = sql.results_and_removed_messages("('t', 0), ('t', 1), ('t', 2)")
    silver.sql(results).createOrReplaceTempView("results")
    rows = silver.sql(sql.runs_of_offsets("results", 2)).collect()

    def told(let_go_before):
        found = {}
        for number in range(3):
            runs = tuple(OffsetRun(*row[2:]) for row in rows if row.partition == number)
            got = Partition("t", number, "maxwell", "99", 9, runs=runs).up_to_gap(let_go_before)
            found[number] = got.missing, got.place, got.committed_at
        return found

    assert told(None) == {
        0: (2, "11", 2 * SECOND),
        1: (5, "24", 4 * SECOND),
        2: (0, None, None),
    }
    # What is missing before a message that came five seconds after 1970 is let go.
    assert told(5 * SECOND) == {
        0: (None, "99", 9),
        1: (5, "24", 4 * SECOND),
        2: (0, None, None),
    }


def test_how_far_partitions_are_is_told_by_silver_or_by_what_is_new(silver):
    silver.sql("create or replace view bronze.landed_files as select 't' as topic, 1 as partition")
    rows = [
        ("t", 0, 0, "row_change", "10", 1, None),
        ("t", 0, 1, "heartbeat", None, 3, None),
        # The lines of a file.
        ("t", 1, 0, "truncate", "12", 2, None),
        ("t", 1, 1, "rejected", None, 9, None),
    ]
    events(silver, rows)
    silver.sql(
        "create or replace view silver.result_counts as select *, sequence as last_sequence, "
        "struct(committed_at) as last_commit, ingested_at as last_ingested_at from silver.events"
    )
    silver.sql(sql.results_where("bronze_version > -1")).createOrReplaceTempView("new_results")
    expected = {
        Partition("t", 0, "maxwell", "10", SECOND, 3 * SECOND, SECOND, True),
        Partition("t", None, "maxwell", "12", 2 * SECOND, None, SECOND, True),
    }
    for results in (sql.all_results(), "new_results"):
        found = silver.sql(sql.progress_of_partitions(results)).collect()
        assert {Partition(*row) for row in found} == expected


def test_rows_of_the_table_are_written_as_they_are(silver):
    rows = [
        Complete("it's", ("a", "b"), True, "8~", 5, "x", "t", 3, 2, 1, 6, "7", 4, 2, 3),
        Complete("empty", (), False),
    ]
    found = silver.sql(rows_in_sql(rows)).collect()
    assert (found[0].source, found[0].topics, found[0].partition) == ("it's", ["a", "b"], 3)
    assert found[1].topics == [] and found[1].complete_until is None
    assert [name for name, _ in silver.sql(rows_in_sql(rows)).dtypes] == list(vars(rows[0]))
