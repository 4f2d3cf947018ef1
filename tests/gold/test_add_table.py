"""What `lakehouse add-table` writes: models that build as they are, for tables of every format."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace

import pytest
import yaml
from conftest import PROJECT
from encoders import ENCODERS
from encoders.base import as_single
from encoders.project import add_routes
from history import EVERYTHING, TWO_KEYS, History
from jinja2 import Template
from shop import as_text, write_messages

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.add_table import Gold
from cdc_lakehouse.gold.model_sql import gold_names, with_problems_of
from cdc_lakehouse.gold.source_tables import SourceTable, find_table, split_names
from cdc_lakehouse.gold.value_types import Fit

WITH_TWO_KEYS = ("dts_avro", "oms_shareplex")
TWINS = ("k11", "k11_upper")
# Of each column of a message without types: its values, and what type fits all of them.
UNTYPED = {
    "id": (["1", "2", "3"], "bigint"),
    "snowflake": (["9223372036854775807", "-9223372036854775808", "0"], "bigint"),
    "beyond": (["18446744073709551615", "1", "0"], "decimal(38, 0)"),
    "digits39": (["9" * 39, "1", "1"], None),
    "price": (["1.50", "-22.00", "0.05"], "decimal(38, 2)"),
    "ratio": (["1.5", "2.25", "3"], "decimal(38, 2)"),
    "version": (["1.1", "1.10", "2"], None),
    "code": (["007", "8", "9"], None),
    "plus": (["+1", "2", "3"], None),
    "zero": (["-0", "1", "2"], None),
    "zeros": (["-0.0", "1.5", "2.5"], None),
    "power": (["1e3", "1", "2"], None),
    "blank": (["", "1", "2"], None),
    "spaced": (["1 ", "1", "2"], None),
    "line": (["1\n", "1", "2"], None),
    "words": (["x", "1", "2"], None),
    "day": (["2024-02-29", "0001-01-01", "9999-12-31"], "date"),
    "zero_day": (["0000-00-00", "2024-01-01", "2024-01-02"], None),
    "moment": (["2024-01-01 10:00:00", "2024-01-01 10:00:00.123456", None], "timestamp_ntz"),
    "nanos": (["2024-01-01 10:00:00.123456789", "2024-01-01 10:00:00", None], None),
    "either": (["2024-01-01", "2024-01-01 10:00:00", None], None),
    "never": ([None, None, None], None),
}
WITHOUT_KEY = tuple(name for name, encoder in ENCODERS.items() if not encoder.names_key)
HOSTILE = [
    "ID",
    "id",
    "_id",
    "Order Date",
    "o'clock",
    'a "quote"',
    "back\\slash",
    "tick`",
    "new\nline",
    "nul\x00",
    "{{ 1 / 0 }}",
    "{% raw %}",
    "{# gone #}",
    "{{{",
    "${env:HOME}",
    "größe",
    "订单",
    "\u2028",
    "1st",
    "#",
    "null",
    *("row", "changed", "latest", "stored", "value", "problem", "name", "image", "sequence"),
    *("order", "topic", "table_name", "database_name", "_sequence", "select", "valid_from"),
]
HOSTILE_DATABASE, HOSTILE_TABLE = "o'db.{% x %}", "odd `na\\me' {{ 1 / 0 }} ${env:HOME}"


def canal(database, table, types, row, number, **parts):
    message = {"data": [row], "database": database, "es": 1_700_000_000_000, "id": number}
    message |= {"isDdl": False, "mysqlType": types, "old": None, "pkNames": list(row)[:1]}
    message |= {"sql": "", "table": table, "ts": 1_700_000_000_001, "type": "INSERT", **parts}
    return json.dumps(message).encode()


def shareplex(op, number, data, key=None, table="APP.KEYWORDS"):
    meta = {"op": op, "table": table, "scn": str(number), "seq": 1}
    meta["time"] = "2024-01-01T00:00:00"
    return json.dumps({"meta": meta, "data": data, **({"key": key} if key else {})}).encode()


def dataworks(schema, number, table="t", name="id", key=("id",)):
    source = {"dbType": "PostgreSQL", "dbName": "pg", "schemaName": schema, "tableName": table}
    columns = [{"name": name, "type": "LONG"}, {"name": "n", "type": "DOUBLE"}]
    payload = {"before": None, "after": {"dataColumn": {name: number, "n": "1.50"}}, "op": "INSERT"}
    payload |= {"sequenceId": str(number), "timestamp": {"eventTime": 1_700_000_000_000}}
    head = {"dataColumn": columns, "primaryKey": key, "source": source}
    return json.dumps({"schema": head, "payload": payload, "version": "0.0.1"}).encode()


def untyped_rows():
    for number in range(3):
        yield {name: values[number] for name, (values, _) in UNTYPED.items()}


def of_dts(number, source, name, columns):
    """A row of DTS Avro: its table in two parts, each column as (number of its type, value)."""
    encoder = ENCODERS["dts_avro"]
    event = SimpleNamespace(kind="insert", table=None, rows=(), sql=None, seconds=1_700_000_000)
    event.offset, event.file, event.first_id = number, 1, number
    fields = [{"name": name, "dataTypeNumber": code} for name, (code, _, _) in columns.items()]
    values = [(f"{encoder.namespace}.{kind}", value) for _, kind, value in columns.values()]
    return encoder.message(
        event,
        source={"sourceType": source, "version": "1"},
        objectName=name,
        tags={"pk_uk_info": json.dumps({"PRIMARY": list(columns)[:1]})},
        fields=fields,
        afterImages=values,
    )


def words_of(text):
    return {"charset": "utf8mb4", "value": text.encode()}


CLOCK = dict(year=2023, month=10, day=11, hour=8, minute=33, second=28, millis=0)
# The numbers of their types are MySQL's TINYINT, SMALLINT, DATETIME and MEDIUMINT, too.
OF_ORACLE = {
    "ID": (2, "Decimal", {"value": "9007199254740993", "precision": 38, "scale": 0}),
    "NAME": (1, "Character", words_of("Zoë")),
    "HIRED": (12, "DateTime", CLOCK),
    "PHOTO": (23, "BinaryObject", {"type": "RAW", "value": b"\x00\xff"}),
}
# ... and PostgreSQL's int2, int4, bool and text; MySQL has no 23 and 25, its 16 is BIT.
OF_POSTGRESQL = {
    "id": (23, "Integer", {"precision": 4, "value": "7"}),
    "ok": (16, "TextObject", {"type": "BOOL", "value": "t"}),
    "note": (25, "Character", words_of("x")),
}


def messages_of(encoder, history):
    """The topics and messages of the history in a format, its tables named for the format."""
    for event in history.events:
        if event.table is TWO_KEYS and encoder.format not in WITH_TWO_KEYS:
            continue
        if event.table is not None:
            name = f"{event.table.name}_{encoder.format}"
            sql = event.sql and event.sql.replace(event.table.name, name)
            event = replace(event, table=replace(event.table, name=name), sql=sql)
        for value, _ in encoder.encode(event):
            yield encoder.topic("lab", event.table and event.table.name), value


def laboratory(project):
    others = {"odd": "dts_canal", "plex": "dts_shareplex", "pg": "dataworks_kafka"}
    others |= {"sources": "dts_avro", "oms_plex": "oms_shareplex"}
    add_routes(project, "lab", list(ENCODERS), others)


class World:
    def __init__(self, lakehouse, landing):
        self.lakehouse, self.project = lakehouse, lakehouse.project
        self.history = History(7, 70)
        rows = [
            (topic, 0, offset, value)
            for encoder in ENCODERS.values()
            for offset, (topic, value) in enumerate(messages_of(encoder, self.history))
        ]
        types = {**dict.fromkeys(HOSTILE, "varchar(20)"), "{% raw %}": "int"}
        hostile = {**{name: f"v{n}" for n, name in enumerate(HOSTILE)}, "{% raw %}": "12x"}
        shop = {"id": "1", "total": "1.50"}, {"id": "bigint", "total": "decimal(10,2)"}
        odd = [
            canal(HOSTILE_DATABASE, HOSTILE_TABLE, types, hostile, 1),
            canal("shop", "events", shop[1], shop[0], 2),
            canal("shop", "orders", shop[1], shop[0], 3),
            *(
                canal("shop", "untyped", None, row, number, pkNames=["id"])
                for number, row in enumerate(untyped_rows(), 10)
            ),
            canal("shop", "k11", shop[1], shop[0], 5),
            canal("shop", "K11", shop[1], {**shop[0], "total": "2.50"}, 6),
            canal("crm", "orders", {**shop[1], "id": "int"}, {**shop[0], "note": "x"}, 4),
        ]
        rows += [("odd", 0, offset, value) for offset, value in enumerate(odd)]
        words = dict.fromkeys(HOSTILE, "a")
        plex = [
            shareplex("ins", 1, {**words, "ID": "1"}),
            shareplex("upd", 2, {"row": "b", "{{{": "b"}, {"ID": "1"}),
        ]
        rows += [("plex", 0, offset, value) for offset, value in enumerate(plex)]
        # The row after the update is completed from `key`, the row before.
        letters = {"b": "1", "a": "2", "d": "3", "c": "4"}
        oms_plex = [
            shareplex("ins", 170000000000001, letters, table="lab.letters"),
            shareplex("upd", 170000000000002, {"b": "9"}, letters, table="lab.letters"),
        ]
        rows += [("oms_plex", 0, offset, value) for offset, value in enumerate(oms_plex)]
        pg = [dataworks("public", 1), dataworks("audit", 2)]
        pg.append(dataworks(None, 3, "keyless", "#alibaba_rds_row_id#", None))
        rows += [("pg", 0, offset, value) for offset, value in enumerate(pg)]
        sources = [
            of_dts(1, "Oracle", "SCOTT.EMP", OF_ORACLE),
            of_dts(2, "PostgreSQL", "crm_pg.accounts", OF_POSTGRESQL),
        ]
        rows += [("sources", 0, offset, value) for offset, value in enumerate(sources)]
        write_messages(landing / "0.parquet", rows)
        lakehouse.ingest(landing)
        lakehouse.dbt("seed")
        lakehouse.dbt("run", "-s", "path:models/silver")
        self.tables = lakehouse.seen_tables()
        self.inferred = Gold(self.project).add(self.table("shop.untyped"), infer=True)
        self.lines, self.failures = Gold(self.project).add_all(self.tables)
        gold = Gold(self.project)
        self.keyed = [
            gold.add(self.table(f"lab.everything_{name}"), key=["id"]) for name in WITHOUT_KEY
        ]
        gold.add(self.table("lab.two_keys_oms_shareplex"), key=["region", "number"], name="places")
        gold.add(self.table("APP.APP.KEYWORDS"), key=["ID"])
        lakehouse.dbt("run", "--select", "path:models/gold")
        known, found = (
            {path.stem for path in (folder / "models" / "gold").glob("*/*.sql")}
            for folder in (PROJECT, self.project)
        )
        self.said = lakehouse.dbt("test", "--select", *sorted(found - known))

    def table(self, named):
        return find_table(self.tables, named)

    def text(self, name):
        return (self.project / "models" / "gold" / name).read_text()


@pytest.fixture(scope="module")
def world(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("add-table", change=laboratory)
    return World(lakehouse, tmp_path_factory.mktemp("add-table-landing"))


FLOATS = ("float", "double")


def same(column, value, text):
    """Tell whether a cell of gold says what the source has, in the canonical text of silver."""
    if value is None:
        return text is None or (column.kind in ("date", "datetime") and "-00" in text)
    if column.kind in FLOATS and not isinstance(value, str):
        return value == float(text) or as_single(value) == as_single(float(text))
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return Decimal(value) == Decimal(text)
    if isinstance(value, str) and column.kind in FLOATS:
        return float(value) == float(text)
    found = as_text(value)
    return found == text or f"{found} 00:00:00" == text


@pytest.mark.long
@pytest.mark.parametrize("name", ENCODERS)
def test_a_table_of_each_format_builds_unedited_and_holds_the_source_s_rows(world, name):
    encoder, table = ENCODERS[name], EVERYTHING
    found = {
        row["id"]: row for row in world.lakehouse.query(f"select * from gold.everything_{name}")
    }
    active = encoder.rows_of(world.history, table)
    assert {int(key) for key in found} == {key for (key,) in active}
    by_key = {int(key): row for key, row in found.items()}
    for (key,), row in active.items():
        for column in table.columns:
            value = by_key[key][column.name]
            text = encoder.text_or_null(column, row[column.name])
            assert same(column, value, text), (column, value, text)
        codes = {problem["code"] for problem in by_key[key]["_problems"]}
        assert codes <= {"zero_date"}
    assert world.said[f"values_fit_their_types_everything_{name}_"] is not None


@pytest.mark.long
def test_types_of_dts_avro_are_those_of_the_database_that_it_names(world):
    [row] = world.lakehouse.query("select id, name, hired, photo, _problems from gold.emp")
    assert row == {
        "id": "9007199254740993",
        "name": "Zoë",
        "hired": datetime(2023, 10, 11, 8, 33, 28),
        "photo": b"\x00\xff",
        "_problems": [],
    }
    [row] = world.lakehouse.query("select id, ok, note, _problems from gold.accounts")
    assert row == {"id": 7, "ok": True, "note": "x", "_problems": []}
    found = world.lakehouse.query(
        "select distinct source_type, table_name from silver.row_changes"
        " where database_name in ('SCOTT', 'crm_pg')"
    )
    assert {tuple(row.values()) for row in found} == {
        ("oracle", "EMP"),
        ("postgresql", "accounts"),
    }


@pytest.mark.long
@pytest.mark.parametrize("name", ENCODERS)
def test_columns_come_in_the_order_of_the_source(world, name):
    encoder, names = ENCODERS[name], [column.name for column in EVERYTHING.columns]
    columns = world.table(f"lab.everything_{name}").columns
    assert columns == (*encoder.adds_first, *names, *encoder.adds)
    assert world.table("lab.letters").columns == ("b", "a", "d", "c")


@pytest.mark.long
def test_types_are_inferred_that_lose_nothing_of_the_values_that_silver_holds(world):
    fits = world.table("shop.untyped").fits
    assert {name: fits[name].data_type for name in fits} == {
        name: data_type for name, (_, data_type) in UNTYPED.items() if data_type
    }
    assert fits["moment"].texts == 2  # a null is no value
    rows = world.lakehouse.query(
        "select id, snowflake, beyond, price, ratio, code, day, cast(moment as string) as moment,"
        " _problems from gold.untyped order by id"
    )
    assert list(rows[0].values()) == [
        1,
        9223372036854775807,
        Decimal("18446744073709551615"),
        Decimal("1.50"),
        Decimal("1.50"),
        "007",
        date(2024, 2, 29),
        "2024-01-01 10:00:00",
        [],
    ]
    assert all(row["_problems"] == [] for row in rows)


@pytest.mark.long
def test_twins_are_found_in_silver(world):
    assert {str(t) for t in world.tables if t.has_twin} == {"shop.k11", "shop.K11"}
    found = {name: world.lakehouse.query(f"select * from gold.{name}") for name in TWINS}
    assert {name: (len(rows), rows[0]["total"]) for name, rows in found.items()} == {
        "k11": (1, Decimal("1.50")),
        "k11_upper": (1, Decimal("2.50")),
    }


@pytest.mark.long
def test_a_key_of_two_columns(world):
    for model in ("two_keys_dts_avro", "places"):
        rows = world.lakehouse.query(f"select region, number, name from gold.{model}")
        assert {(row["region"], int(row["number"]), row["name"]) for row in rows} == {
            (*key, row["name"]) for key, row in world.history.rows[TWO_KEYS.name].items()
        }


@pytest.mark.long
def test_the_files_read_as_if_written_by_hand(world):
    sql = world.text("lab/everything_oceanbase_canal.sql")
    assert (
        sql
        == """select
    {{ change_columns() }},
    try_cast(image['id'] as bigint) as id,
    try_cast(image['a_tinyint'] as int) as a_tinyint,
    try_cast(image['a_smallint'] as int) as a_smallint,
    try_cast(image['a_mediumint'] as int) as a_mediumint,
    try_cast(image['an_int'] as int) as an_int,
    try_cast(image['a_bigint'] as bigint) as a_bigint,
    try_cast(image['an_unsigned'] as decimal(20, 0)) as an_unsigned,
    image['a_decimal'] as a_decimal,
    try_cast(image['a_price'] as decimal(12, 2)) as a_price,
    try_cast(image['a_float'] as float) as a_float,
    try_cast(image['a_double'] as double) as a_double,
    try_cast(image['a_bit'] as bigint) as a_bit,
    image['a_char'] as a_char,
    image['a_varchar'] as a_varchar,
    image['a_text'] as a_text,
    image['an_enum'] as an_enum,
    image['a_set'] as a_set,
    image['a_json'] as a_json,
    try_cast(image['a_date'] as date) as a_date,
    image['a_time'] as a_time,
    try_cast(image['a_datetime'] as timestamp_ntz) as a_datetime,
    try_cast(image['a_timestamp'] as timestamp) as a_timestamp,
    try_cast(image['a_year'] as int) as a_year,
    unhex(image['a_varbinary']) as a_varbinary,
    unhex(image['a_blob']) as a_blob
