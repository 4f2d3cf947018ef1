"""Messages with the traits of public bug reports become what their vendors' documents say.

The files in `public_reports` hold them: small inputs of our own, each with the report whose trait
it has. `route` is the line of topics.csv behind the topic. `file` is the text of a line file,
`messages` are keys and values that no text file can carry, in Base64, `schemas` the Avro schemas of
the project's folder `avro/NAME`. `expected` says per message and row what silver has to hold in the
columns that it names, `gold` what the table is in gold, values as text; `any_of` leaves a choice;
`order` the offsets in the order of the source. All of it was written from the documents before
anything was run. The corpora are made in the same form, from the types that each producer has
(`corpora`) and from what each connector of Debezium says (`encoders.debezium_sources`).
"""

import json
from base64 import b64decode, b64encode
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from corpora import key_changes, reports
from encoders import debezium_sources
from laboratory import change
from shop import as_text, write_messages

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.add_table import Gold
from cdc_lakehouse.gold.source_tables import find_table
from cdc_lakehouse.report.questions import shared_keys
from cdc_lakehouse.routes import COLUMNS, FURTHER_COLUMNS

pytestmark = pytest.mark.full

REPORTS = [
    report
    for path in sorted(Path(__file__).with_name("public_reports").glob("*.json"))
    for report in json.loads(path.read_text())
] + [*debezium_sources.reports(), *reports()]
NAMES = [report["name"] for report in REPORTS]
WITH_GOLD = [report for report in REPORTS if "gold" in report]
# Their tables are looked at by several tests. Of the others each commit builds every second one.
ALWAYS = [report for report in WITH_GOLD if report["name"].startswith("gk")]
OFTEN = ALWAYS + [report for report in WITH_GOLD if report not in ALWAYS][::2]


# A format of a project's own. Its model has the columns of the contract from the last to the first.
HOUSE = {
    **{name: name for name in ("topic", "partition", "offset", "format", "bronze_version")},
    "ingested_at": "ingested_at",
    "row_number": "0",
    "kind": "'row_change'",
    "operation": "'insert'",
    "database_name": "'house'",
    "table_name": "'words'",
    "after": "map('word', cast(value as string))",
}


def house_model(project, *left_out):
    events = yaml.safe_load((project / "models" / "silver" / "_events.yml").read_text())
    columns = [
        c for c in events["models"][0]["columns"] if c["name"] not in ("loaded_at", *left_out)
    ]
    listed = ",\n    ".join(
        f"cast({HOUSE.get(c['name'], 'null')} as {c['data_type']}) as {c['name']}"
        for c in reversed(columns)
    )
    return f"select\n    {listed}\nfrom {{{{ ref('messages') }}}}\nwhere format = 'house'\n"


def write_house(project, *left_out):
    folder = project / "models" / "silver" / "house"
    folder.mkdir(exist_ok=True)
    (folder / "house.sql").write_text(house_model(project, *left_out))


def add_routes(project):
    write_house(project)
    formats = project / "macros" / "formats.sql"
    formats.write_text(
        formats.read_text().replace("'oms_canal',", "'house',\n        'oms_canal',")
    )
    routes = [f"{report['name']},{report['route']}" for report in REPORTS]
    routes += [
        *(f"{name},{line}" for name, line in key_changes.ROUTES.items()),
        "house,house",
        "globs.*,dts_canal,America/New_York",
        "*.route,dts_canal,Asia/Shanghai",
    ]
    add_lines(project / "seeds" / "topics.csv", routes)
    for report in REPORTS:
        for file, schema in report.get("schemas", {}).items():
            path = project / "avro" / report["name"] / file
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(schema))


def add_lines(topics, routes):
    """Add lines to a topics.csv, and give it all columns that a route can have."""
    columns = [*COLUMNS, *FURTHER_COLUMNS]
    lines = [line.split(",") for line in (*topics.read_text().splitlines()[1:], *routes)]
    padded = [[*line, *[""] * (len(columns) - len(line))] for line in lines]
    topics.write_text("".join(f"{','.join(line)}\n" for line in (columns, *padded)))


