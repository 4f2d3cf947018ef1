"""The rules of the merge, each on a small table of its own."""

import json
import os
import random

import pytest
from conftest import _root
from laboratory import (
    COLUMNS,
    WHERE,
    YAML,
    Laboratory,
    change,
    message_of_pair,
    shareplex,
    statement,
    thing,
    truncate,
    write_models,
)
from shop import write_messages

SEED = int(os.environ["SEED"])


# What a project may set for all of its models; gold is none the worse for it.
OPTIONS_OF_DBT = """
  +persist_docs: {relation: true, columns: true}
  +on_schema_change: append_new_columns
  +unique_key: id
  +incremental_strategy: merge
  +grants: {select: [analysts]}
  +tags: [nightly]
  +meta: {owner: laboratory}
  +some_other_tool: {enabled: false}
"""


def write_project(project):
    """Write the models of a project that sets options of dbt for all models."""
    write_models(project)
    path = project / "dbt_project.yml"
    path.write_text(path.read_text().replace("\nmodels:\n", f"\nmodels:{OPTIONS_OF_DBT}", 1))


def _vacuum(table):
    session = _root().newSession()
    session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    session.sql(f"vacuum {table} retain 0 hours").collect()


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("laboratory", change=write_project)
    return Laboratory(lakehouse, tmp_path_factory.mktemp("laboratory-landing"))


@pytest.mark.full
def test_a_first_run_with_empty_leaves_everything_to_the_next(laboratory):
    """Silver has read nothing then, so a run of gold alone has nothing to do. It comes first."""
    models = "events", "row_images", "things"
    first = json.dumps(change("INSERT", 11, thing(70, "before"))).encode()
    write_messages(laboratory.landing / "0.parquet", [("lab.things", 0, 0, first)])
    laboratory.offset = 1
    laboratory.lakehouse.ingest(laboratory.landing)
    said = laboratory.lakehouse.dbt("run", "--empty", "-s", *models)
    assert said == dict.fromkeys(models, "NOT WRITTEN") | {"row_images": "OK"}
    assert laboratory.lakehouse.dbt("run", "-s", "things") == {"things": "NOTHING NEW"}
    laboratory.deliver(change("INSERT", 12, thing(71, "after")))
    assert laboratory.rows("id, name") == [(70, "before"), (71, "after")]
    # The tests that follow begin without rows.
    laboratory.deliver(truncate(13))
    assert laboratory.rows() == []


@pytest.mark.long
def test_the_latest_in_the_source_wins_in_any_order(laboratory):
    insert = change("INSERT", 100, thing(1, "new"))
    update = change("UPDATE", 300, thing(1, "third"), old=[{"name": "second"}])
    earlier = change("UPDATE", 200, thing(1, "second"), old=[{"name": "new"}])
    laboratory.deliver(update, insert)
    assert laboratory.rows() == [(1, "third", "1.00")]
    laboratory.deliver(earlier)
    assert laboratory.rows() == [(1, "third", "1.00")]
    laboratory.deliver(insert, earlier)
    assert laboratory.rows() == [(1, "third", "1.00")]


def late(laboratory):
    """Return of each change of lab.late its place and whether it was late, in order of delivery."""
    rows = laboratory.lakehouse.query(
        "select cast(left(sequence, 20) as int) as place, is_late from silver.row_changes"
        " where table_name = 'late' order by offset"
    )
    return [tuple(row.values()) for row in rows]


def deliver(laboratory, *messages):
    laboratory.deliver(*messages, models=("row_changes",))


def of_late(kind, position, *rows, **more):
    return {**change(kind, position, *rows, **more), "table": "late"}


@pytest.mark.long
def test_a_change_is_late_if_an_earlier_run_has_processed_a_later_one(laboratory):
    first = of_late("INSERT", 100, thing(1, "first"))
    third = of_late("UPDATE", 300, thing(1, "third"), old=[{"name": "second"}])
    # What one run processes together is not late among itself.
    deliver(laboratory, third, first)
    assert late(laboratory) == [(300, False), (100, False)]
    # Neither of another table, nor the same place again.
    second = of_late("UPDATE", 200, thing(1, "second"), old=[{"name": "first"}])
    deliver(laboratory, {**change("INSERT", 999, thing(1, "x")), "table": "other"}, third, second)
    assert late(laboratory) == [(300, False), (100, False), (200, True)]
    # A late one takes the table no step back; a copy is no other change.
    deliver(laboratory, of_late("INSERT", 250, thing(2, "new")), first)
    deliver(laboratory, of_late("INSERT", 400, thing(3, "newer")))
    answer = [(300, False), (100, False), (200, True), (250, True), (400, False)]
    assert late(laboratory) == answer
    truncated = {**truncate(350), "table": "late", "sql": "truncate table late"}
    deliver(laboratory, truncated)
    [found] = laboratory.lakehouse.query(
        "select is_late from silver.events where kind = 'truncate' and table_name = 'late'"
    )
    assert found == {"is_late": True}
    laboratory.lakehouse.dbt("run", "-s", "result_counts", "table_accounting")
    [found] = laboratory.lakehouse.query(
        "select changes, late_changes, repeated_changes, last_committed_at,"
        " last_processed_at >= last_ingested_at as is_processed_after,"
        " abs(last_delay_seconds - (unix_micros(last_processed_at)"
        " - unix_micros(last_committed_at)) / 1e6) < 600 as is_delay,"
        " seconds_since_last_commit >= last_delay_seconds as goes_on"
        " from silver.table_accounting where table_name = 'late'"
    )
    assert found.pop("last_committed_at").timestamp() == 1_790_000_000.400
    assert found == {
        "changes": 5,
        "late_changes": 2,
        "repeated_changes": 2,
        "is_processed_after": True,
        "is_delay": True,
        "goes_on": True,
    }


def duplicates(laboratory):
    """Return the offsets of the duplicates among the changes of lab.again, from the first on."""
    rows = laboratory.lakehouse.query(
        "select offset - min(offset) over () as place, is_duplicate from silver.events"
        " where kind = 'row_change' and table_name = 'again' order by offset"
    )
    return [row["place"] for row in rows if row["is_duplicate"]]


