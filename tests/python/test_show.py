"""What `lakehouse show` and `lakehouse query` print."""

import subprocess
import sys

import pytest

from cdc_lakehouse import cli
from cdc_lakehouse.report import text_table

STATEMENTS = """
create schema silver; create schema gold;
create table silver.events using delta as select 1 as a;
create view silver.row_changes as select 'shop.orders' as topic, 1L as offset, 0 as row_number,
    'insert' as operation, 'shop' as database_name, 'orders' as table_name,
    map('id', '1', 'note', null) as after, timestamp'2026-01-02 03:04:05.120' as committed_at;
create view gold.orders as select 1 as id, 2 as line, 'x' as _topic;
create view gold.tags as select 'red' as name;
create view silver.message_accounting as select 'shop.orders' as topic, 0 as partition,
    1 as messages, 1 as row_changes, 0 as schema_changes, 0 as truncates, 0 as heartbeats,
    0 as transaction_markers, 0 as controls, 0 as rejected, 0 as repeated_changes;
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
from cdc_lakehouse import bronze, cli
from cdc_lakehouse.session import open_session
print(cli.main(["show"]), "\\f")
spark = open_session(metastore=True)
bronze.attach_tables(spark)
print(cli.main(["show"]), "\\f")
for statement in sys.argv[1].split(";"):
    if statement.strip():
        spark.sql(statement)
values = sys.argv[2]
for arguments in (["show"], ["show", "gold.orders"], ["query", values], ["query", values, "--csv"],
                  ["query", "select * from range(3)", "--rows", "2"], ["query", "select nothing"]):
    print(cli.main(arguments), "\\f")
    sys.stdout.flush()
    print("\\f", file=sys.stderr)
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
    assert len(outputs) == 9, done.stderr
    none, bronze_only, everything, table, values, csv, first, wrong, _ = outputs

    assert (none, bronze_only, wrong) == (["2"], ["2"], ["2"])
    errors = done.stderr.splitlines()
    assert errors[0].endswith("Run `lakehouse ingest files PATH`, then `dbt build`.")
    assert errors[1].endswith("holds bronze only. Run `dbt build`.")
    assert "lakehouse: only the first 2 rows; --rows gives more." in errors
    [error] = [line for line in errors if "UNRESOLVED_COLUMN" in line]
    assert "`nothing`" in error
    assert "Traceback" not in done.stderr
    assert "bronze.messages               0" in everything
    assert "gold.orders                   1" in everything
    assert any(
        line.endswith('{"id":"1","note":null}  2026-01-02 03:04:05.12') for line in everything
    )
    assert everything[everything.index("gold.orders") + 1 :][:3] == [
        "id  line",
        "--  ----",
        " 1     2",
    ]
    assert everything[everything.index("gold.tags") + 1 :][:3] == ["name", "----", "red"]
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