def land(folder):
    """Write each report's messages below a landing folder."""
    write_messages(folder / "house" / "0.parquet", [("house", 0, 0, b"hello")])
    write_messages(folder / "globs" / "0.parquet", [("globs.route", 0, 0, seen_at_eight())])
    land_key_changes(folder, 0)
    for report in REPORTS:
        name, path = report["name"], folder / report["name"]
        if "file" in report:
            path.mkdir(parents=True)
            (path / "messages.jsonl").write_bytes(report["file"].encode())
            continue
        write_keyed(path / "messages.parquet", name, report["messages"])


def write_keyed(path, topic, messages, first_offset=0):
    """Write messages with their keys as a Parquet file."""
    rows = [(topic, 0, n, decoded(m["value_base64"])) for n, m in enumerate(messages, first_offset)]
    write_messages(path, rows)
    keys = [decoded(message["key_base64"]) for message in messages]
    table = pq.read_table(path)
    place = table.schema.get_field_index("key")
    pq.write_table(table.set_column(place, "key", [keys]), path)


def land_key_changes(folder, part):
    """Write a part of the logs of rows whose keys change."""
    for format_name, name in key_changes.NAMES.items():
        messages = enumerate(key_changes.parts(format_name)[part], start=1_000 * part)
        rows = [(name, 0, offset, text.encode()) for offset, text in messages]
        write_messages(folder / f"{name}-{part}.parquet", rows)


def seen_at_eight():
    seen = {"id": "1", "seen_at": "2026-01-01 08:00:00"}
    types = {"id": "int", "seen_at": "timestamp"}
    return json.dumps(change("INSERT", 1, seen) | {"mysqlType": types}).encode()


def decoded(text):
    return None if text is None else b64decode(text)


@pytest.fixture(scope="module")
def lakehouse(request, open_lakehouse, tmp_path_factory):
    """All messages in silver, and the gold tables of the reports that are asked for."""
    tests = [item for item in request.session.items if item.path == request.path]
    of_gold = [i for i in tests if i.originalname == test_gold_is_the_table_of_the_source.__name__]
    asked = [item.callspec.params["report"] for item in of_gold]
    lakehouse = open_lakehouse("reports", change=add_routes)
    land(tmp_path_factory.getbasetemp() / "reports-landing")
    lakehouse.ingest(tmp_path_factory.getbasetemp() / "reports-landing")
    lakehouse.dbt("seed")
    views = ("row_images", "column_shapes", "source_columns", "conflicting_changes")
    lakehouse.dbt("run", "-s", "events", *views)
    tables, gold = lakehouse.seen_tables(), Gold(lakehouse.project)
    wanted = [report for report in WITH_GOLD if report in asked or report in ALWAYS]
    added = [report for report in wanted if was_added(gold, tables, report)]
    for report in added:
        if "config" in report["gold"]:
            (model,) = lakehouse.project.glob(f"models/gold/*/{report['name']}.sql")
            config = f"{{{{ config({report['gold']['config']}) }}}}\n\n"
            model.write_text(config + model.read_text())
    for name in key_changes.NAMES.values():
        gold.add(find_table(tables, f"`shop`.`{name}`"), name=name, history=True)
        model = lakehouse.project / "models" / "gold" / "shop" / f"{name}.sql"
        model.write_text("{{ config(change_feed=true) }}\n\n" + model.read_text())
    lakehouse.dbt("run", "-s", *(report["name"] for report in added), *models_of_key_changes())
    return lakehouse


def models_of_key_changes():
    return [name + kind for name in key_changes.NAMES.values() for kind in ("", "_history")]