@pytest.mark.long
def test_the_same_content_at_the_same_place_is_a_duplicate_whenever_it_comes(laboratory):
    def again(*arguments, **more):
        return {**change(*arguments, **more), "table": "again"}

    first, second = again("INSERT", 100, thing(1, "a")), again("INSERT", 200, thing(2, "b"))
    # Other content at the same place is a conflict, which is a change.
    other = again("INSERT", 100, thing(1, "other"))
    deliver(laboratory, first, first, other)
    assert duplicates(laboratory) == [1]
    # Of an earlier run; the last place of an earlier run; between changes that are new.
    deliver(laboratory, second, other, again("INSERT", 300, thing(3, "c")), first, second)
    assert duplicates(laboratory) == [1, 4, 6, 7]
    laboratory.lakehouse.dbt("run", "-s", "conflicting_changes")
    [conflict] = laboratory.lakehouse.query(
        "select deliveries, contents from silver.conflicting_changes where table_name = 'again'"
    )
    assert conflict == {"deliveries": 5, "contents": 2}
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", "events")
    assert duplicates(laboratory) == [1, 4, 6, 7]
    laboratory.lakehouse.check_duplicates()


@pytest.mark.long
def test_a_duplicate_whose_first_delivery_is_processed_again_becomes_the_first(laboratory):
    message = {**change("INSERT", 500, thing(5, "e")), "table": "again"}
    deliver(
        laboratory, message, {**change("INSERT", 510, thing(6, "f")), "table": "again"}, message
    )
    first = laboratory.offset - 3
    assert duplicates(laboratory)[-1] == duplicates(laboratory)[0] + 9
    laboratory.lakehouse.command(
        "replay", "--processed", "--topic", "lab.things", "--offsets", str(first)
    )
    laboratory.lakehouse.dbt("run", "-s", "events")
    found = laboratory.lakehouse.query(
        f"select is_duplicate from silver.events where offset >= {first} order by offset"
    )
    assert [row["is_duplicate"] for row in found] == [True, False, False]
    laboratory.lakehouse.check_duplicates()


@pytest.mark.long
def test_a_change_whose_first_delivery_has_lost_its_result_is_shown_again(laboratory):
    message = {**change("INSERT", 600, thing(7, "g")), "table": "again"}
    deliver(laboratory, message, message)
    first = laboratory.offset - 2
    laboratory.lakehouse.query(f"delete from silver.events where offset = {first}")
    laboratory.lakehouse.command("replay", "--reason", "no_result")
    laboratory.lakehouse.dbt("run", "-s", "events")
    found = laboratory.lakehouse.query(
        f"select is_duplicate from silver.events where offset >= {first} order by offset"
    )
    assert [row["is_duplicate"] for row in found] == [False, True]


@pytest.mark.long
def test_what_is_late_does_not_hang_on_the_file_of_the_run_before(laboratory):
    file = laboratory.lakehouse.home / "warehouse/silver.db/events/_latest_changes.json"
    kept = file.read_text()
    deliver(laboratory, of_late("INSERT", 500, thing(5, "x")))
    for number, content in enumerate((None, "{", kept)):
        # Lost, damaged, or of a run before the last: dbt was killed behind its commit.
        file.unlink()
        file.with_name(f".{file.name}.crc").unlink()
        if content:
            file.write_text(content)
        deliver(laboratory, of_late("INSERT", 450 + number, thing(6 + number, "y")))
        assert late(laboratory)[-1] == (450 + number, True)
    deliver(laboratory, of_late("INSERT", 501, thing(20, "z")))
    assert late(laboratory)[-1] == (501, False)


@pytest.mark.long
def test_what_is_late_is_never_told_by_rows_that_the_table_has_lost(laboratory):
    (last, *_) = laboratory.lakehouse.query("describe history silver.events")
    deliver(laboratory, of_late("INSERT", 700, thing(70, "gone")))
    laboratory.lakehouse.query(f"restore table silver.events to version as of {last['version']}")
    deliver(laboratory, of_late("INSERT", 600, thing(60, "x")))
    assert late(laboratory)[-1] == (600, False)
    deliver(laboratory, of_late("INSERT", 599, thing(59, "y")))
    assert late(laboratory)[-1] == (599, True)


@pytest.mark.long
def test_vacuum_leaves_the_file_of_the_run_before(laboratory):
    folder = laboratory.lakehouse.home / "warehouse/silver.db/events"
    kept = (folder / "_latest_changes.json").read_text()
    (folder / "part-of-a-killed-run.parquet").write_text("orphan")
    laboratory.lakehouse.process.submit(_vacuum, "silver.events").result()
    assert not (folder / "part-of-a-killed-run.parquet").exists()
    assert (folder / "_latest_changes.json").read_text() == kept
    deliver(laboratory, of_late("INSERT", 598, thing(58, "z")))
    assert late(laboratory)[-1] == (598, True)


@pytest.mark.long
def test_a_change_that_is_applied_rewrites_nothing(laboratory):
    commits = laboratory.history()
    laboratory.deliver(change("UPDATE", 300, thing(1, "third"), old=[{"name": "second"}]))
    latest = laboratory.history()
    assert len(latest) == len(commits) + 1
    metrics = latest[0]["operationMetrics"]
    assert metrics["numSourceRows"] == "1"
    assert metrics["numTargetFilesAdded"] == metrics["numTargetFilesRemoved"] == "0"
    assert metrics["numTargetDeletionVectorsAdded"] == "0"


@pytest.mark.long
def test_equal_content_with_a_newer_position_counts(laboratory):
    laboratory.deliver(change("UPDATE", 500, thing(1, "third"), old=[{"name": "third"}]))
    laboratory.deliver(change("UPDATE", 400, thing(1, "late"), old=[{"name": "third"}]))
    assert laboratory.rows("id, name, ltrim('0', split(_sequence, '[.]')[0]) as at") == [
        (1, "third", "500")
    ]


