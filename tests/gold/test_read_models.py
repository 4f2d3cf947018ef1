"""Which tables and columns the gold models of a project read, as the report asks their files."""

from dataclasses import replace

import pytest

from cdc_lakehouse.engine.source_tables import SourceTable
from cdc_lakehouse.gold.read_models import is_open, models_of, names_of_columns, readers

YAML = """
models:
  - name: {name}
    constraints: [{{type: primary_key, columns: [id]}}]
    data_tests:
      - changes_have_a_key
      - source_columns_are_read: {{arguments: {{except: [internal]}}}}
    columns:
      - {{name: id, data_type: int}}
      - {{name: phone, data_type: string}}
      - {{name: ordered, data_type: string, meta: {{source: "Order Date"}}}}
      - {{name: _sequence, data_type: string}}
"""
SQL = """{{{{ config(materialized='current_state') }}}}
select
    {{{{ change_columns() }}}},
    try_cast(image['id'] as int) as id,
    {phone} as phone,
    image['Order Date'] as ordered
from {{{{ ref('row_images') }}}}
where {where}
"""


@pytest.fixture
def project(tmp_path):
    """A function that gives a project one model."""
    folder = tmp_path / "models" / "gold" / "shop"
    folder.mkdir(parents=True)
    (folder / "mart.sql").write_text("select 1 as one from {{ ref('orders') }}")

    def write(where="source_table = 'shop.orders'", phone="image['phone']", sql=SQL):
        (folder / "orders.sql").write_text(sql.format(where=where, phone=phone))
        (folder / "_shop.yml").write_text(YAML.format(name="orders"))
        (model,) = models_of(tmp_path)
        return model

    return write


@pytest.mark.parametrize(
    "where",
    [
        "source_table = 'shop.orders'",
        "database_name = 'shop' and table_name like 'order%'",
        "database_name = 'shop' and lower(table_name) in ('orders', 'old')",
    ],
)
def test_a_condition_means_what_it_means_in_a_run(project, where):
    model = project(where)
    assert model.file == "models/gold/shop/orders.sql"
    assert readers([model], SourceTable("shop", None, "orders")) == [model]
    assert readers([model], SourceTable("shop", None, "reviews")) == []


def test_a_note_about_a_table_does_not_read_it(project):
    model = project("table_name = 'orders' -- not table_name = 'reviews'")
    assert readers([model], SourceTable("shop", None, "reviews")) == []


def test_a_model_that_only_dbt_can_render_is_read_as_text(project):
    model = project("database_name = 'shop' and table_name = 'orders' and {{ my_macro() }}")
    assert readers([model], SourceTable("shop", None, "orders")) == [model]
    assert readers([model], SourceTable("shop", None, "reviews")) == []
    assert model.reads("phone") and not model.reads("note")


def test_a_column_is_open_until_a_model_reads_or_excepts_it(project):
    models = [project()]
    assert is_open(models, "new", "phone_number", None)
    assert is_open(models, "vanished", "phone", None)
    assert is_open(models, "renamed", "phone_number", "phone")
    assert not is_open(models, "new", "internal", None)
    assert not is_open(models, "new", "Order Date", None)
    assert not is_open(models, "vanished", "note", None)
    followed = [project(phone="coalesce(image['phone_number'], image['phone'])")]
    assert not is_open(followed, "new", "phone_number", None)
    assert not is_open(followed, "vanished", "phone", None)
    assert not is_open(followed, "renamed", "phone_number", "phone")


def test_a_column_that_is_renamed_is_followed_by_its_former_name(project, tmp_path):
    project(phone="image['phone_number']")
    path = tmp_path / "models" / "gold" / "shop" / "_shop.yml"
    meta = "{name: phone, data_type: string, meta: {source: phone_number, formerly: [phone, tel]}}"
    path.write_text(path.read_text().replace("{name: phone, data_type: string}", meta))
    (model,) = models_of(tmp_path)
    assert model.former == {"phone_number": ("phone", "tel")}
    assert not is_open([model], "renamed", "phone_number", "phone")
    assert not is_open([model], "vanished", "phone", None)
    assert is_open([model], "new", "phone", None)  # another column has taken the name
    names = [["id"], ["phone_number", "phone", "tel"]]
    assert names_of_columns([model], ["id", "phone_number"]) == names
    assert names_of_columns([model], ["id", "tel"]) == names
    assert names_of_columns([], ["id", "tel"]) == [["id"], ["tel"]]


def test_one_model_of_a_table_that_reads_or_excepts_a_column_is_enough(project):
    one = project()
    other = replace(one, columns={"note": ["note"]}, excepted=frozenset({"phone"}))
    assert is_open([one], "new", "note", None) and not is_open([one, other], "new", "note", None)
    assert is_open([one], "vanished", "phone", None)
    assert not is_open([one, other], "vanished", "phone", None)
    unexcepted = replace(other, excepted=frozenset())
    assert is_open([one, unexcepted], "vanished", "phone", None)


def test_of_a_table_that_no_model_reads_nothing_is_open(project):
    assert is_open([], "new", "note", None) is None
    assert is_open([project()], "retyped", "phone", None) is None
    assert is_open([project()], "dropped_table", None, None) is None


def test_of_a_model_whose_tables_are_not_known_nothing_is_open(project):
    model = project("true")
    assert model.reads_any_table and is_open([model], "new", "note", None) is None
    assert not project().reads_any_table


def test_the_key_of_a_model_is_told_in_columns_of_the_source(project):
    assert project().source_key == ["id"]
    with_table = SQL.replace("try_cast(image['id'] as int)", "source_table")
    assert project(sql=with_table).source_key is None