def was_added(gold, tables, report):
    """Add the gold model of a report, and tell whether it could be: if not, its own tests fail."""
    wanted = report["gold"]
    named = ".".join(f"`{name}`" for name in wanted["table"].split("."))
    key = [wanted["key"]] if "key" in wanted else None
    try:
        gold.add(find_table(tables, named), key=key, name=report["name"])
    except LakehouseError as error:
        print(f"{report['name']}: {error}")
        return False
    return True


@pytest.fixture(scope="module")
def results(lakehouse):
    """Return the rows of silver.events by topic and offset."""
    rows = lakehouse.query("select * from silver.events order by topic, offset, row_number")
    found = {}
    for row in rows:
        found.setdefault(row["topic"], {}).setdefault(row["offset"], []).append(row)
    return found


def agrees(found, expected):
    if isinstance(expected, dict) and set(expected) == {"any_of"}:
        return any(agrees(found, choice) for choice in expected["any_of"])
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(
            agrees(found[name], value) for name, value in expected.items()
        )
    return found == expected


@pytest.mark.parametrize("report", REPORTS, ids=NAMES)
def test_messages_with_the_trait_become_what_the_document_says(results, report):
    found = results[report["name"]]
    assert sorted(found) == list(range(len(report["expected"])))
    for offset, rows in enumerate(report["expected"]):
        assert len(found[offset]) == len(rows), found[offset]
        for row, sought in zip(found[offset], rows, strict=True):
            seen = {name: row[name] for name in sought}
            assert all(agrees(seen[name], sought[name]) for name in sought), (offset, seen, row)


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(report, id=report["name"], marks=[pytest.mark.long] * (report not in OFTEN))
        for report in WITH_GOLD
    ],
)
def test_gold_is_the_table_of_the_source(lakehouse, report):
    gold = report["gold"]
    rows = lakehouse.query(f"select * from gold.{report['name']}")
    assert len(rows) == len(gold["rows"]), rows
    for sought in gold["rows"]:
        found = [{name: as_text(row[name.lower()]) for name in sought} for row in rows]
        assert any(agrees(row, sought) for row in found), found
    if "problems" in gold:
        assert [p["column"] for row in rows for p in row["_problems"]] == gold["problems"]


@pytest.mark.parametrize(
    "report", [report for report in REPORTS if "order" in report], ids=lambda report: report["name"]
)
def test_places_are_in_the_order_of_the_source(results, report):
    found = results[report["name"]]
    places = [found[offset][0]["sequence"] for offset in report["order"]]
    assert places == sorted(set(places)), places


def test_rows_of_one_snapshot_that_share_a_key_are_named(lakehouse):
    """As the data test `sequences_have_one_content` names them: one row of gold is left of two."""
    named = lakehouse.query(
        "select table_name, contents from silver.conflicting_changes where table_name like 'o0%'"
    )
    assert named == [{"table_name": "o08_rows_that_share_a_key", "contents": 2}]


@pytest.fixture(scope="module")
def moved(lakehouse, tmp_path_factory):
    """The lakehouse with the second part of the logs of rows whose keys change."""
    landing = tmp_path_factory.mktemp("key-changes-landing")
    land_key_changes(landing, 1)
    lakehouse.ingest(landing)
    lakehouse.dbt("run", "-s", "events", *models_of_key_changes())
    return lakehouse


@pytest.mark.parametrize("format_name", key_changes.NAMES)
def test_rows_that_move_along_in_one_commit_are_right_at_every_moment(moved, format_name):
    name, commits = key_changes.NAMES[format_name], key_changes.KEY_CHANGES[format_name]
    states = key_changes.rows_after(commits)

    def rows(query):
        return [tuple(row.values()) for row in moved.query(query)]

    row = "cast(id as int) as id, v"
    now = sorted(states[-1].items())
    assert rows(f"select {row} from gold.{name} order by id") == now
    history = f"select {row}, valid_from, valid_to from gold.{name}_history order by id, valid_from"
    assert rows(history) == key_changes.versions(commits)
    for commit, state in enumerate(states):
        moment = f"timestamp '{key_changes.at(commit)}'"
        for call in (f"as_of({moment})", f"as_known({moment}, current_timestamp())"):
            found = rows(f"select {row} from gold.{name}_{call} order by id")
            assert found == sorted(state.items()), call
    added = "sum(if(_change_type in ('insert', 'update_postimage'), 1, -1))"
    feed = f"select {row}, {added} as added from table_changes('gold_plain.{name}', 0) group by all"
    assert rows(f"select id, v from ({feed}) where added <> 0 order by id") == now
    places = f"count(distinct sequence), count(*) from silver.events where topic = '{name}'"
    assert rows(f"select {places}") == [(sum(map(len, commits)),) * 2]