@pytest.mark.long
def test_a_late_change_does_not_bring_a_deleted_row_back(laboratory):
    laboratory.deliver(
        change("INSERT", 600, thing(2, "gone")), change("DELETE", 700, thing(2, "gone"))
    )
    assert [row[0] for row in laboratory.rows()] == [1]
    laboratory.deliver(change("UPDATE", 650, thing(2, "back"), old=[{"name": "gone"}]))
    assert [row[0] for row in laboratory.rows()] == [1]
    laboratory.deliver(change("INSERT", 800, thing(2, "again")))
    assert laboratory.rows()[1] == (2, "again", "1.00")
    # What is kept of a deleted row is its key, not its content.
    laboratory.deliver(change("DELETE", 900, thing(2, "again")))
    kept = [row for row in laboratory.stored() if row["id"] == 2]
    assert [(row["name"], row["price"], row["_operation"]) for row in kept] == [
        (None, None, "delete")
    ]


def test_a_key_change_is_a_delete_and_an_insert(laboratory):
    laboratory.deliver(
        change("INSERT", 1000, thing(3, "three"), thing(4, "four")),
        # Two rows change places in one message: neither may be lost.
        change("UPDATE", 1100, thing(5, "three"), thing(3, "four"), old=[{"id": "3"}, {"id": "4"}]),
    )
    rows = [row for row in laboratory.rows() if row[0] in (3, 4, 5)]
    assert rows == [(3, "four", "1.00"), (5, "three", "1.00")]


LINES = {"lines": "", "lines_history": "materialized='history'"}


def deliver_lines(laboratory, *messages):
    """Deliver changes of lab.lines; return its rows, which its history has to show too."""
    where = "database_name = 'lab' and table_name = 'lines'"
    write_models(laboratory.lakehouse.project, LINES, where=where)
    laboratory.deliver(*messages, topic="lab.lines", models=LINES)
    write_models(laboratory.lakehouse.project)
    tables = ["gold.lines", "(select * from gold.lines_history where is_current)"]
    query = "select id, name from {} order by id"
    shown, current = (laboratory.lakehouse.query(query.format(table)) for table in tables)
    assert shown == current
    return [tuple(row.values()) for row in shown]


def renumbered_line(place, old, new, name, es):
    message = change("UPDATE", place, thing(new, name), old=[{"id": str(old)}], es=es)
    return message | {"table": "lines"}


def renumbered(first):
    """Return the insert of three rows, and the updates of each to the key of the next."""
    rows = [thing(first + n, name) for n, name in enumerate("abc")]
    place, es = 100 * first, 1_790_000_000_000 + 100 * first + 50
    keys = enumerate("abc", first)
    updates = [renumbered_line(place + n, n, n + 1, name, es) for n, name in keys]
    return change("INSERT", place, *rows) | {"table": "lines"}, updates


@pytest.mark.long
def test_rows_that_change_places_in_one_statement_all_stay(laboratory):
    """As `update lines set id = id + 1`, where keys are checked when the statement ends."""
    inserted, updates = renumbered(1)
    es = 1_790_000_000_200
    further = [renumbered_line(200, 4, 8, "c", es), renumbered_line(201, 8, 9, "c", es)]
    assert deliver_lines(laboratory, inserted, *updates) == [(2, "a"), (3, "b"), (4, "c")]
    # A row that goes on to a further key in one commit leaves nothing behind.
    assert deliver_lines(laboratory, *further) == [(2, "a"), (3, "b"), (9, "c")]


@pytest.mark.long
def test_rows_that_change_places_stay_however_late_each_move_comes(laboratory):
    inserted, updates = renumbered(21)
    deliver_lines(laboratory, updates[2])
    deliver_lines(laboratory, updates[1])
    assert deliver_lines(laboratory, inserted)[-3:] == [(21, "a"), (23, "b"), (24, "c")]
    assert deliver_lines(laboratory, updates[0])[-3:] == [(22, "a"), (23, "b"), (24, "c")]
    assert deliver_lines(laboratory, inserted, *updates)[-3:] == [(22, "a"), (23, "b"), (24, "c")]


def test_a_truncate_removes_what_is_older(laboratory):
    laboratory.deliver(change("INSERT", 1300, thing(6, "after")), truncate(1200))
    assert laboratory.rows() == [(6, "after", "1.00")]
    laboratory.deliver(
        change("UPDATE", 1150, thing(3, "late"), old=[{"name": "four"}]), truncate(1200)
    )
    assert laboratory.rows() == [(6, "after", "1.00")]


def test_a_value_that_does_not_fit_is_null_and_named(laboratory):
    codes = {
        "12.345": "loses_digits",
        "12345.00": "out_of_range",
        "many": "invalid",
        "12.340": None,
        "1e3": None,
        "9999.99": None,
    }
    first = 10
    rows = [thing(first + n, "n", price) for n, price in enumerate(codes)]
    laboratory.deliver(change("INSERT", 2000, *rows))
    found = laboratory.lakehouse.query(
        "select price is null as is_lost, _problems from gold.things"
        f" where id >= {first} order by id"
    )
    for row, (price, code) in zip(found, codes.items(), strict=True):
        problems = [tuple(problem) for problem in row["_problems"]]
        assert problems == ([("price", code, price)] if code else [])
        assert row["is_lost"] is bool(code)


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments, rows",
    [
        ("max_rows: 2", 3),
        ("max_rows: 3", 0),
        ("max_share: 0.9", 0),
        ("columns: [name]", 0),
        ("columns: [price]", 3),
    ],
)
def test_a_test_can_allow_some_values_that_do_not_fit(laboratory, arguments, rows):
    test = f"{{{{values_fit_their_types: {{{{arguments: {{{{{arguments}}}}}}}}}}}}}"
    write_models(laboratory.lakehouse.project, yaml=YAML.replace("values_fit_their_types", test))
    said = laboratory.lakehouse.dbt("test", "-s", "things,test_name:values_fit_their_types")
    write_models(laboratory.lakehouse.project)
    expected = f"Got {rows} results, configured to warn if != 0" if rows else "pass"
    assert list(said.values()) == [expected]