from {{ row_images('lab.everything_oceanbase_canal') }}
"""
    )
    heading, models = world.text("crm/_crm.yml").split("models:\n")
    # The same block as at the top of the files that were written by hand.
    assert (PROJECT / "models/gold/crm/_crm.yml").read_text().startswith(heading)
    assert models.startswith("""  - name: orders
    description: Rows of crm.orders as they are now. One row per id.
    constraints: [{type: primary_key, columns: [id]}]
    data_tests: [changes_have_a_key, dropped_tables_have_no_rows, \
source_columns_are_read, values_fit_their_types]
    columns:
      - {name: id, data_type: bigint, description: "Column `id`, int in the source."}
      - {name: total, data_type: "decimal(10, 2)", description: "Column `total`, decimal(10,2) in \
the source."}
      - {name: note, data_type: string, description: "Column `note`, of no type in the messages."}
      - *sequence
""")


@pytest.mark.long
def test_names_that_are_taken_get_the_database(world):
    gold = Gold(world.project)
    found = {
        named: gold.reader_of(world.table(named)).relative_to(gold.folder).as_posix()
        for named in ("crm.orders", "shop.orders", "shop.events", "pg.audit.t", "pg.public.t")
    }
    assert found == {
        "crm.orders": "crm/orders.sql",
        "shop.orders": "shop/shop__orders.sql",
        "shop.events": "shop/shop__events.sql",
        "pg.audit.t": "pg/t.sql",
        "pg.public.t": "pg/pg__public__t.sql",
    }
    assert "from {{ row_images('pg.audit.t') }}\n" in world.text("pg/t.sql")
    assert [row["id"] for row in world.lakehouse.query("select id from gold.t")] == [2]
    assert [row["id"] for row in world.lakehouse.query("select id from gold.pg__public__t")] == [1]


@pytest.mark.long
def test_a_table_without_a_key_has_the_row_id_that_its_format_sends(world):
    [row] = world.lakehouse.query("select alibaba_rds_row_id_, n from gold.keyless")
    assert row == {"alibaba_rds_row_id_": 3, "n": "1.50"}


@pytest.mark.long
def test_all_goes_on_where_a_table_cannot_be_added(world):
    # Tables whose key a person has to name come last, and are no failure.
    assert world.failures == 0
    refused = [line for line in world.lines if ": not added." in line]
    assert refused == world.lines[-len(refused) :]
    assert refused[0].startswith(
        "APP.APP.KEYWORDS: not added. No message of APP.APP.KEYWORDS names its key. Name it, "
        "--key A,B, out of the columns ID, id, _id, Order Date,"
    )
    assert refused[0].endswith(" Type: lakehouse add-table APP.APP.KEYWORDS --key A,B")
    assert "crm.orders: models/gold/crm/orders.sql and _crm.yml, 3 columns, key id" in world.lines
    lines, failures = Gold(world.project).add_all(world.tables)
    assert failures == 0
    assert "shop.orders: models/gold/shop/shop__orders.sql is there already" in lines


@pytest.mark.long
def test_hostile_names_neither_break_nor_inject(world):
    table = next(t for t in world.tables if t.name == HOSTILE_TABLE)
    assert world.table(str(table)) is table
    names = gold_names(table.columns)
    [row] = world.lakehouse.query("select * from gold.odd_na_me_1_0_env_home")
    assert {source: row[name] for source, name in names.items()} == {
        name: None if name == "{% raw %}" else f"v{n}" for n, name in enumerate(HOSTILE)
    }
    assert [tuple(p.asDict().values()) for p in row["_problems"]] == [("raw___", "invalid", "12x")]
    assert row["_source_table"] == f"{HOSTILE_DATABASE}.{HOSTILE_TABLE}"
    [row] = world.lakehouse.query("select * from gold.keywords")
    assert {source: row[name] for source, name in names.items()} == {
        **dict.fromkeys(HOSTILE, "a"),
        **{"ID": "1", "row": "b", "{{{": "b"},
    }


REFUNDS = SourceTable(
    "shop",
    None,
    "refunds",
    ("id", "Valid_From"),
    {"id": ("bigint", "bigint"), "Valid_From": ("date", "date")},
    ("id",),
)
# The project's own file, whatever it looks like, with the models that this project has.
PROBLEMS = (PROJECT / "models/gold/gold_problems.sql").read_text()


@pytest.fixture
def project(tmp_path):
    (tmp_path / "models" / "gold" / "shop").mkdir(parents=True)
    (tmp_path / "models" / "gold" / "gold_problems.sql").write_text(PROBLEMS)
    return tmp_path


def files(project):
    found = sorted((project / "models" / "gold").rglob("*.*"))
    return {str(path.relative_to(project / "models" / "gold")): path.read_text() for path in found}


def test_the_history_is_a_second_model(project):
    said = Gold(project).add(REFUNDS, history=True)
    assert said == (
        "shop.refunds: models/gold/shop/refunds.sql and _shop.yml, 2 columns, key id\n"
        "shop.refunds: models/gold/shop/refunds_history.sql and _shop.yml, 2 columns, key id"
    )
    found = files(project)
    assert (
        found["shop/refunds.sql"]
        == """select
    {{ change_columns() }},
    try_cast(image['id'] as bigint) as id,
    try_cast(image['Valid_From'] as date) as valid_from
