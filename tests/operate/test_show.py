"""What `lakehouse show` and `lakehouse query` print."""

import json
import subprocess
import sys

import pytest

from cdc_lakehouse.console import cli
from cdc_lakehouse.console.text_table import text_table

pytestmark = pytest.mark.full

STATEMENTS = """
create schema silver; create schema gold;
create table silver.events using delta tblproperties ('delta.enableDeletionVectors' = 'true')
    as select 'shop.orders' as topic, 0 as partition, 1L as offset, 0 as row_number,
    'row_change' as kind, 'insert' as operation, 'shop' as database_name,
    'orders' as table_name, map('id', '1', 'note', null) as after,
    timestamp'2026-01-02 03:04:05.120' as committed_at;
insert into silver.events select /*+ coalesce(1) */ 'shop.orders', 0, id, 0, 'heartbeat',
    null, null, null, null, null
    from range(2, 5);
delete from silver.events where offset = 3;
create view silver.row_changes as select 1 as a;
create view gold.orders as select 1 as id, 2 as line, 'x' as _topic;
create view gold.tags as select 'red' as name;
create view gold.maps as select map('a', 1) as properties, 2 as id;
create view gold.own as select 'b' as _only;
create view gold.kept as select 1 as id, timestamp'2026-03-04 05:06:07.8' as _committed_at,
    false as _is_deleted union all select 2, timestamp'2026-02-02 00:00:00', true;
create view gold.gold_problems as select 'gold.orders' as table_name;
"""
VALUES = """
select null as n, '' as t, x'00ff' as b, timestamp'2026-01-02 03:04:05.120' as at,
    map('k', null) as m, 'a,"b"' as t, 1.50 as d
"""
# What JSON has of values: two columns of one name, and all digits.
EXACT = """
select 9007199254740993 as n, 1.50 as n, cast(0.1 as float) as f, double('NaN') as nan, true as b,
    x'00FF' as bytes, timestamp'2026-01-02 03:04:05.000012' as at, date'2026-01-02' as day,
    timestamp_ntz'2026-01-02 03:04:05' as local, null as nothing, 'é' as text,
    struct(array(1.10, null) as prices, map('k', x'0A') as bytes, double('Infinity') as inf,
        timestamp'2026-01-02 03:04:05.000012' as at, 0.5d as half) as inside
"""
# One process, for the Hive catalog is chosen once in a JVM; each answer ends with its exit code.
SCRIPT = """
import sys
from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.console import cli
from cdc_lakehouse.runtime.session import open_session
print(cli.main(["show"]), "\\f")
spark = open_session(metastore=True)
bronze.attach_tables(spark)
print(cli.main(["show"]), "\\f")
for statement in sys.argv[1].split(";"):
    if statement.strip():
        spark.sql(statement)
values = sys.argv[2]
for arguments in (["show"], ["show", "gold.orders"], ["query", values], ["query", values, "--csv"],
                  ["query", "select * from range(3)", "--rows", "2"], ["query", "select nothing"],
                  ["query", "select id frm gold.orders"], ["show", "--json"],
                  ["query", sys.argv[3], "--json"],
                  ["query", "select * from range(3)", "--rows", "2", "--json"],
                  ["query", "select nothing", "--json"], ["query", "select 1", "--json", "--csv"],
                  ["query", "create schema other", "--json"]):
    print(cli.main(arguments), "\\f")
    sys.stdout.flush()
    print("\\f", file=sys.stderr)
spark.sql("create table gold.passing using delta as select 1 as id")
spark.sql("create view gold.broken as select * from gold.passing")
spark.sql("drop table gold.passing")
spark.sql("create view gold.fails as select cast(raise_error('no') as boolean) as _is_deleted")
print(cli.main(["show"]), "\\f")
"""