def test_a_change_without_a_key_is_reported_and_not_merged(laboratory):
    before = laboratory.rows()
    no_key = {"name": "nobody", "price": "1.00"}
    laboratory.deliver(
        change("INSERT", 3000, no_key),
        change("INSERT", 3100, {"id": None, "name": "null", "price": "1.00"}),
        change("INSERT", 3200, thing("x", "no number")),
    )
    assert laboratory.rows() == before
    reported = laboratory.lakehouse.query("select name from gold_storage.things_without_key")
    assert sorted(row["name"] for row in reported) == ["no number", "nobody", "null"]
    problems = laboratory.lakehouse.query(
        "select column_name, code, text from gold_storage.things_problems"
        " where column_name is null or column_name = 'id' order by 1, 3"
    )
    assert [tuple(row.values()) for row in problems] == [
        *[(None, "missing_key", None)] * 3,
        ("id", "invalid", "x"),
    ]


@pytest.mark.long
def test_a_new_column_is_filled_for_existing_rows(laboratory):
    """One line in SQL and one in YAML; the table is rebuilt from silver in one commit."""
    before = laboratory.rows()
    yaml = YAML + "      - {{name: upper_name, data_type: string, description: Capitals.}}\n"
    columns = {**COLUMNS, "upper_name": "upper(image['name'])"}
    write_models(laboratory.lakehouse.project, columns=columns, yaml=yaml)
    commits = len(laboratory.history())
    laboratory.lakehouse.dbt("run", "-s", "things")
    assert len(laboratory.history()) == commits + 1
    assert laboratory.rows() == before
    assert laboratory.rows("upper_name") == [(row[1].upper(),) for row in before]
    assert laboratory.lakehouse.dbt("run", "-s", "things")["things"] == "NOTHING NEW"
    write_models(laboratory.lakehouse.project)
    laboratory.lakehouse.dbt("run", "-s", "things")
    assert laboratory.rows() == before


def test_a_run_is_one_commit_per_table(laboratory):
    commits = laboratory.history()
    events = laboratory.lakehouse.query("describe history silver.events")
    laboratory.deliver(
        change("INSERT", 4000, thing(20, "a")), change("DELETE", 4100, thing(6, "b"))
    )
    assert len(laboratory.history()) == len(commits) + 1
    assert len(laboratory.lakehouse.query("describe history silver.events")) == len(events) + 1


@pytest.mark.long
def test_a_full_refresh_gives_the_same_stored_rows(laboratory):
    before = laboratory.stored()
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", "things")
    assert laboratory.stored() == before


@pytest.mark.full
@pytest.mark.parametrize(
    "hook",
    [
        "set spark.sql.session.timeZone = Asia/Shanghai",
        pytest.param("set time zone 'Asia/Tokyo'", marks=pytest.mark.long),
    ],
)
def test_a_hook_cannot_change_what_a_value_means(laboratory, hook):
    laboratory.deliver(change("DELETE", 2, thing(99, "never there")))
    write_models(laboratory.lakehouse.project, {"things": f'pre_hook="/* a */ {hook}"'})
    (said,) = laboratory.lakehouse.dbt("run", "-s", "things", fails=True)
    write_models(laboratory.lakehouse.project)
    assert "A SET statement sets spark.sql.session.timeZone to" in said
    zone = "select current_timezone() as zone"
    assert laboratory.lakehouse.query(zone) == [{"zone": "UTC"}]


def test_a_model_without_a_key_is_refused_when_it_is_compiled(laboratory):
    write_models(laboratory.lakehouse.project, yaml=YAML.replace("constraints", "# constraints"))
    said = laboratory.lakehouse.dbt("compile", "-s", "things", fails=True)
    write_models(laboratory.lakehouse.project)
    assert "things has no key" in said[0]
    assert "primary_key" in said[0]


@pytest.mark.long
def test_a_model_that_breaks_its_contract_is_refused_with_a_table(laboratory):
    columns = {**COLUMNS, "price": "try_cast(image['price'] as double)"}
    write_models(laboratory.lakehouse.project, columns=columns)
    write_messages(
        laboratory.landing / "contract.parquet",
        [("lab.things", 0, 10_000, json.dumps(change("INSERT", 9000, thing(30, "a"))).encode())],
    )
    laboratory.lakehouse.ingest(laboratory.landing)
    said = "\n".join(laboratory.lakehouse.dbt("run", "-s", "events", "things", fails=True))
    assert "enforced contract that failed" in said
    assert "price" in said
    write_models(laboratory.lakehouse.project)
    laboratory.lakehouse.dbt("run", "-s", "things")
    assert (30, "a", "1.00") in laboratory.rows()


@pytest.mark.long
def test_partial_images_change_only_what_they_carry(laboratory):
    """Random partial updates, in any order and batching, give what the source's order gives."""
    generator = random.Random(SEED)
    numbers, expected, messages = range(40, 46), {}, []
    for position in range(6000, 6060):
        number = generator.choice(numbers)
        row = expected.get(number)
        if row is None or generator.random() < 0.1:
            row = {"id": str(number), "name": f"n{position}", "price": f"{position}.00"}
            messages.append(change("INSERT", position, row))
        elif generator.random() < 0.15:
            messages.append(change("DELETE", position, row))
            row = None
        else:
            column = generator.choice(["name", "price"])
            value = f"p{position}" if column == "name" else f"{position}.50"
            part = {"id": str(number), column: value}
            messages.append(change("UPDATE", position, part, old=[{column: row[column]}]))
            row = {**row, column: value}
        expected[number] = row
    generator.shuffle(messages)
    messages += generator.sample(messages, 10)
    for start in range(0, len(messages), 24):
        laboratory.deliver(*messages[start : start + 24])
    rows = {row[0]: row[1:] for row in laboratory.rows() if row[0] in numbers}
    active = {n: (row["name"], row["price"]) for n, row in expected.items() if row}
    assert rows == active
    before = laboratory.stored()
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", "things")
    assert laboratory.stored() == before