from {{ row_images('shop.refunds') }}
"""
    )
    # A history has a valid_from of its own.
    assert (
        found["shop/refunds_history.sql"]
        == """{{ config(materialized='history') }}

select
    {{ change_columns() }},
    try_cast(image['id'] as bigint) as id,
    try_cast(image['Valid_From'] as date) as valid_from_2
from {{ row_images('shop.refunds') }}
"""
    )
    current, history = yaml.safe_load(found["shop/_shop.yml"])["models"]
    assert [column["name"] for column in current["columns"][:3]] == [
        "id",
        "valid_from",
        "_sequence",
    ]
    assert current["columns"][1]["meta"] == {"source": "Valid_From"}
    assert history["name"] == "refunds_history"
    assert history["description"] == (
        "Versions of the rows of shop.refunds. One row per id and version."
    )
    assert history["constraints"] == [{"type": "primary_key", "columns": ["id"]}]
    assert listed(found["gold_problems.sql"]) == [*listed(PROBLEMS), "refunds"]


def test_the_history_can_be_added_later(project):
    Gold(project).add(REFUNDS, name="returns")
    assert Gold(project).add(REFUNDS, history=True) == (
        "shop.refunds: models/gold/shop/returns_history.sql and _shop.yml, 2 columns, key id"
    )
    with pytest.raises(
        LakehouseError, match=r"returns\.sql and models/gold/shop/returns_history\."
    ):
        Gold(project).add(REFUNDS, history=True)


def listed(sql):
    """The models that Jinja gives `problems_of` in the text of gold_problems.sql."""
    found = []
    context = {"config": lambda **_: "", "ref": lambda name: name, "problems_of": found.extend}
    Template(sql).render(context)
    return found


@pytest.mark.parametrize("name", ["a", "d", "order", "z"])
def test_its_problems_are_listed_in_order(project, name):
    Gold(project).add(REFUNDS, name=name)
    text = files(project)["gold_problems.sql"]
    assert listed(text) == sorted([*listed(PROBLEMS), name])
    # One line more, which looks like its neighbours.
    [line] = set(text.splitlines()) - set(PROBLEMS.splitlines())
    assert line.replace(name, "orders") in PROBLEMS.splitlines()
    assert len(text.splitlines()) == len(PROBLEMS.splitlines()) + 1


@pytest.mark.parametrize(
    "written, expected",
    [
        ("{{ problems_of([ref('a'), ref('c')]) }}", ["a", "b", "c"]),
        ('{{ problems_of( [ref("a"),ref("c")] ) }}', ["a", "b", "c"]),
        ("{{ problems_of([\n\tref('c')\n]) }}", ["b", "c"]),
        ("{{ problems_of([ref( 'a' )]) }}", ["a", "b"]),
        ("{{ problems_of([]) }}", ["b"]),
        ("{{ problems_of([\n  ref('c'),\n  ref('a'),\n]) }}", ["c", "a", "b"]),
        ("{{ problems_of([ref('b')]) }}", ["b"]),
    ],
)
def test_a_list_of_problems_may_be_written_in_any_way(written, expected):
    assert listed(with_problems_of(written, "b")) == expected


def test_a_file_without_a_list_of_problems_is_named(project):
    (project / "models" / "gold" / "gold_problems.sql").write_text("select 1 as nothing\n")
    assert Gold(project).add(REFUNDS) == (
        "shop.refunds: models/gold/shop/refunds.sql and _shop.yml, 2 columns, key id. "
        "models/gold/gold_problems.sql has no list `problems_of([ref('...'), ...])`: add "
        "ref('refunds') where it names the tables"
    )


def test_the_yaml_that_is_there_stays_as_it_is(project):
    written = (PROJECT / "models/gold/crm/_crm.yml").read_text().rstrip()
    (project / "models/gold/shop/_shop.yml").write_text(written)
    Gold(project).add(REFUNDS)
    text = files(project)["shop/_shop.yml"]
    assert text.startswith(f"{written}\n  - name: refunds\n")
    assert [m["name"] for m in yaml.safe_load(text)["models"]] == ["customers", "refunds"]


@pytest.mark.parametrize(
    "written", ["models:\n  - name: a\n", "models: []\n", "models:\n- {name: a}\nunit_tests: []\n"]
)
def test_yaml_that_nothing_can_be_appended_to_gets_a_file_beside_it(project, written):
    (project / "models/gold/shop/_shop.yml").write_text(written)
    said = Gold(project).add(REFUNDS)
    assert said.startswith("shop.refunds: models/gold/shop/refunds.sql and _refunds.yml,")
    found = files(project)
    assert found["shop/_shop.yml"] == written
    assert yaml.safe_load(found["shop/_refunds.yml"])["models"][0]["name"] == "refunds"


def test_a_model_that_lists_several_tables_reads_each(project):
    (project / "models/gold/shop/all_refunds.sql").write_text(
        "from {{ ref('row_images') }}\n"
        "where database_name = 'shop' and table_name in ('returns', 'refunds')\n"
    )
    with pytest.raises(LakehouseError) as refused:
        Gold(project).add(REFUNDS)
    assert str(refused.value) == (
        "shop.refunds is there already: models/gold/shop/all_refunds.sql. Edit that, or delete it "
        "with its entry in the YAML beside it."
    )


@pytest.mark.parametrize(
    "read",
    [
        "{{ ref('row_images') }} where source_table = 'shop.refunds'",
        "{{ ref('row_images') }} where table_name like 'refund%' and database_name = 'shop'",
        "{{ row_images('crm.notes', 'shop.ref*') }}",
        "{{ row_images('shop.refunds') }} where image['id'] > {{ var('first') }}",
    ],
)
def test_a_model_reads_what_a_run_of_it_reads(project, read):
    model = f"select {{{{ change_columns() }}}}, {{{{ my_macro('a') }}}} as a from {read}"
    (project / "models/gold/shop/all_refunds.sql").write_text(model)
    with pytest.raises(LakehouseError, match=r"shop\.refunds is there already: .*all_refunds\.sql"):
        Gold(project).add(REFUNDS)


@pytest.mark.parametrize(
    "read",
    [
        "{{ ref('row_images') }} where table_name = 'x' -- table_name = 'refunds' of shop",
        "{{ row_images('shop.refund') }}",
        "{{ row_images('shop.public.refunds') }}",
        "{{ row_images('`shop`.`ref*`') }}",
    ],
)
def test_a_model_that_names_a_table_in_passing_does_not_read_it(project, read):
    model = f"select {{{{ change_columns() }}}} from {read}"
    (project / "models/gold/shop/others.sql").write_text(model)
    assert Gold(project).add(REFUNDS).startswith("shop.refunds: models/gold/shop/refunds.sql")


def test_a_list_says_how_to_read_it(project):
    types = {**REFUNDS.types, "tags": ("array<int32>", "string")}
    Gold(project).add(replace(REFUNDS, columns=(*REFUNDS.columns, "tags"), types=types))
    sql = (project / "models/gold/shop/refunds.sql").read_text()
    assert "image['tags'] as tags  -- a list: from_json(image['tags'], 'array<int>')\n" in sql
    [model] = yaml.safe_load((project / "models/gold/shop/_shop.yml").read_text())["models"]
    described = {column["name"]: column["description"] for column in model["columns"]}
    assert described["tags"] == (
        "Column `tags`, array of int32 in the source; a list as JSON: from_json(the column, "
        "'array<int>') reads it."
    )


def test_all_fails_where_a_table_cannot_be_added_for_another_reason_than_its_key(project):
    long = replace(REFUNDS, name="x" * 256)
    keyless = replace(REFUNDS, name="it's", key=None)
    lines, failures = Gold(project).add_all([keyless, long, REFUNDS])
    assert failures == 1
    assert lines[0].startswith(f"shop.{'x' * 256}: not added. {'x' * 40}... is a name of 256")
    assert lines[1].startswith("shop.refunds: models/gold/shop/refunds.sql")
    assert lines[2].startswith("shop.it's: not added. No message of shop.it's names its key.")
    assert lines[2].endswith(""" Type: lakehouse add-table 'shop.it'"'"'s' --key A,B""")


def test_tables_that_differ_in_case_have_names_that_tell_them_apart(tmp_path):
    twins = [replace(REFUNDS, name=name, has_twin=True) for name in ("K11", "k11", "Kk", "KK")]
    for order in (twins, twins[::-1]):
        project = tmp_path / order[0].name
        (project / "models" / "gold").mkdir(parents=True)
        gold = Gold(project)
        assert gold.add_all(order)[1] == 0
        found = {table.name: gold.reader_of(table).stem for table in twins}
        assert found == {"K11": "k11_upper", "k11": "k11", "Kk": "kk_mixed", "KK": "kk_upper"}
    # A name in upper case is nothing special where it is the only one.
    gold.add(replace(REFUNDS, name="EMP"))
    assert (project / "models/gold/shop/emp.sql").exists()


NOTES = SourceTable(
    "crm",
    None,
    "notes",
    ("id", "text", "price"),
    {},
    ("id",),
    fits={"id": Fit("bigint", 1204), "price": Fit("decimal(38, 2)", 1)},
)


def test_a_table_without_types_says_so_and_proposes_those_that_its_values_fit(project):
    assert Gold(project).add(NOTES) == (
        "crm.notes: models/gold/crm/notes.sql and _crm.yml, 3 columns, key id. The messages name "
        "no type of 3 columns: text. All values seen would fit id (bigint), price (decimal(38, 2))"
        ": --infer takes these types"
    )
    found = files(project)
    assert (
        found["crm/notes.sql"]
        == """select
    {{ change_columns() }},
    image['id'] as id,  -- bigint fits all 1,204 values seen
    image['text'] as text,
    image['price'] as price  -- decimal(38, 2) fits the one value seen
