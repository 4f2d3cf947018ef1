"""seeds/topics.csv: which route a topic gets, and what is said about a wrong line."""

import json
import re

import pytest
from dbt_common.clients.agate_helper import from_csv

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.routes import (
    COLUMNS,
    FURTHER_COLUMNS,
    Route,
    is_time_zone,
    read_routes,
)
from dbt.adapters.lakehouse.seeds import types_of

FORMATS = ("oms_default", "oms_canal", "dts_avro", "dts_canal", "drs_avro", "drs_json")
HEADER = "topic,format,time_zone,avro_schema,delete_image,database\n"
MORE = HEADER[:-1] + ",table,key,topic_pattern,missing_columns\n"


@pytest.fixture
def project(tmp_path):
    def write(text):
        (tmp_path / "seeds").mkdir(exist_ok=True)
        for name in FORMATS:
            folder = tmp_path / "models" / "silver" / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.sql").touch()
        (tmp_path / "seeds" / "topics.csv").write_bytes(text.encode())
        return tmp_path

    return write


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("shop.orders", "dts_canal"),
        ("shop.orders.eu", "drs_json"),
        ("shop.customers", "oms_canal"),
        ("shopXorders", "unrouted"),
        ("other", "unrouted"),
        ("ab", "drs_avro"),
        ("a\nb", "drs_avro"),
    ],
)
def test_the_exact_name_wins_then_the_most_literal_glob(project, topic, expected):
    routes = read_routes(
        project(
            HEADER + "shop.*,oms_canal,,,,\nshop.orders.*,drs_json,,,,\nshop.orders,dts_canal,,,,\n"
            "*b,dts_avro,,,,\n**b,oms_default,,,,\na*,drs_avro,,,,\na**,oms_default,,,,\n"
            '\n"a*b",drs_avro,,,,\n'
        )
    )

    assert routes.format_of(topic) == expected


def test_equally_literal_globs_are_taken_in_alphabetical_order(project):
    routes = read_routes(project(HEADER + "*b,dts_avro,,,,\na*,drs_avro,,,,\n"))

    assert routes.format_of("ab") == "dts_avro"


def test_a_folder_of_models_makes_a_format(project):
    root = project(HEADER + "t,ogg_json,,,,\n")
    folder = root / "models" / "silver" / "ogg_json"
    folder.mkdir(parents=True)
    (folder / "ogg_json.sql").touch()

    assert read_routes(root).format_of("t") == "ogg_json"


def test_silver_gets_the_lines_by_topic_and_the_globs_in_the_order_in_which_they_count(project):
    routes = read_routes(
        project(HEADER + "a.b,dts_canal,UTC,,old,\na*,drs_avro,,a.avsc,,\n*c.d,drs_json,,,,d\n")
    )

    assert json.loads(routes.as_json()) == {
        "by_topic": {
            "a.b": {
                "topic": "a.b",
                "format": "dts_canal",
                "time_zone": "UTC",
                "delete_image": "old",
            },
            "a*": {"topic": "a*", "format": "drs_avro", "avro_schema": "a.avsc"},
            "*c.d": {"topic": "*c.d", "format": "drs_json", "database": "d"},
        },
        "globs": [
            {"topic": "*c.d", "pattern": r"(?s)^.*c\.d(?!.)"},
            {"topic": "a*", "pattern": r"(?s)^a.*(?!.)"},
        ],
    }


def test_silver_gets_what_few_lines_say(project):
    routes = read_routes(
        project(
            MORE + 'a.*,oms_canal,,,,,orders,"id, line",,absent\nb.*,dts_canal,,,,,,,b.{table},\n'
        )
    )

    lines = json.loads(routes.as_json())["by_topic"]
    assert lines["a.*"] == {
        "topic": "a.*",
        "format": "oms_canal",
        "table": "orders",
        "key": ["id", "line"],
        "missing_columns": "absent",
    }
    assert lines["b.*"]["in_topic"] == {
        "database": r"(?s)^b\.(?:.+?)(?!.)()",
        "schema": r"(?s)^b\.(?:.+?)(?!.)()",
        "table": r"(?s)^b\.(.+?)(?!.)",
    }