@pytest.mark.long
def test_a_name_may_have_capital_letters(laboratory):
    """Spark writes the names of tables and of their folders in small letters."""
    models = {"ThingsAgain": "alias='Again'"}
    write_models(laboratory.lakehouse.project, models)
    for number in (1, 2):
        inserted = change("INSERT", 6500 + number, thing(64 + number, "x"))
        laboratory.deliver(inserted, models=models)
        assert laboratory.rows("id", "Again")[-1] == (64 + number,)
    operations = [commit["operation"] for commit in laboratory.history("Again")]
    assert operations[0] == "MERGE"
    assert operations.count("MERGE") == 1
    write_models(laboratory.lakehouse.project)


def test_whole_images_store_nothing_extra(laboratory):
    laboratory.deliver(change("INSERT", 7000, *(thing(n, "whole") for n in range(40, 46))))
    stored = laboratory.lakehouse.query(
        "select count(*) as n from gold_storage.things where _column_sequences is not null"
    )
    assert stored == [{"n": 0}]


def test_an_insert_begins_a_row_again(laboratory):
    """What it does not carry is null, not what a row of that key held before a TRUNCATE."""
    laboratory.deliver(
        change("INSERT", 7100, thing(70, "old", "9.00")),
        truncate(7200),
        change("INSERT", 7300, {"id": "70", "name": "new"}),
    )
    assert [row for row in laboratory.rows() if row[0] >= 70] == [(70, "new", None)]


@pytest.mark.long
def test_a_snapshot_overrides_nothing_that_is_newer(laboratory):
    full_load = change("INIT", 7350, thing(71, "old"), thing(72, "only here"))
    rows = [(70, "new", None), (71, "new", "1.00"), (72, "only here", "1.00")]
    laboratory.deliver(change("INSERT", 7400, thing(71, "new")), full_load)
    assert [row for row in laboratory.rows() if row[0] >= 70] == rows
    laboratory.deliver(full_load)
    assert [row for row in laboratory.rows() if row[0] >= 70] == rows


@pytest.mark.long
@pytest.mark.parametrize("batches", [1, 3])
def test_an_update_without_a_named_key_keeps_what_it_does_not_carry(laboratory, batches):
    number = 80 + batches
    messages = [
        shareplex("ins", 8000, thing(number, "a", "3.00")),
        shareplex("upd", 8001, {"name": "b"}, {"id": str(number), "name": "a"}),
        shareplex("upd", 8002, {"name": "c"}, {"id": str(number), "name": "b"}),
    ]
    for batch in [messages] if batches == 1 else [[message] for message in reversed(messages)]:
        laboratory.deliver(*batch, topic="plex.things")
    assert (number, "c", "3.00") in laboratory.rows()


@pytest.mark.long
def test_several_source_tables_may_feed_one_table(laboratory):
    """A TRUNCATE of one removes its own rows."""
    both = "database_name = 'lab' and table_name in ('things', 'things_2')"
    write_models(laboratory.lakehouse.project, where=both)
    second = {"table": "things_2"}
    laboratory.deliver(
        change("INSERT", 8400, thing(90, "first")),
        change("INSERT", 50, thing(91, "second")) | second,
        truncate(9000) | second | {"sql": "truncate table things_2"},
        change("INSERT", 9100, thing(92, "third")) | second,
    )
    fed = [(90, "first", "lab.things"), (92, "third", "lab.things_2")]
    rows = laboratory.rows("id, name, _source_table")
    assert [row for row in rows if row[0] >= 90] == fed
    laboratory.deliver(
        change("INSERT", 8500, thing(93, "later")),
        change("INSERT", 9200, thing(94, "later")) | second,
    )
    fed += [(93, "later", "lab.things"), (94, "later", "lab.things_2")]
    rows = laboratory.rows("id, name, _source_table")
    assert [row for row in rows if row[0] >= 90] == fed


@pytest.mark.long
def test_a_key_may_look_like_a_variable_of_spark(laboratory):
    """What a merge looks at is named by literals, and Spark replaces `${...}` even within those."""
    named = YAML.replace("columns: [id]", "columns: [name]")
    write_models(laboratory.lakehouse.project, yaml=named)
    laboratory.lakehouse.dbt("run", "-s", "things")
    laboratory.deliver(change("INSERT", 8600, thing(95, "${env:HOME}")))
    laboratory.deliver(
        change("UPDATE", 8700, thing(95, "${env:HOME}", "2.00"), old=[{"price": "1.00"}])
    )
    assert [row for row in laboratory.rows() if row[0] == 95] == [(95, "${env:HOME}", "2.00")]
    write_models(laboratory.lakehouse.project)


def test_an_update_keeps_what_its_image_does_not_carry_whatever_its_types_say(laboratory):
    """MySQL's binlog_row_image leaves columns out, and Canal takes the types from what is left."""

    def logged(position, row, old):
        message = change("UPDATE", position, row, old=[old])
        types = {name: message["mysqlType"][name] for name in row}
        return message | {"mysqlType": types}

    insert = change("INSERT", 9100, thing(91, "a", "1.00"), thing(92, "a", "1.00"))
    renamed = logged(9101, {"id": "91", "name": "b"}, {"name": "a"})
    priced = logged(9102, {"id": "91", "price": None}, {"price": "1.00"})
    late = logged(9103, {"id": "92", "name": "c"}, {"name": "b"})
    unchanged = logged(9104, {"id": "92", "name": "c"}, {})
    laboratory.deliver(priced, late)
    laboratory.deliver(insert, renamed, unchanged)
    found = [row for row in laboratory.rows() if row[0] in (91, 92)]
    assert found == [(91, "b", None), (92, "c", "1.00")]


