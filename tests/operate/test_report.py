"""What the report and the check say of a lakehouse, from plain values."""

from dataclasses import replace

import pytest
import yaml
from conftest import PROJECT

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.report.facts import (
    Drift,
    Facts,
    Gap,
    GoldTable,
    Partition,
    Problem,
    Rejected,
    SharedKeys,
    Source,
    SourceTable,
)
from cdc_lakehouse.report.findings import findings
from cdc_lakehouse.report.gold import BehindTable, Gold, gold_of
from cdc_lakehouse.report.limits import KNOWN, TEMPLATE, Limits, read_limits
from cdc_lakehouse.report.masking import masked_statement, sample_text
from cdc_lakehouse.report.questions import replay_command
from cdc_lakehouse.report.units import duration
from cdc_lakehouse.report.usable import first_line

NOW = 1_800_000_000.0
WELL = Facts("lake", NOW, "1", has_values=False, span_seconds=60)
GOOD = Partition(
    "shop.orders", 0, "canal", 100, first_offset=0, last_offset=99, ingested_at=NOW - 10
)
TABLE = SourceTable("shop.orders", 5, 0, 0, NOW, NOW, NOW, 1.0, has_model=True)
DRIFT = Drift(
    "shop.orders", "note", "new", None, None, "varchar", NOW - 100, "shop.orders", 0, 7, None
)
DEFAULT = read_limits(PROJECT)


def found(facts, limits=DEFAULT):
    """The findings, as pairs of limit and subject."""
    return [(finding.limit, finding.subject) for finding in findings(facts, limits)]


def limits_of(tmp_path, text):
    """The limits of a project whose file has this text."""
    (tmp_path / "seeds").mkdir(exist_ok=True)
    (tmp_path / "seeds" / "limits.csv").write_text(text)
    return read_limits(tmp_path)


def test_all_is_well_where_nothing_is_beyond_a_limit():
    facts = replace(
        WELL,
        partitions=(GOOD,),
        source_tables=(TABLE,),
        gold_tables=(GoldTable("orders", 3, NOW),),
        gaps=(Gap("shop.orders", 0, 1, 2, "retention", NOW),),
    )
    assert found(facts) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rejected": 1}, ("rejected_share", "shop.orders")),
        ({"missing_offsets": 1}, ("missing_offsets", "shop.orders/0")),
        ({"unprocessed": 2, "unprocessed_since": NOW - 3601}, ("waiting_seconds", "shop.orders")),
        ({"ingested_at": NOW - 86401}, ("silence_seconds", "shop.orders")),
    ],
)
def test_a_partition_beyond_a_limit_is_found(changes, expected):
    assert found(replace(WELL, partitions=(replace(GOOD, **changes),))) == [expected]


@pytest.mark.parametrize(
    "changes",
    [
        {"unprocessed": 2, "unprocessed_since": NOW - 3600},
        {"ingested_at": NOW - 86400},
        {"ingested_at": None},
        {"delay_seconds": 1e9},
    ],
)
def test_what_is_at_its_limit_or_has_none_is_well(changes):
    assert found(replace(WELL, partitions=(replace(GOOD, **changes),))) == []


def test_a_share_is_one_of_the_whole_topic():
    parts = (replace(GOOD, rejected=2), replace(GOOD, partition=1))
    half_a_percent = Limits((("rejected_share", "*", 0.005),))
    (said,) = findings(replace(WELL, partitions=parts), half_a_percent)
    assert said.text == "2 of 200 messages are rejected (1.00%, limit 0.50%)."
    assert said.remedy == (
        'lakehouse query "select * from silver.rejected_messages where topic = '
        """'shop.orders'". Mend the route, the schema or the producer """
        """(what was cut short has to be delivered again); then """
        "lakehouse replay --topic shop.orders && dbt build"
    )
    assert found(replace(WELL, partitions=parts), Limits((("rejected_share", "*", 0.01),))) == []


