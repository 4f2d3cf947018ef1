"""Former names of columns: what images are read as, and what is refused."""

import pytest
from test_gold_table import model, node

from cdc_lakehouse.engine.columns import gold_columns
from cdc_lakehouse.engine.former_names import (
    columns_of_images,
    newest_names,
    refuse_former_reads,
    refuse_shared_names,
)
from cdc_lakehouse.engine.projection import columns_read
from cdc_lakehouse.engine.source_tables import SourceTable, rows_of_tables, tables_read
from cdc_lakehouse.errors import LakehouseError

WHERE = rows_of_tables(["shop.orders"])


def columns(**formerly):
    """Columns of the source by their newest names, each with its former ones."""
    described = [
        {"name": name, "data_type": "string", "meta": {"formerly": former}}
        for name, former in formerly.items()
    ]
    return gold_columns(node(columns=described))


def query(found, **read):
    """The query of a model that reads columns of the source as `row_images` gives them."""
    listed = ", ".join(f"image['{source}'] as {name}" for name, source in read.items())
    return f"""select image as _image, {listed}
        from (select {columns_of_images(found)} from silver.row_images where {WHERE}) as row_images
        """


def test_images_are_as_they_are_where_no_column_was_renamed():
    assert columns_of_images(columns(id=[], number=[])) == "*"


def test_a_name_is_taken_for_the_newest_where_an_image_has_no_newer_one():
    case = (
        "case when name = 'order_no' and not (map_contains_key(image, 'number')) then 'number' "
        "when name = 'nr' and not (map_contains_key(image, 'number') or "
        "map_contains_key(image, 'order_no')) then 'number' else name end"
    )
    assert columns_of_images(columns(id=[], number=["order_no", "nr"])) == (
        f"* except (image, key_columns), transform_keys(image, (name, value) -> {case}) as image, "
        f"transform(key_columns, name -> {case}) as key_columns"
    )


def test_names_with_quotes_are_texts():
    assert r"name = 'it\'s'" in columns_of_images(columns(id=["it's"]))


def test_the_query_is_still_known_by_its_tables_and_columns():
    sql = query(columns(id=["nr"], number=["order_no"]), id="id", number="number")
    assert columns_read(sql) == {"_image": [], "id": ["id"], "number": ["number"]}
    reads = tables_read(sql)
    assert reads(SourceTable("shop", None, "orders"))
    assert not reads(SourceTable("shop", None, "reviews"))


def test_each_former_name_has_its_newest():
    found = columns(id=["nr"], number=["order_no", "no"], price=[])
    assert newest_names(found) == {"nr": "id", "order_no": "number", "no": "number"}


@pytest.mark.parametrize("given", ["order_no", [7], [""], {"order_no": 1}])
def test_former_names_are_a_list_of_names(given):
    with pytest.raises(LakehouseError, match=r"number has formerly: .* It is a list of the names"):
        columns(number=given)


@pytest.mark.parametrize(
    ("formerly", "name"),
    [
        ({"number": ["order_no"], "order_no": []}, "order_no"),
        ({"number": ["order_no"], "other": ["order_no"]}, "order_no"),
        ({"a": ["b"], "b": ["a"]}, "b"),
        ({"number": ["number"]}, "number"),
        ({"number": ["nr", "nr"]}, "nr"),
    ],
)
def test_a_name_of_two_columns_is_refused(formerly, name):
    with pytest.raises(LakehouseError, match=f"things: {name} is a former name of the column"):
        refuse_shared_names("things", columns(**formerly))


def test_different_names_are_taken():
    refuse_shared_names("things", columns(id=["nr"], number=["order_no", "no"]))


def test_a_query_that_reads_images_by_itself_is_refused():
    found = columns(id=[], number=["order_no"])
    refuse_former_reads(model(sql=query(found, id="id", number="number"), columns=found))
    images = "select image['number'] as number from silver.row_images"
    with pytest.raises(LakehouseError, match="by itself"):
        refuse_former_reads(model(sql=images, columns=found))
    refuse_former_reads(model(sql=images, columns=columns(id=[], number=[])))


def test_a_query_that_reads_a_former_name_is_refused():
    found = columns(id=[], number=["order_no"])
    with pytest.raises(LakehouseError, match=r"other is made from image\['order_no'\], a former"):
        refuse_former_reads(model(sql=query(found, id="id", other="order_no"), columns=found))