@pytest.mark.parametrize(
    "first", [pytest.param(0, id="removed", marks=pytest.mark.long), pytest.param(1, id="other")]
)
def test_the_before_of_a_row_that_stays_is_not_stored(laboratory, first):
    """The messages of a before/after pair may come in two runs, the one or the other first."""
    number, position = 96 + first, 9110 + 10 * first
    pair = [
        message_of_pair("UPDATE_BEFOR", position + 1, thing(number, "a")),
        message_of_pair("UPDATE_AFTER", position + 1, thing(number, "b")),
    ]
    deliveries = [
        [message_of_pair("INSERT", position, thing(number, "a")), pair[first]],
        [pair[1 - first]],
    ]
    models = {"paired_history": "materialized='history'"}
    write_models(laboratory.lakehouse.project, models)
    for messages in deliveries:
        laboratory.deliver(*messages, topic="pairs.things", models=models)
    where = f"where id = {number} order by _sequence"
    query = "select name, _operation from gold_storage.paired_history "
    assert [tuple(row.values()) for row in laboratory.lakehouse.query(query + where)] == [
        ("a", "insert"),
        ("b", "update"),
    ]
    query = "select name, is_current from gold.paired_history "
    assert [tuple(row.values()) for row in laboratory.lakehouse.query(query + where)] == [
        ("a", False),
        ("b", True),
    ]
    write_models(laboratory.lakehouse.project)


@pytest.mark.long
def test_changes_that_share_a_place_are_applied_as_they_are_delivered(laboratory):
    """A position that is no position: open-source Canal gives the messages of a batch one id."""
    first = change("INSERT", 9200, thing(93, "a"))
    second = change("UPDATE", 9200, thing(93, "b"), old=[{"name": "a"}])
    laboratory.deliver(first, second)
    assert (93, "b", "1.00") in laboratory.rows()
    laboratory.deliver(change("UPDATE", 9200, thing(93, "c"), old=[{"name": "b"}]))
    assert (93, "c", "1.00") in laboratory.rows()
    laboratory.deliver(change("DELETE", 9200, thing(93, "c")))
    assert 93 not in [row[0] for row in laboratory.rows()]
    laboratory.lakehouse.dbt("run", "-s", "conflicting_changes")
    # What is rebuilt has columns that may be null; the view reads it none the less.
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", "events", "things")
    assert 93 not in [row[0] for row in laboratory.rows()]
    shared = "select table_name, contents from silver.conflicting_changes where sequence like"
    assert laboratory.lakehouse.query(f"{shared} '%9200.%'") == [
        {"table_name": "things", "contents": 4}
    ]
    conflicts = len(laboratory.lakehouse.query("select * from silver.conflicting_changes"))
    said = laboratory.lakehouse.dbt("test", "-s", "sequences_have_one_content")
    assert said["sequences_have_one_content"].startswith(f"Got {conflicts} result")


@pytest.mark.long
def test_a_column_that_is_made_from_others_follows_them(laboratory):
    """An update that carries none of them leaves it as it was; a part is named as a problem."""
    columns = {
        "id": COLUMNS["id"],
        "label": "upper(image['name'])",
        "shown": "coalesce(image['title'], image['name'])",
        "tag": "image['name'] || ':' || image['price']",
        "origin": "'lab'",
        "cost": "image['price']",
    }
    described = "".join(
        f"      - {{{{name: {name}, data_type: string, description: x}}}}\n"
        for name in list(columns)[1:]
    )
    yaml = YAML[: YAML.index("      - {{name: name")] + described
    write_models(laboratory.lakehouse.project, {"labels": ""}, columns, yaml)

    def rows():
        found = laboratory.lakehouse.query("select * from gold.labels where id = 94")
        return [
            (r["label"], r["shown"], r["tag"], r["origin"], [p["code"] for p in r["_problems"]])
            for r in found
        ]

    part = {"id": "94", "price": "2.00"}
    laboratory.deliver(change("INSERT", 9300, thing(94, "a")), models={"labels": ""})
    assert rows() == [("A", "a", "a:1.00", "lab", [])]
    laboratory.deliver(change("UPDATE", 9301, part, old=[{"price": "1.00"}]), models={"labels": ""})
    assert rows() == [("A", "a", None, "lab", ["not_carried"])]
    renamed = thing(94, "b", "2.00")
    laboratory.deliver(change("UPDATE", 9302, renamed, old=[{"name": "a"}]), models={"labels": ""})
    assert rows() == [("B", "b", "b:2.00", "lab", [])]
    # Of two names the first counts: an update with the second, and without the price, does not say
    # what the first is.
    titled = thing(94, "b", "2.00") | {"title": "t"}
    laboratory.deliver(change("UPDATE", 9303, titled, old=[{"title": None}]), models={"labels": ""})
    assert rows() == [("B", "t", "b:2.00", "lab", [])]
    part = {"id": "94", "name": "c"}
    laboratory.deliver(change("UPDATE", 9304, part, old=[{"name": "b"}]), models={"labels": ""})
    assert rows() == [("C", None, None, "lab", ["not_carried", "not_carried"])]
    write_models(laboratory.lakehouse.project)


