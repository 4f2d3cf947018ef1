"""A table that changes its shape: what silver reports, what the test warns of, what gold does."""

import pytest
from laboratory import COLUMNS, YAML, Laboratory, change, statement, write_models

pytestmark = pytest.mark.long

TESTS = "data_tests: [changes_have_a_key, values_fit_their_types]"
WARNED = YAML.replace(
    TESTS, "data_tests: [changes_have_a_key, source_columns_are_read, values_fit_their_types]"
)


def typed(message, **types):
    return {**message, "mysqlType": {**message["mysqlType"], **types}}


class Drifting(Laboratory):
    def define(self, columns, yaml):
        """Give the model other columns and run it."""
        write_models(self.lakehouse.project, columns=columns, yaml=yaml)
        return self.lakehouse.dbt("run", "-s", "things")

    def drift(self):
        """Return what silver.schema_drift says of the database, by its place in the source."""
        rows = self.lakehouse.query(
            "select column_name, drift, previous_name, previous_type, column_type, ddl,"
            " offset, table_name from silver.schema_drift"
            " where database_name = 'lab' order by sequence, column_name"
        )
        return [tuple(row.values()) for row in rows]

    def warned(self):
        """Return the columns that the test names, having run it as a user would."""
        said = self.lakehouse.dbt("test", "-s", "things,test_name:source_columns_are_read")
        compiled = self.lakehouse.home / "target" / "compiled"
        paths = compiled.rglob("source_columns_are_read_things_*.sql")
        path = max(paths, key=lambda path: path.stat().st_mtime_ns)
        names = [row["column_name"] for row in self.lakehouse.query(path.read_text())]
        assert list(said.values()) == [warning(len(names))]
        return sorted(names)


def warning(count):
    plural = "" if count == 1 else "s"
    return f"Got {count} result{plural}, configured to warn if != 0" if count else "pass"


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("drift", change=lambda project: write_models(project, yaml=WARNED))
    drifting = Drifting(lakehouse, tmp_path_factory.mktemp("drift-landing"))
    write_models(lakehouse.project, yaml=WARNED)
    drifting.deliver(change("INSERT", 100, {"id": "1", "name": "a", "price": "1.00"}))
    views = ("schema_changes", "source_columns", "dropped_tables", "schema_drift")
    lakehouse.dbt("run", "-s", *views)
    return drifting


ADD = "ALTER TABLE things ADD COLUMN stock int"
ADDED = ("stock", "new", None, None, "int", ADD, 2, "things")


def test_an_unchanged_table_has_no_drift(laboratory):
    assert laboratory.drift() == []
    assert laboratory.warned() == []


def test_a_new_column_is_reported_with_its_statement(laboratory):
    laboratory.deliver(
        statement(200, ADD),
        typed(
            change("INSERT", 300, {"id": "2", "name": "b", "price": "2.00", "stock": "20"}),
            stock="int",
        ),
    )
    assert laboratory.drift() == [ADDED]
    assert laboratory.warned() == ["stock"]


INTEGER = WARNED + "      - {{name: stock, data_type: int, description: Pieces.}}\n"
BIGINT = INTEGER.replace("data_type: int,", "data_type: bigint,")
STOCK = {**COLUMNS, "stock": "try_cast(image['stock'] as int)"}
WIDE = {**COLUMNS, "stock": "try_cast(image['stock'] as bigint)"}


def test_adding_it_in_sql_and_yaml_fills_existing_rows(laboratory):
    laboratory.define(STOCK, INTEGER)
    assert laboratory.rows("id, stock") == [(1, None), (2, 20)]
    assert laboratory.warned() == []


def test_a_column_may_be_left_out_on_purpose(laboratory):
    left_out = WARNED.replace(
        "source_columns_are_read,",
        "{{source_columns_are_read: {{arguments: {{except: [stock]}}}}}},",
    )
    write_models(laboratory.lakehouse.project, yaml=left_out)
    assert laboratory.warned() == []
    write_models(laboratory.lakehouse.project, columns=STOCK, yaml=INTEGER)


def test_widening_a_type_works_in_place(laboratory):
    big = {"id": "3", "name": "c", "price": "3.00", "stock": "3000000000"}
    modify = "ALTER TABLE things MODIFY stock bigint"
    laboratory.deliver(statement(400, modify), typed(change("INSERT", 500, big), stock="bigint"))
    assert laboratory.rows("id, stock") == [(1, None), (2, 20), (3, None)]
    retyped = ("stock", "retyped", None, "int", "bigint", modify, 4, "things")
    assert laboratory.drift() == [ADDED, retyped]
    problems = "select _problems[0].code as code from gold.things where size(_problems) > 0"
    assert laboratory.lakehouse.query(problems) == [{"code": "out_of_range"}]
    commits = len(laboratory.history())
    laboratory.define(WIDE, BIGINT)
    assert len(laboratory.history()) == commits + 1
    assert laboratory.rows("id, stock") == [(1, None), (2, 20), (3, 3000000000)]
    assert laboratory.lakehouse.query(problems) == []


def test_a_renamed_column_is_one_change(laboratory):
    rename = "ALTER TABLE `things` CHANGE COLUMN `stock` `pieces` bigint"
    row = change("INSERT", 700, {"id": "4", "name": "d", "price": "4.00", "pieces": "40"})
    laboratory.deliver(statement(600, rename), typed(row, pieces="bigint"))
    renamed = ("pieces", "renamed", "stock", "bigint", "bigint", rename, 6, "things")
    assert laboratory.drift()[2:] == [renamed]
    # The model reads a column that is gone, and does not read the one that is there.
    assert laboratory.warned() == ["pieces", "stock"]
    pieces = "coalesce(image['pieces'], image['stock'])"
    columns = {**COLUMNS, "pieces": f"try_cast({pieces} as bigint)"}
    laboratory.define(columns, BIGINT.replace("name: stock", "name: pieces"))
    assert laboratory.rows("id, pieces") == [(1, None), (2, 20), (3, 3000000000), (4, 40)]
    assert laboratory.warned() == []


def test_a_renamed_table_is_reported_with_its_statement(laboratory):
    rename = "RENAME TABLE things TO goods"
    laboratory.deliver(statement(800, rename))
    assert laboratory.drift()[3:] == [
        (None, "renamed_table", "things", None, None, rename, 7, "goods")
    ]