@pytest.mark.parametrize(
    ("pattern", "topic", "names"),
    [
        ("server1.{database}.{table}", "server1.shop.orders", ("shop", None, "orders")),
        ("server1.{database}.{table}", "server1.shop.orders.eu", ("shop", None, "orders.eu")),
        ("server1.{database}.{table}", "server2.shop.orders", (None, None, None)),
        ("*.{schema}.{table}", "eu.server1.public.orders", (None, "public", "orders")),
        ("{database}-{schema}-{table}-cdc", "a-b-c-cdc", ("a", "b", "c")),
        ("{table}", "a\nb", (None, None, "a\nb")),
    ],
)
def test_a_pattern_finds_names_in_a_topic(pattern, topic, names):
    in_topic = Route(topic, "canal", "", "", "", "", topic_pattern=pattern).for_silver()["in_topic"]

    found = [re.search(in_topic[name], topic) for name in ("database", "schema", "table")]
    assert tuple((match and match[1]) or None for match in found) == names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEADER + "t,cannal,,,,\n", "line 2: unknown format 'cannal'"),
        (HEADER + "t,../silver,,,,\n", "line 2: unknown format '../silver'"),
        (HEADER + "t,dts_canal,,,,\nu,dts_avro,,,,\nt,dts_avro,,,,\n", "line 4: 't' is already"),
        (HEADER + ",dts_canal,,,,\n", "line 2: the topic is empty"),
        (HEADER + "t,debezium,,,,\n", "Did you mean debezium_json, debezium_avro or oms_debez"),
        (
            HEADER + "t,drs_jsn,,,,\n",
            "drs_jsn'. Did you mean drs_json or drs_json_c? Or add",
        ),
        (HEADER + "t,xyz,,,,\n", "Use one of aws_dms, canal, "),
        (
            HEADER + "t,dts_canal,Mars/Base,,,\n",
            "line 2: unknown time zone 'Mars/Base'. Use one of",
        ),
        (HEADER + "t,dts_canal,asia/shanghai,,,\n", "'asia/shanghai'. Did you mean Asia/Shanghai"),
        (HEADER + "t,dts_canal,+25:00,,,\n", "unknown time zone '+25:00'"),
        (HEADER + 't,dts_canal,,,,\n"u,dts_canal,,,,\n', "line 3: it is no CSV: unexpected end"),
        (HEADER + "t,dts_canal\n", "line 2: 2 fields where the header has 6"),
        ("topic,format\nt,dts_canal\n", "line 1: the header lacks time_zone"),
        ("", "line 1: the header lacks topic"),
        (HEADER[:-1] + ",tabel\nt,dts_canal,,,,,x\n", "line 1: unknown columns: tabel."),
        (MORE + "t,dts_canal,,,,,,,{server}.{table},\n", "line 2: the topic_pattern is '{server}."),
        (MORE + "t,dts_canal,,,,,,,*,\n", "line 2: the topic_pattern is '*'"),
        (MORE + "t,dts_canal,,,,,,,{table}.{table},\n", "line 2: the topic_pattern is '{table}.{"),
        (MORE + 't,dts_canal,,,,,,"id,",,\n', "line 2: the key 'id,' names an empty column"),
        (MORE + "t,dts_canal,,,,,,,,keep\n", "line 2: missing_columns is 'keep'"),
    ],
)
def test_a_wrong_line_is_named(project, text, expected):
    with pytest.raises(LakehouseError, match=r"topics\.csv, ") as error:
        read_routes(project(text))

    assert expected in str(error.value)


def test_all_wrong_lines_are_named_at_once(project):
    lines = [HEADER, *(f"t{n}.*,dts_canal,,,,\n" for n in range(200))]
    lines[20], lines[50], lines[90] = (
        "t19.*,dtscanal,,,,\n",
        "t49.*,dts_canal\n",
        ",dts_canal,,,,\n",
    )
    lines[120], lines[150] = lines[119], "t149.*,dtscanal,Mars/Base,,,\n"
    with pytest.raises(LakehouseError) as error:
        read_routes(project("".join(lines)))
    found = [re.search(r"topics\.csv, line (\d+): (.*)", t) for t in str(error.value).splitlines()]
    assert [(int(match[1]), match[2][:18]) for match in found] == [
        (21, "unknown format 'dt"),
        (51, "2 fields where the"),
        (91, "the topic is empty"),
        (121, "'t118.*' is alread"),
        (151, "unknown format 'dt"),
        (151, "unknown time zone "),
    ]


def test_blanks_around_names_are_no_part_of_them(project):
    routes = read_routes(
        project(" topic ,format , time_zone" + HEADER[22:-1] + "\n t , dts_canal, CTT ,,,\n  \n")
    )

    assert routes.route_of("t") == Route("t", "dts_canal", "CTT", "", "", "")
    assert routes.format_of(" t ") == "unrouted"


@pytest.mark.parametrize("zone", ["", "Asia/Shanghai", "UTC", "+08:00", "UTC+8", "-3", "Z", "GMT0"])
def test_time_zones_that_java_knows(zone):
    assert is_time_zone(zone)


def test_agate_is_told_no_type_of_a_column_that_the_file_may_lack(project):
    """It warns of each: six warnings in every run. Of a name that is wrong it shall warn."""
    types = dict.fromkeys((*COLUMNS, *FURTHER_COLUMNS, "typo"), "string")
    path = project(HEADER + "t,dts_canal,,,,\n") / "seeds" / "topics.csv"
    assert list(types_of(path, types)) == [*COLUMNS, "typo"]
    with pytest.warns(RuntimeWarning, match='"typo" does not match') as warned:
        from_csv(path, types_of(path, types))
    assert len(warned) == 1
    project(MORE + "t,dts_canal,,,,,,,,\n")
    left_out = set(types) - set(types_of(path, types))
    assert {"operation_column", "sequence_column"} < left_out < set(FURTHER_COLUMNS)
    assert types_of(path.parent / "gone.csv", types) == types


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(LakehouseError, match=r"topics\.csv cannot be read"):
        read_routes(tmp_path)