def test_rejected_messages_of_several_topics_are_one_finding():
    parts = [replace(GOOD, topic=name, rejected=n) for name, n in (("a", 1), ("b", 3), ("c", 0))]
    groups = [
        Rejected("b", "canal", "not_json", 2, 1, 2, NOW, "found {", ""),
        Rejected("a", "canal", "not_json", 1, 1, 1, NOW, None, ""),
        Rejected("b", "canal", "unrouted_topic", 1, 3, 3, NOW, None, ""),
        Rejected("c", "canal", "other", 9, 3, 3, NOW, None, ""),
    ]
    (said,) = findings(replace(WELL, partitions=tuple(parts), rejected=tuple(groups)), DEFAULT)
    assert (said.subject, said.topics) == ("2 topics", ("a", "b"))
    assert said.text == (
        "4 of 200 messages are rejected in 2 topics (2.00%, limit 0.00%): b (3), a (1). "
        "Reasons: not_json (3), unrouted_topic (1). The first: found {."
    )
    assert "where topic in (" in said.remedy
    replays = "lakehouse replay --topic a && lakehouse replay --topic b && dbt build"
    assert said.remedy.endswith(replays)


def test_a_topic_that_was_unrouted_is_rerouted():
    part = replace(GOOD, rejected=100)
    group = Rejected("shop.orders", "unrouted", "unrouted_topic", 100, 0, 99, NOW, None, "")
    (said,) = findings(replace(WELL, partitions=(part,), rejected=(group,)), DEFAULT)
    assert said.remedy.endswith("then lakehouse reroute && dbt build")


def test_source_tables_that_no_model_reads_are_named_with_the_command():
    unread = replace(
        TABLE, table="crm.a.b.reviews", names=("crm", "a.b", "reviews"), has_model=False
    )
    (said,) = findings(replace(WELL, source_tables=(TABLE, unread)), DEFAULT)
    assert (said.limit, said.subject) == ("unread_tables", "crm.a.b.reviews")
    assert said.text == "No gold model reads crm.a.b.reviews (5 changes)."
    assert said.remedy == "lakehouse add-table 'crm.`a.b`.reviews'"
    other = replace(unread, table="crm.x", names=("crm", None, "x"))
    (said,) = findings(replace(WELL, source_tables=(unread, other)), DEFAULT)
    assert said.subject == "2 source tables"
    assert "lakehouse add-table --all, or " in said.remedy and "add-table crm.x" in said.remedy
    none = Limits((("unread_tables", "*", 0.0), ("unread_tables", "crm.*", None)))
    assert found(replace(WELL, source_tables=(unread, other)), none) == []


def test_one_key_of_two_source_tables_is_found():
    shared = SharedKeys("orders", 1, ("shop.o1", "shop.o2"), None)
    (said,) = findings(replace(WELL, shared_keys=(shared,)), DEFAULT)
    assert (said.limit, said.subject) == ("shared_keys", "orders")
    assert said.text == (
        "1 key is of rows in several source tables: shop.o1, shop.o2. Gold shows one row of each "
        "(limit 0)."
    )


def test_a_topic_whose_other_partition_has_news_is_not_silent():
    parts = (replace(GOOD, ingested_at=NOW - 1e6), replace(GOOD, partition=1))
    assert found(replace(WELL, partitions=parts)) == []


def test_nobody_expects_another_extract_of_a_table():
    extract = replace(GOOD, topic="extract:shop.orders", ingested_at=NOW - 1e6)
    assert found(replace(WELL, partitions=(extract,))) == []


def test_a_delay_has_a_limit_where_somebody_sets_one():
    partition = replace(GOOD, delay_seconds=7384.0)
    (said,) = findings(
        replace(WELL, partitions=(partition,)), Limits((("delay_seconds", "shop.*", 60.0),))
    )
    assert said.text.startswith("The latest change was processed 2 h 3 min after its commit")


def test_offsets_that_kafka_deleted_unread_are_found_whatever_the_limits():
    facts = replace(WELL, gaps=(Gap("shop.orders", 3, 10, 19, "unread", NOW),))
    (said,) = findings(facts, Limits(()))
    assert (said.subject, said.text) == (
        "shop.orders/3",
        "Kafka had deleted offsets 10 to 19 before they were read.",
    )