def test_a_key_of_messages_that_rows_share_is_named(lakehouse):
    """`message.key.columns` may name columns that are no key of the table."""
    lakehouse.dbt("run", "-s", "dropped_tables")
    said = lakehouse.dbt("test", "-s", "keys_tell_rows_apart")
    assert said["keys_tell_rows_apart"].startswith("Got 1 result")


def test_columns_that_are_gone_and_values_that_are_not_known_are_named(lakehouse):
    expected = {
        "gk03_toast_of_no_known_row": ("body", "not_carried"),
        "gk05_renamed_without_ddl": ("phone", "column_gone"),
        "gk06_gone_comes_before_the_value": ("phone", "column_gone"),
    }
    for name, problem in expected.items():
        rows = lakehouse.query(f"select inline(_problems) from gold.{name}")
        assert {(row["column"], row["code"]) for row in rows} == {problem}


def test_a_delete_in_a_later_run_gives_its_row_to_the_insert(lakehouse, tmp_path):
    """Each row of the key change, and the row that it takes its value from, in a run of its own."""
    name = "gk03_toast_of_no_known_row"
    source = {"connector": "postgresql", "db": "app", "schema": "public", "table": name}
    deleted = {"before": {"id": 1, "body": None, "v": None}, "after": None, "op": "d"}
    created = {"before": None, "after": {"id": 1, "body": "late text", "v": "a"}, "op": "c"}
    found = []
    for number, (row, lsn) in enumerate(((deleted, 2000), (created, 1000)), 10):
        place = {"lsn": lsn, "sequence": f'["{lsn - 100}","{lsn}"]', "ts_ms": 1700000000000}
        message = {"key": {"id": 1}, "value": row | {"source": source | place, "ts_ms": 1}}
        texts = {
            f"{part}_base64": b64encode(json.dumps(message[part], separators=(",", ":")).encode())
            for part in message
        }
        write_keyed(tmp_path / f"{number}.parquet", name, [texts], number)
        lakehouse.ingest(tmp_path)
        lakehouse.dbt("run", "-s", "events", name)
        (seen,) = lakehouse.query(f"select body, _problems from gold.{name} where id = 2")
        found.append((seen["body"], len(seen["_problems"])))
    assert found == [(None, 1), ("late text", 0)]


def test_a_key_of_which_two_source_tables_have_a_row_is_found(lakehouse):
    renamed, gone, moved, beside = (
        f"app.public.{name}"
        for name in (
            "gk05_renamed_without_ddl",
            "gk06_gone_comes_before_the_value",
            "gk02_halves_out_of_order",
            "gk04_other_deletes_beside",
        )
    )
    (row,) = lakehouse.query(shared_keys("things", [["id"]], [renamed, gone, beside]))
    assert (row["keys"], row["first_key"]) == (2, '["1"]')
    assert row["source_tables"] == sorted([renamed, gone, beside])
    # Of the one 3 is there, of the other 1 and 2; both had rows of other keys.
    assert lakehouse.query(shared_keys("things", [["id"]], [moved, beside])) == []


def test_a_format_gives_its_columns_in_any_order(results):
    (row,) = results["house"][0]
    assert (row["before"], row["after"]) == (None, {"word": "hello"})
    assert (row["database_name"], row["table_name"], row["schema_name"]) == ("house", "words", None)