def test_the_commands_print_what_there_is(tmp_path, monkeypatch):
    (tmp_path / "dbt_project.yml").write_text("name: test\n")
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, STATEMENTS, VALUES, EXACT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    outputs = [text.strip().splitlines() for text in done.stdout.split("\f")]
    assert len(outputs) == 17, done.stderr
    none, bronze_only, everything, table, values, csv, first, wrong, misspelt = outputs[:9]
    documents, in_part = outputs[9:15], outputs[15]

    assert (none, bronze_only, wrong, misspelt) == (["2"], ["2"], ["2"], ["2"])
    errors = done.stderr.splitlines()
    assert errors[0].endswith("Run `lakehouse ingest files PATH`, then `dbt build`.")
    assert errors[1].endswith("holds bronze only. Run `dbt build`.")
    assert "lakehouse: only the first 2 rows; --rows gives more." in errors
    error, of_json = [line for line in errors if "UNRESOLVED_COLUMN" in line]
    assert of_json == error
    assert "`nothing`" in error
    # A syntax error is a sentence, and the place in the statement.
    [place] = [number for number, line in enumerate(errors) if "PARSE_SYNTAX_ERROR" in line]
    assert "Syntax error at or near 'gold'" in errors[place]
    assert errors[place + 1 : place + 4] == [
        "== SQL ==",
        "select id frm gold.orders",
        "--------------^^^",
    ]
    assert "Traceback" not in done.stderr
    assert everything == [
        # What a DELETE has marked is no row any more.
        "bronze 0 messages, silver 3 events, gold 5 rows",
        "",
        "topic        messages  rejected  last change (UTC)",
        "shop.orders         3         0  2026-01-02 03:04:05",
        "",
        "gold table   rows  last change (UTC)",
        "gold.kept       1  2026-03-04 05:06:07",
        "gold.maps       1",
        "gold.orders     1",
        "gold.own        1",
        "gold.tags       1",
        "",
        "A table:  lakehouse show gold.kept",
        "A report: lakehouse report --open",
        'SQL:      lakehouse query "select * from silver.message_accounting"',
        "0",
    ]
    # A table that cannot be shown is named, and the exit code says so.
    assert in_part[-1] == "1"
    assert in_part[5:11] == everything[5:11]
    broken, fails = in_part[12:14]
    assert broken.startswith("gold.broken cannot be shown: ") and "gold.passing" in broken.replace(
        "`", ""
    )
    assert fails.startswith("gold.fails cannot be shown: ") and "no" in fails
    codes = [document.pop() for document in documents]
    assert codes == ["0", "0", "0", "2", "2", "0"]
    shown, exact, some, unknown, both, nothing = (json.loads("\n".join(d)) for d in documents)
    assert shown["gold"][0] == {
        "table": "gold.kept",
        "rows": 1,
        "changed_at": "2026-03-04T05:06:07+00:00",
    }
    assert (shown["events"], shown["topics"][0]["messages"], shown["problems"]) == (3, 3, [])
    assert [column["name"] for column in exact["columns"]][:2] == ["n", "n"]
    assert exact["columns"][1]["type"] == "decimal(3,2)"
    at = "2026-01-02T03:04:05.000012+00:00"
    inside = {"prices": ["1.10", None], "bytes": {"k": "0a"}, "inf": "Infinity", "at": at}
    assert exact["rows"] == [
        [
            *(9007199254740993, "1.50", 0.1, "NaN", True, "00ff", at, "2026-01-02"),
            *("2026-01-02T03:04:05", None, "é", inside | {"half": 0.5}),
        ]
    ]
    assert (some["rows"], some["is_complete"]) == ([[0], [1]], False)
    assert "UNRESOLVED_COLUMN" in unknown["error"]
    assert both == {"error": "Give --csv or --json, not both."}
    assert nothing == {"columns": [], "rows": [], "is_complete": True}
    assert table == ["id  line  _topic", "--  ----  ------", " 1     2  x", "0"]
    assert values[2:] == ['NULL     00ff  2026-01-02 03:04:05.12  {"k":null}  a,"b"  1.50', "0"]
    assert csv == [
        "n,t,b,at,m,t,d",
        ',"",00ff,2026-01-02 03:04:05.12,"{""k"":null}","a,""b""",1.50',
        "0",
    ]
    assert first == ["id", "--", " 0", " 1", "0"]


def test_a_wide_table_goes_on_below_and_repeats_its_first_column(monkeypatch):
    monkeypatch.setenv("COLUMNS", "15")
    text = text_table(
        ["id", "long_heading", "text"], [["1", "22", "é\x1b\n"], [None, None, "李" * 5]]
    )

    assert text.splitlines() == [
        "       long_",
        "  id heading",
        "---- -------",
        "   1      22",
        "NULL    NULL",
        "",
        "  id text",
        "---- ----------",
        "   1 é··",
        "NULL 李李李李李",
    ]


def test_a_long_cell_is_cut():
    assert text_table(["t"], [["x" * 30]], limit=5).splitlines() == ["t", "-----", "xxxx…"]


@pytest.mark.parametrize("arguments", [["show"], ["query", "select 1"]])
def test_an_empty_lakehouse_needs_no_spark(tmp_path, monkeypatch, capsys, arguments):
    (tmp_path / "dbt_project.yml").write_text("name: test\n")
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake"))

    assert cli.main([*arguments, "--project-dir", str(tmp_path)]) == 2
    assert "has no tables yet" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()