def test_a_source_table_without_a_change_is_found():
    facts = replace(WELL, source_tables=(replace(TABLE, ingested_at=NOW - 90_000),))
    assert found(facts) == [("silence_seconds", "shop.orders")]


@pytest.mark.parametrize(
    ("drift", "text"),
    [
        ({}, "In the source column note is new, of type varchar (shop.orders/0, offset 7)."),
        ({"type": None}, "In the source column note is new (shop.orders/0, offset 7)."),
        (
            {"drift": "vanished"},
            "In the source column note has vanished (shop.orders/0, offset 7).",
        ),
        (
            {"drift": "retyped", "previous_type": "int"},
            "In the source column note was int and is varchar (shop.orders/0, offset 7).",
        ),
        (
            {"drift": "renamed", "previous_name": "text"},
            "In the source column note was called text (shop.orders/0, offset 7).",
        ),
        (
            {"drift": "dropped_table", "column": None},
            "In the source the table was dropped (shop.orders/0, offset 7).",
        ),
        (
            {"drift": "renamed_table", "column": None, "previous_name": "old"},
            "In the source the table was called old (shop.orders/0, offset 7).",
        ),
    ],
)
def test_a_change_of_columns_is_found_while_it_is_news(drift, text):
    (said,) = findings(replace(WELL, drift=(replace(DRIFT, **drift),)), DEFAULT)
    assert (said.limit, said.text) == ("drift_days", text)
    old = replace(DRIFT, **drift, committed_at=NOW - 8 * 86400)
    assert found(replace(WELL, drift=(old,))) == []
    came_today = replace(old, seen_at=NOW - 100)
    assert found(replace(WELL, drift=(came_today,))) == [("drift_days", "shop.orders")]


def test_a_change_of_columns_is_found_until_a_model_follows_it():
    old = replace(DRIFT, seen_at=NOW - 1e8, models=("models/gold/shop/orders.sql",))
    (said,) = findings(replace(WELL, drift=(replace(old, is_open=True),)), DEFAULT)
    assert said.remedy == (
        "Read note in models/gold/shop/orders.sql, or name it in `except` of the test "
        "source_columns_are_read in its YAML."
    )
    gone = replace(old, drift="vanished", is_open=True)
    (said,) = findings(replace(WELL, drift=(gone,)), DEFAULT)
    assert said.remedy.startswith("Read another column in its place in models/gold/shop/orders.sql")
    assert found(replace(WELL, drift=(replace(old, seen_at=NOW, is_open=False),))) == []


def test_values_that_do_not_fit_are_found_by_table():
    problems = (Problem("total", "invalid", 2, None), Problem(None, "missing_key", 1, None))
    (said,) = findings(replace(WELL, gold_tables=(GoldTable("orders", 9, NOW, problems),)), DEFAULT)
    assert (said.subject, said.text) == (
        "orders",
        "3 problems with values, keys or rules: missing_key, total (limit 0).",
    )


def test_what_could_not_be_looked_at_is_found():
    (said,) = findings(replace(WELL, problems=("drift cannot be read: no such view",)), DEFAULT)
    assert (said.limit, said.text) == ("error", "drift cannot be read: no such view")


def test_the_most_specific_line_counts(tmp_path):
    limits = limits_of(
        tmp_path,
        "limit,subject,value\nproblems,*,5\nproblems,shop.*,\nproblems,shop.a*,2\nproblems,shop.ab,1\n",
    )
    subjects = ("other", "shop.b", "shop.ac", "shop.ab")
    assert [limits.value("problems", each) for each in subjects] == [5, None, 2, 1]
    assert limits.value("drift_days", "other") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("limit,value\n", "line 1: the header is limit,value. It must be limit,subject,value."),
        ("", "line 1: the header is . It must be limit,subject,value."),
        (
            "limit,subject,value\nlag,*,1\n",
            "line 2: unknown limit 'lag'. Use one of rejected_share",
        ),
        ("limit,subject,value\nproblems,*\n", "line 2: 2 fields where the header has 3."),
        ("limit,subject,value\nproblems,,1\n", "line 2: the subject is empty."),
        ("limit,subject,value\nproblems,*,1\nproblems,*,2\n", "line 3: problems of '*' is already"),
        ("limit,subject,value\nproblems,*,many\n", "line 2: the value is 'many'. Write a number"),
        ("limit,subject,value\nproblems,*,-1\n", "line 2: the value is '-1'."),
        ("limit,subject,value\nproblems,*,nan\n", "line 2: the value is 'nan'."),
    ],
)
def test_a_wrong_line_is_named(tmp_path, text, said):
    with pytest.raises(LakehouseError) as raised:
        limits_of(tmp_path, text)
    assert str(raised.value).startswith(f"{tmp_path / 'seeds' / 'limits.csv'}, {said}")