def test_a_format_without_a_column_of_the_contract_is_named_with_it(lakehouse, tmp_path):
    write_house(lakehouse.project, "before")
    write_messages(tmp_path / "1.parquet", [("house", 0, 1, b"world")])
    lakehouse.ingest(tmp_path)
    (said,) = lakehouse.dbt("run", "-s", "events", fails=True)
    assert "`house`.`before`" in said
    write_house(lakehouse.project)
    lakehouse.dbt("run", "-s", "events")
    rows = lakehouse.query(
        "select offset, after from silver.events where topic = 'house' order by offset"
    )
    assert rows == [
        {"offset": 0, "after": {"word": "hello"}},
        {"offset": 1, "after": {"word": "world"}},
    ]


def test_of_equally_literal_globs_silver_takes_the_line_that_the_ingest_takes(results):
    """The first in the alphabet, `*.route`: eight o'clock in Shanghai is midnight in UTC."""
    (row,) = results["globs.route"][0]
    assert row["after"]["seen_at"] == "2026-01-01 00:00:00"


def test_a_run_reads_the_routes_as_the_file_has_them_now(lakehouse, tmp_path):
    """As the ingest does: eight o'clock in Shanghai is midnight in UTC, and no `dbt seed` ran."""
    topics = lakehouse.project / "seeds" / "topics.csv"
    seeded = topics.read_text()
    add_lines(topics, ["later,dts_canal,Asia/Shanghai"])
    write_messages(tmp_path / "3.parquet", [("later", 0, 0, seen_at_eight())])
    lakehouse.ingest(tmp_path)
    lakehouse.dbt("run", "-s", "events")
    topics.write_text(seeded)
    assert lakehouse.query(
        "select kind, after['seen_at'] as seen_at from silver.events where topic = 'later'"
    ) == [{"kind": "row_change", "seen_at": "2026-01-01 00:00:00"}]


CONSERVATION = ("every_message_has_one_result", "accounting_adds_up")


def test_a_run_on_a_part_of_the_sources_reads_nothing(lakehouse, tmp_path):
    """Not the messages that it never processed, nor the rows of gold; what is new stays new."""
    write_messages(tmp_path / "2.parquet", [("house", 0, 2, b"again")])
    lakehouse.ingest(tmp_path)
    model = "j12_update_without_old"
    for flags in (["--empty"], ["--sample", "1 hour"]):
        said = lakehouse.dbt("run", *flags, "-s", "events", "row_images", model)
        assert said == dict.fromkeys(("events", "row_images", model), "NOT WRITTEN")
    assert len(lakehouse.query(f"select 1 from gold.{model}")) == 1
    lakehouse.dbt("run", "-s", "events", model)
    rows = lakehouse.query("select after from silver.events where topic = 'house' and offset = 2")
    assert rows == [{"after": {"word": "again"}}]


@pytest.mark.long
def test_a_message_without_a_result_fails_the_tests_of_conservation(lakehouse):
    lakehouse.dbt("run", "-s", "message_counts", "result_counts", "message_accounting")
    lakehouse.dbt("test", "-s", *CONSERVATION)
    # The last message of one partition, and all that a topic has.
    for lost in ("topic = 'house' and offset = 2", "topic = 'j40_framing'"):
        lakehouse.query(f"delete from silver.events where {lost}")
        errors = lakehouse.dbt("test", "-s", *CONSERVATION, fails=True)
        assert {error.partition(":")[0] for error in errors} == {*CONSERVATION}
    code, said, _ = lakehouse.command("replay", "--topic", "house", "--offsets", "0-2")
    assert (code, "1 messages replayed" in said) == (0, True)
    code, said, _ = lakehouse.command("replay", "--reason", "no_result")
    assert (code, "13 messages replayed" in said) == (0, True)
    lakehouse.dbt("run", "-s", "events")
    lakehouse.dbt("test", "-s", *CONSERVATION)
