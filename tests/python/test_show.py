"""What `lakehouse show` and `lakehouse query` print."""

import subprocess
import sys

import pytest

from cdc_lakehouse.console import cli
from cdc_lakehouse.console.text_table import text_table

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
create view silver.rejected_by_reason as select 'shop.orders' as topic, 'not_json' as reject_reason,
    1 as messages, 0 as first_offset, 0 as last_offset, 'no' as first_detail;
"""
VALUES = """
select null as n, '' as t, x'00ff' as b, timestamp'2026-01-02 03:04:05.120' as at,
    map('k', null) as m, 'a,"b"' as t, 1.50 as d
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
                  ["query", "select id frm gold.orders"]):
    print(cli.main(arguments), "\\f")
    sys.stdout.flush()
    print("\\f", file=sys.stderr)
spark.sql("create view gold.broken as select raise_error('this went wrong') as id")
print(cli.main(["show"]), "\\f")
"""


def test_the_commands_print_what_there_is(tmp_path, monkeypatch):
    (tmp_path / "dbt_project.yml").write_text("name: test\n")
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, STATEMENTS, VALUES],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    outputs = [text.strip().splitlines() for text in done.stdout.split("\f")]
    assert len(outputs) == 11, done.stderr
    none, bronze_only, everything, table, values, csv, first, wrong, misspelt, in_part, _ = outputs

    assert (none, bronze_only, wrong, misspelt) == (["2"], ["2"], ["2"], ["2"])
    errors = done.stderr.splitlines()
    assert errors[0].endswith("Run `lakehouse ingest files PATH`, then `dbt build`.")
    assert errors[1].endswith("holds bronze only. Run `dbt build`.")
    assert "lakehouse: only the first 2 rows; --rows gives more." in errors
    [error] = [line for line in errors if "UNRESOLVED_COLUMN" in line]
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
    assert everything[-1] == "0"
    assert "bronze.messages             0" in everything
    # What a DELETE has marked is no row any more.
    assert "silver.events               3" in everything
    assert "Views: silver.rejected_by_reason, silver.row_changes" in everything
    assert any(
        line.endswith('{"id":"1","note":null}  2026-01-02 03:04:05.12') for line in everything
    )
    assert everything[everything.index("gold.orders, 1 row") + 1 :][:3] == [
        "id  line",
        "--  ----",
        " 1     2",
    ]
    assert everything[everything.index("gold.tags, 1 row") + 1 :][:3] == ["name", "----", "red"]
    assert everything[everything.index("gold.maps, 1 row") + 1 :][2] == '{"a":1}      2'
    assert everything[everything.index("gold.own, 1 row") + 1 :][:3] == ["_only", "-----", "b"]
    by_topic = everything[everything.index("silver.events, by topic") + 1 :][3]
    assert by_topic.split()[:4] == ["shop.orders", "0", "3", "1"]
    # A table that cannot be shown costs its own paragraph, and the exit code says so.
    failed = in_part.index("gold.broken")
    assert in_part[failed + 1].startswith("cannot be shown: ")
    assert "this went wrong" in in_part[failed + 1]
    assert in_part[:failed] + in_part[failed + 3 :] == [*everything[:-1], "1"]
    assert max(map(len, everything)) <= 120
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