def test_all_wrong_lines_are_named_at_once(tmp_path):
    with pytest.raises(LakehouseError) as raised:
        limits_of(tmp_path, "limit,subject,value\n problems , * , 1 \nproblem,*,x\nproblems,*,2\n")
    assert [text.split(", line ")[1] for text in str(raised.value).splitlines()] == [
        "3: unknown limit 'problem'. Did you mean problems?",
        "3: the value is 'x'. Write a number from 0 on, or nothing for no limit.",
        "4: problems of '*' is already above.",
    ]


def test_a_project_without_the_file_has_the_limits_of_a_new_one(tmp_path):
    assert read_limits(tmp_path) == read_limits(TEMPLATE) == DEFAULT
    assert {limit for limit, _, _ in DEFAULT.lines} == set(KNOWN)


def test_dbt_source_freshness_has_the_same_limit():
    sources = yaml.safe_load((PROJECT / "models/bronze/_bronze.yml").read_text())["sources"]
    messages = next(table for table in sources[0]["tables"] if table["name"] == "messages")
    assert messages["config"]["freshness"]["warn_after"] == {"count": 1, "period": "day"}
    assert DEFAULT.value("silence_seconds", "any") == 86400


@pytest.mark.parametrize(
    ("value", "size", "whole", "masked"),
    [
        (
            b'{"id": 17, "na\xc3\xafve": "B"}',
            26,
            '{"id": 17, "naïve": "B"}',
            '{"xx": 00, "xxxxx": "x"}',
        ),
        ("日本7".encode(), 7, "日本7", "xx0"),
        (b"caf\xc3", 9, "caf", "xxx"),  # cut within a character
        (b"caf\xc3", 4, "63 61 66 c3", ".. .. .. .."),
        (b"\x00\x01A", 3, "00 01 41", ".. .. .."),
        (b"", 0, "", ""),
    ],
)
def test_a_sample_has_values_only_where_they_are_wanted(value, size, whole, masked):
    assert sample_text(value, size, has_values=True) == whole
    assert sample_text(value, size, has_values=False) == masked


@pytest.mark.parametrize(
    ("ddl", "masked"),
    [
        (
            "alter table t add c int default 'a''b\\'c' comment 'x'",
            "alter table t add c int default '…' comment '…'",
        ),
        (
            'alter table "T" add "c" text default "secret"',
            'alter table "T" add "c" text default "…"',
        ),
        ("create user u identified by 'secret", "create user u identified by '…'"),
        ("drop table t", "drop table t"),
    ],
)
def test_a_statement_has_its_literals_masked(ddl, masked):
    assert masked_statement(ddl) == masked


def test_the_command_that_replays_can_be_typed_as_it_is():
    assert replay_command("a", "not_json") == "lakehouse replay --reason not_json --topic a"
    assert replay_command("a'; rm -rf x", "not_avro") == (
        """lakehouse replay --reason not_avro --topic 'a'"'"'; rm -rf x'"""
    )
    assert replay_command("a", "unrouted_topic") == "lakehouse reroute"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (0.25, "0.2 s"),
        (1, "1 s"),
        (59.6, "1 min"),
        (61, "1 min 1 s"),
        (3600, "1 h"),
        (7384, "2 h 3 min"),
        (86400 + 59, "1 d"),
        (12 * 86400 + 7200, "12 d 2 h"),
    ],
)
def test_a_duration_is_in_its_two_largest_units(seconds, text):
    assert duration(seconds) == text