def test_an_inferred_type_alters_no_text_in_silence(laboratory):
    """A zip code, a version or a month may look like a number or a date in all values so far."""
    types = {"zip": "bigint", "version": "decimal(38, 2)", "day": "date"}
    columns = {"id": COLUMNS["id"]}
    columns |= {name: f"try_cast(image['{name}'] as {kind})" for name, kind in types.items()}
    described = "".join(
        f'      - {{{{name: {name}, data_type: "{kind}", meta: {{{{inferred: true}}}}}}}}\n'
        for name, kind in types.items()
    )
    yaml = YAML[: YAML.index("      - {{name: name")] + described
    write_models(laboratory.lakehouse.project, {"codes": ""}, columns, yaml)
    texts = [
        ("1234", "1.2", "2024-05-01"),
        ("01234", "1.25", "2024-05"),
        ("-7", "3.50", "2024-5-1"),
        ("+7", "3.500", "2024-05-01 00:00:00"),
        ("-0", "03.5", "May"),
    ]
    rows = [
        {"id": str(950 + n)} | dict(zip(types, values, strict=True))
        for n, values in enumerate(texts)
    ]
    laboratory.deliver(change("INSERT", 9500, *rows), models={"codes": ""})
    found = laboratory.lakehouse.query("select * from gold.codes where id >= 950 order by id")
    values = [
        (r["zip"], r["version"] and str(r["version"]), r["day"] and str(r["day"])) for r in found
    ]
    assert values == [
        (1234, "1.20", "2024-05-01"),
        (None, "1.25", None),
        (-7, "3.50", None),
        (None, None, None),
        (None, None, None),
    ]
    assert [{p["column"]: (p["code"], p["text"]) for p in r["_problems"]} for r in found] == [
        {},
        {"zip": ("altered", "01234"), "day": ("altered", "2024-05")},
        {"day": ("altered", "2024-5-1")},
        {
            "zip": ("altered", "+7"),
            "version": ("altered", "3.500"),
            "day": ("altered", "2024-05-01 00:00:00"),
        },
        {"zip": ("altered", "-0"), "version": ("altered", "03.5"), "day": ("invalid", "May")},
    ]
    # Once a person knows that a type is right, texts may differ: the table is rebuilt.
    known = yaml.replace(", meta: {{inferred: true}}", "")
    write_models(laboratory.lakehouse.project, {"codes": ""}, columns, known)
    laboratory.lakehouse.dbt("run", "-s", "codes")
    [row] = laboratory.lakehouse.query("select zip, _problems from gold.codes where id = 951")
    assert row == {"zip": 1234, "_problems": []}
    write_models(laboratory.lakehouse.project)


@pytest.mark.long
def test_a_truncate_whose_place_contradicts_its_time_is_named(laboratory):
    test = "truncates_follow_commit_times"
    laboratory.lakehouse.dbt("run", "-s", "result_counts")
    laboratory.deliver(change("INSERT", 9000, thing(90, "before")), truncate(9001))
    assert laboratory.lakehouse.dbt("test", "-s", test) == {test: "pass"}
    # Committed after all changes, but before all of them in the source's order: it removes nothing.
    laboratory.deliver(truncate(1, es=1_790_000_900_000))
    said = laboratory.lakehouse.dbt("test", "-s", test)
    assert said == {test: "Got 1 result, configured to warn if != 0"}


@pytest.mark.long
def test_the_rows_of_a_dropped_table_stay_and_are_named_or_go(laboratory):
    tested = YAML.replace("[changes", "[dropped_tables_have_no_rows, changes")
    models = {"kept": "", "cleared": "on_drop='apply'"}
    views = ("row_images", "column_shapes", "source_columns", "schema_changes", "dropped_tables")
    views = (*views, "schema_drift")
    # Not the table lab.lab.things of SharePlex, which is another.
    own = f"{WHERE} and schema_name is null"
    write_models(laboratory.lakehouse.project, models, yaml=tested, where=own)
    laboratory.deliver(truncate(9600), change("INSERT", 9601, thing(1, "old")), models=models)
    drop = "DROP TABLE IF EXISTS `elsewhere`.`things`, other, things /* generated by server */"
    laboratory.deliver(
        statement(9604, "create table things (id bigint primary key, name text, price text)"),
        change("INSERT", 9605, thing(2, "new")),
        # What is no DROP of this table, though it looks like one.
        statement(9606, "DROP TEMPORARY TABLE IF EXISTS `things`"),
        statement(9607, "alter table things drop column stock"),
        models=models,
    )
    assert [row[0] for row in laboratory.rows(model="cleared")] == [1, 2]
    laboratory.deliver(statement(9603, drop) | {"table": "elsewhere"}, models=models)
    assert [row[0] for row in laboratory.rows(model="cleared")] == [2]
    assert [row[0] for row in laboratory.rows(model="kept")] == [1, 2]
    laboratory.lakehouse.dbt("run", "-s", *views)
    dropped = laboratory.lakehouse.query(
        "select database_name, table_name, ddl from silver.schema_drift"
        " where drift = 'dropped_table' order by all"
    )
    names = [(row["database_name"], row["table_name"], row["ddl"]) for row in dropped]
    assert names == [
        ("elsewhere", "things", drop),
        ("lab", "other", drop),
        ("lab", "things", drop),
    ]
    which = [f"{name},test_name:dropped_tables_have_no_rows" for name in models]
    said = laboratory.lakehouse.dbt("test", "-s", *which)
    test = "dropped_tables_have_no_rows_"
    assert said == {
        f"{test}cleared_": "pass",
        f"{test}kept_": "Got 1 result, configured to warn if != 0",
    }


@pytest.mark.long
def test_a_column_that_a_statement_drops_keeps_its_values_and_is_named_at_once(laboratory):
    def of_shelf(message):
        return {**message, "table": "shelf"}

    def named():
        """Return what drift says of the table, and what the test of the model that reads it."""
        rows = laboratory.lakehouse.query(
            "select column_name, drift, ddl, offset from silver.schema_drift"
            " where table_name = 'shelf' order by all"
        )
        test = "source_columns_are_read"
        said = laboratory.lakehouse.dbt("test", "-s", f"shelf,test_name:{test}")
        return [tuple(row.values()) for row in rows], said[f"{test}_shelf_"]

    models = {"shelf": ""}
    yaml = YAML.replace("[changes", "[source_columns_are_read, changes")
    where = "database_name = 'lab' and table_name = 'shelf'"
    write_models(laboratory.lakehouse.project, models, yaml=yaml, where=where)
    views = ("column_shapes", "source_columns", "schema_changes", "dropped_tables", "schema_drift")
    laboratory.deliver(of_shelf(change("INSERT", 100, thing(1, "a"))), models=[*models, *views])
    assert named() == ([], "pass")
    drop = "ALTER TABLE `lab`.`shelf` DROP INDEX `name`, DROP `price`"
    update = change("UPDATE", 300, {"id": "1", "name": "b"}, old=[{"name": "a"}])
    # Canal makes the types from the row image, which may lack columns for another reason.
    update["mysqlType"] = {"id": "bigint", "name": "varchar(20)"}
    place = laboratory.offset
    laboratory.deliver(of_shelf(statement(200, drop)), of_shelf(update), models=models)
    assert laboratory.rows(model="shelf") == [(1, "b", "1.00")]
    warned = "Got 1 result, configured to warn if != 0"
    assert named() == ([("price", "vanished", drop, place)], warned)
    add = "ALTER TABLE shelf ADD COLUMN price DECIMAL(6, 2), RENAME COLUMN name TO title"
    place = laboratory.offset
    laboratory.deliver(of_shelf(statement(400, add)), models=models)
    assert laboratory.rows(model="shelf") == [(1, "b", "1.00")]
    assert named() == ([("name", "vanished", add, place)], warned)
    write_models(laboratory.lakehouse.project)


