"""From which columns of the source the columns of a gold model are made."""

import pytest

from cdc_lakehouse.engine.projection import columns_read

SELECT = "select sequence as _sequence, image as _image, {} as x from silver.row_images"


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("image['a']", ["a"]),
        ("try_cast(image['a'] as decimal(10, 2))", ["a"]),
        ("unhex(row_images.image['a b'])", ["a b"]),
        ("image['it''s']", ["it's"]),
        (r"image['it\'s']", ["it's"]),
        (r"image[r'a\b']", [r"a\b"]),
        ('image["a"]', ["a"]),
        ("image.a", ["a"]),
        ("image.`价格`", ["价格"]),
        ("try_element_at(image, 'a')", ["a"]),
        ("coalesce(image['b'], image['a'])", ["a", "b"]),
        ("case when image['a'] = '1' then image['b'] end", ["a", "b"]),
        ("transform(split(image['a'], ','), part -> trim(part))", ["a"]),
        ("get_json_object(image['a'], '$.b')", ["a"]),
        ("'constant'", []),
        ("source_table", []),
        ("to_json(image)", []),
        ("map_filter(image, (k, v) -> k <> 'a')", []),
        ("image[concat('a', database_name)]", []),
    ],
)
def test_a_column_is_made_from_the_members_that_its_expression_names(expression, names):
    assert columns_read(SELECT.format(expression)) == {"_sequence": [], "_image": [], "x": names}


def test_members_are_found_below_subqueries_and_common_table_expressions():
    read = columns_read("""
        with images as (select *, image['n'] as first_name from silver.row_images -- all of them
        ), renamed as (select image as i, first_name, 1 as one from images)
        select i['a'] as a, upper(first_name) as name, one, r.i['b'] as b
        from (select * from renamed) as r
    """)
    assert read == {"a": ["a"], "name": ["n"], "one": [], "b": ["b"]}


def test_each_side_of_a_union_counts():
    read = columns_read("""
        with both as (
            select image['a'] as x from silver.row_images where table_name = 'orders_1'
            union all
            select image['b'] as x from silver.row_images where table_name = 'orders_2'
        )
        select x from both
    """)
    assert read == {"x": ["a", "b"]}


def test_a_query_that_the_parser_does_not_know_tells_nothing():
    assert columns_read("select from from from") == {}