# NOW is 2027-01-15 08:00:00 UTC.
BUILT = Gold(models=6, as_of=NOW - 59)
TO_0750 = Source("shop", NOW, NOW - 600, NOW, None, None)
TO_YESTERDAY = Source("crm", NOW, NOW - 86400.5, NOW, None, None)
NOWHERE = Source("crm", None, None, NOW, "its first message", "crm.notes")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "gold could not be read: it is not known how far it is"),
        ({"gold": Gold(0)}, "gold has no table yet: no model reads a source table"),
        (
            {"gold": Gold(2, missing=("orders", "payments")), "partitions": (GOOD,)},
            "gold is not built yet: 0 of 2 tables built, 0 messages rejected",
        ),
        (
            {"gold": BUILT, "partitions": (GOOD,)},
            "gold is as of 07:59 UTC, 6 of 6 tables built, 0 rows held, 0 messages rejected",
        ),
        (
            {"gold": replace(BUILT, as_of=NOW - 30 * 3600, held=1)},
            "gold is as of 2027-01-14 02:00 UTC, 6 of 6 tables built, 1 row held",
        ),
        (
            {"gold": BUILT, "sources": (TO_0750,), "partitions": (replace(GOOD, rejected=3),)},
            "gold is as of 07:59 UTC, complete until 07:50 UTC, 6 of 6 tables built, 0 rows held, "
            "3 messages rejected",
        ),
        (
            {"gold": BUILT, "sources": (TO_0750, TO_YESTERDAY)},
            "gold is as of 07:59 UTC, complete until 2027-01-14 07:59 UTC, 6 of 6 tables built, "
            "0 rows held",
        ),
        (
            {"gold": BUILT, "sources": (TO_0750, NOWHERE)},
            "gold is as of 07:59 UTC, 6 of 6 tables built, 0 rows held",
        ),
        (
            {
                "gold": replace(
                    BUILT,
                    missing=("payments",),
                    behind=(BehindTable("orders", NOW - 7200), BehindTable("parts", None)),
                ),
                "partitions": (replace(GOOD, unprocessed=1),),
            },
            "gold is as of 07:59 UTC, 5 of 6 tables built (without payments), 2 tables behind "
            "silver (orders as of 06:00 UTC, parts with no message), 0 rows held, "
            "0 messages rejected, 1 message not processed yet",
        ),
        (
            {"gold": Gold(5, missing=tuple("abcd"))},
            "gold has merged no message yet, 1 of 5 tables built (without a, b, c and 1 more), "
            "0 rows held",
        ),
        (  # an archive of 2020: the line has when it was landed, not when its source committed
            {
                "gold": BUILT,
                "partitions": (replace(GOOD, committed_at=NOW - 2e8, is_archive=True),),
            },
            "gold is as of 07:59 UTC, 6 of 6 tables built, 0 rows held, 0 messages rejected",
        ),
    ],
)
def test_the_first_line_says_whether_gold_can_be_used(changes, line):
    assert first_line(replace(WELL, **changes)) == line


CAME = {-1: None, 4: NOW - 7200, 9: NOW - 60}


def test_a_table_that_has_merged_less_than_silver_has_is_behind():
    read = {"orders": 9, "payments": 4, "parts": None}
    there = ["orders", "payments", "parts", "gold_problems"]
    models = ["payments", "orders", "parts", "refunds"]
    assert gold_of(models, there, read, 9, 2, CAME.__getitem__) == Gold(
        models=4,
        missing=("refunds",),
        as_of=NOW - 60,
        behind=(BehindTable("parts", None), BehindTable("payments", NOW - 7200)),
        held=2,
    )


def test_gold_that_no_run_has_moved_is_as_of_what_it_has():
    found = gold_of(["orders"], ["orders"], {"orders": 4}, 9, 0, CAME.__getitem__)
    assert found == Gold(1, as_of=NOW - 7200, behind=(BehindTable("orders", NOW - 7200),))
    assert gold_of([], [], {}, 9, 0, CAME.__getitem__) == Gold(0)