@pytest.mark.long
def test_a_row_whose_key_changes_keeps_what_the_change_does_not_carry(laboratory):
    """Through a chain of keys, in a swap of one statement, and where an earlier one comes late."""
    models = {"moved": "", "moved_history": "materialized='history'"}
    where = "database_name = 'lab' and table_name = 'moved'"
    write_models(laboratory.lakehouse.project, models, where=where)

    def change_of(operation, transaction, place, data, key=None):
        message = shareplex(operation, transaction, data, key)
        return message | {"meta": message["meta"] | {"table": "lab.moved", "seq": place}}

    def moved(transaction, place, old, new, **data):
        return change_of("upd", transaction, place, {"id": new, **data}, {"id": old})

    def deliver(*messages):
        laboratory.deliver(*messages, topic="plex.moved", models=models)
        return laboratory.rows(model="moved")

    inserted = [
        change_of("ins", 10, 1, thing(1, "a", "1.00")),
        change_of("ins", 10, 2, thing(2, "b", "2.00")),
    ]
    renamed = change_of("upd", 15, 1, {"name": "late"}, {"id": "1"})
    priced = change_of("upd", 16, 1, {"price": "9.00"}, {"id": "2"})
    chain = [moved(20, 1, "1", "3", price="5.00"), moved(30, 1, "3", "4", name="c")]
    # Oracle checks keys when a statement ends.
    swap = [moved(40, 1, "2", "4"), moved(40, 2, "4", "2")]
    # The vendor's UPDATE BEFORE and UPDATE AFTER, two messages of one update.
    before = change_of("update before", 50, 1, {"id": "2"})
    after = change_of("update after", 50, 1, {"id": "7"})

    assert deliver(*chain, swap[1]) == [(2, "c", "5.00")]
    assert deliver(*inserted) == [(2, "c", "5.00")]
    assert "moved names all_changes" in laboratory.log_of_run()
    swapped = [(2, "c", "5.00"), (4, "b", "2.00")]
    assert deliver(swap[0], after) == [*swapped, (7, None, None)]
    assert deliver(renamed, priced, before) == [(4, "b", "9.00"), (7, "c", "5.00")]
    columns = "id, name, cast(price as string), minute(valid_from), minute(valid_to), _problems"
    assert laboratory.rows(columns, "moved_history") == [
        (1, "a", "1.00", 10, 15, []),
        (1, "late", "1.00", 15, 20, []),
        (2, "b", "2.00", 10, 16, []),
        (2, "b", "9.00", 16, 40, []),
        (2, "c", "5.00", 40, 50, []),
        (3, "late", "5.00", 20, 30, []),
        (4, "c", "5.00", 30, 40, []),
        (4, "b", "9.00", 40, None, []),
        (7, "c", "5.00", 50, None, []),
    ]
    stored = {model: laboratory.stored(model) for model in models}
    deliver(*inserted, *chain, *swap, renamed)
    assert {model: laboratory.stored(model) for model in models} == stored
    for model in models:
        metrics = laboratory.history(model)[0]["operationMetrics"]
        assert metrics.get("numTargetRowsUpdated", "0") == "0"
    # As in tables from before rows were followed, which are built again.
    for model in models:
        property_of_key_changes = "unset tblproperties ('cdc_lakehouse.partial_moves')"
        laboratory.lakehouse.query(f"alter table gold_storage.{model} {property_of_key_changes}")
    laboratory.lakehouse.dbt("run", "-s", *models)
    assert {model: laboratory.stored(model) for model in models} == stored
    for model in models:
        assert "REPLACE" in laboratory.history(model)[0]["operation"]
    again = change_of("ins", 56, 1, thing(1, "new"))
    gone = change_of("del", 57, 1, thing(4, "b", "9.00"))
    assert deliver(again, gone) == [(1, "new", "1.00"), (7, "c", "5.00")]
    write_models(laboratory.lakehouse.project)


@pytest.mark.full
def test_another_arrangement_or_comment_writes_no_row_again(laboratory):
    lakehouse = laboratory.lakehouse
    laboratory.deliver(change("INSERT", 99_000, thing(99_000, "a")))
    commits = len(laboratory.history())
    yaml = YAML.replace("description: Name.", "description: What it is called.")
    write_models(lakehouse.project, {"things": "cluster_by=['name']"}, yaml=yaml)
    for _ in range(2):  # the second run finds nothing to do
        lakehouse.dbt("run", "-s", "things")
        added = [row["operation"] for row in laboratory.history()][:-commits]
        assert len(added) == 3
        assert not {"WRITE", "MERGE", "CREATE OR REPLACE TABLE AS SELECT"} & set(added)
    (detail,) = lakehouse.query("describe detail gold_storage.things")
    assert detail["clusteringColumns"] == ["name"]
    described = {row["col_name"]: row["comment"] for row in lakehouse.query("describe gold.things")}
    assert described["name"] == "What it is called."
    write_models(lakehouse.project)
    lakehouse.dbt("run", "-s", "things")
    (detail,) = lakehouse.query("describe detail gold_storage.things")
    assert detail["clusteringColumns"] == []