from {{ row_images('crm.notes') }}
"""
    )
    [model] = yaml.safe_load(found["crm/_crm.yml"])["models"]
    assert [c["data_type"] for c in model["columns"][:3]] == ["string"] * 3


def test_infer_takes_the_types_that_the_values_fit(project):
    assert Gold(project).add(NOTES, infer=True) == (
        "crm.notes: models/gold/crm/notes.sql and _crm.yml, 3 columns, key id. The messages name "
        "no type of 3 columns; inferred from all values seen: id (bigint), price (decimal(38, 2))"
    )
    found = files(project)
    assert (
        found["crm/notes.sql"]
        == """select
    {{ change_columns() }},
    try_cast(image['id'] as bigint) as id,  -- inferred from all 1,204 values seen; a text that it \
alters is in _problems
    image['text'] as text,
    try_cast(image['price'] as decimal(38, 2)) as price  -- inferred from the one value seen; \
a text that it alters is in _problems
from {{ row_images('crm.notes') }}
"""
    )
    [model] = yaml.safe_load(found["crm/_crm.yml"])["models"]
    found = [(c["data_type"], c["description"], c.get("meta")) for c in model["columns"][:3]]
    assert found == [
        (
            "bigint",
            "Column `id`, of no type in the messages; this one is inferred from all 1,204 values "
            "seen.",
            {"inferred": True},
        ),
        ("string", "Column `text`, of no type in the messages.", None),
        (
            "decimal(38, 2)",
            "Column `price`, of no type in the messages; this one is inferred from the one value "
            "seen.",
            {"inferred": True},
        ),
    ]


def test_a_table_without_types_says_so_where_its_values_fit_none(project):
    said = Gold(project).add(replace(NOTES, fits={}), infer=True)
    assert said.endswith(", 3 columns, key id. The messages name no type of 3 columns: text")


@pytest.mark.parametrize(
    "written",
    ["models:\n- name: refunds\n", "models:\n    -   {name: 'refunds'}\n"],
)
def test_a_name_that_yaml_describes_is_taken_however_it_is_laid_out(project, written):
    (project / "models/gold/shop/_other.yml").write_text(written)
    Gold(project).add(REFUNDS)
    assert "shop/shop__refunds.sql" in files(project)


@pytest.mark.parametrize(
    "table, options, says",
    [
        (
            replace(REFUNDS, key=None),
            {},
            "names its key. Name it, --key A,B, out of the columns id",
        ),
        (
            REFUNDS,
            {"key": ["ID"]},
            "The key column ID is not among the columns of shop.refunds: id",
        ),
        (replace(REFUNDS, key=("x",)), {}, "The key column x is not among the columns of"),
        (REFUNDS, {"name": "Refunds"}, "'Refunds' is no name for a model. Use lower-case letters"),
        (REFUNDS, {"name": "../x"}, "is no name for a model"),
        (REFUNDS, {"name": "gold_problems"}, "taken, it is that of models/gold/gold_problems.sql"),
    ],
)
def test_what_cannot_be_added_is_refused_and_nothing_written(project, table, options, says):
    before = files(project)
    with pytest.raises(LakehouseError) as refused:
        Gold(project).add(table, **options)
    assert says in str(refused.value)
    assert files(project) == before


def test_a_table_is_found_by_its_name():
    dotted = replace(REFUNDS, database="a.b", name="c`d")
    tables = [
        REFUNDS,
        dotted,
        replace(REFUNDS, schema="x"),
        *(replace(REFUNDS, database="ora", schema=schema) for schema in ("one", "two")),
    ]
    assert str(dotted) == "`a.b`.`c``d`"
    assert find_table(tables, "`a.b`.`c``d`") is dotted
    assert find_table(tables, "shop.refunds") is REFUNDS
    assert find_table(tables, "shop.x.refunds") is tables[2]
    assert find_table(tables, "ora.two.refunds") is tables[4]
    for named, says in {
        "ora.refunds": "in several schemas. Name one of them: ora.one.refunds, ora.two.refunds.",
        "shop.refund": "row changes of shop.refund. It has those of shop.refunds, shop.x.refunds",
        "a..b": "'a..b' are no names",
        "`a.b": "are no names",
        "": "are no names",
    }.items():
        with pytest.raises(LakehouseError) as refused:
            find_table(tables, named)
        assert says in str(refused.value)
    assert split_names("a,`b,c`,d", ",") == ["a", "b,c", "d"]


CLI = """
import sys
from cdc_lakehouse.console import cli
for line in sys.argv[1:]:
    print(cli.main(["add-table", *line.split()]), "\\f")
    print("\\f", file=sys.stderr)
