"""Views longer than the 32,700 characters that Hive lets a view's text have in Derby."""

import pytest

pytestmark = pytest.mark.full

# As many columns as InnoDB lets a table have.
NAMES = [f"measurement_of_sensor_{number:04d}" for number in range(1017)]


@pytest.fixture(scope="module")
def lakehouse(open_lakehouse):
    return open_lakehouse("wide-views")


def test_a_view_of_1017_columns_is_made_and_read(lakehouse):
    columns = ", ".join(f"cast(id as decimal(10, 2)) as {name}" for name in NAMES)
    view = f"create or replace view bronze.wide as select {columns} from range(3)"
    assert len(view) > 50_000
    lakehouse.query(view)
    found = lakehouse.query(f"select count(*) as n, max({NAMES[-1]}) as last from bronze.wide")
    assert (found[0]["n"], str(found[0]["last"])) == (3, "2.00")


def test_a_view_of_500_tables_is_made_and_read(lakehouse):
    table = "bronze.one_of_many_gold_tables_with_problems"
    lakehouse.query(f"create or replace view {table} as select 1 as n")
    tables = [f"select * from {table}"] * 500
    assert len(" union all ".join(tables)) > 32_700
    lakehouse.query(f"create or replace view bronze.many as {' union all '.join(tables)}")
    assert len(lakehouse.query("describe bronze.many")) == 1