"""


@pytest.mark.long
def test_the_command(world):
    """The last test: it needs the lakehouse for itself."""
    world.lakehouse.stop()
    for name in ("shop/shop__orders.sql", "app/keywords.sql"):
        (world.project / "models" / "gold" / name).unlink()
    commands = [
        "shop.orders --as shop_orders --history",
        "shop.orders",
        "shop.ordres",
        "pg.t",
        "--all",
        "--all --key id",
        "",
    ]
    done = subprocess.run(
        [sys.executable, "-c", CLI, *commands],
        cwd=world.project,
        env={**os.environ, "LAKEHOUSE_DIR": str(world.lakehouse.home)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [text.strip().splitlines() for text in done.stdout.split("\f")[:-1]]
    assert [lines[-1] for lines in said] == ["0", "2", "2", "2", "0", "2", "2"], done.stderr
    assert said[0][:-1] == [
        "shop.orders: models/gold/shop/shop_orders.sql and _shop.yml, 2 columns, key id",
        "shop.orders: models/gold/shop/shop_orders_history.sql and _shop.yml, 2 columns, key id",
        "Fill in what the descriptions do not say, then run `dbt build`.",
    ]
    assert "crm.orders: models/gold/crm/orders.sql is there already" in said[4]
    errors = [text.strip() for text in done.stderr.split("\f")[:-1]]
    for error, says in zip(
        errors,
        [
            "",
            "shop.orders is there already: models/gold/shop/shop_orders.sql and models/gold/shop/",
            "silver has no row changes of shop.ordres. It has those of shop.orders, ",
            "pg.t is in several schemas. Name one of them: pg.audit.t, pg.public.t.",
            "",
            "--key and --as are of one table: name it instead of --all.",
            "Name one table, `lakehouse add-table DB.TABLE`, or give --all.",
        ],
        strict=True,
    ):
        assert error.startswith(f"lakehouse: {says}") if says else not error
