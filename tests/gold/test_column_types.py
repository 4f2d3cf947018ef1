"""Types of the vendors' documents, and the Spark types that lose nothing of their values."""

import pytest

from cdc_lakehouse.gold.column_types import SeenType, column_types, holding_all, spark_type
from cdc_lakehouse.gold.type_notes import type_note

UNSIGNED = "decimal(20, 0)"

# Words whose meaning is the same in every format that has them.
WORDS = {
    # MySQL
    "tinyint": "int",
    "tinyint(1)": "int",
    "tinyint(3) unsigned": "int",
    "smallint(5) unsigned zerofill": "int",
    "mediumint(8) unsigned": "int",
    "int(10) unsigned": "bigint",
    "int unsigned": "bigint",
    "bigint(20) unsigned": UNSIGNED,
    "year(4)": "int",
    "decimal(10,2)": "decimal(10, 2)",
    "decimal(10, 2) unsigned": "decimal(10, 2)",
    "decimal(38,30)": "decimal(38, 30)",
    "decimal(39,0)": "string",
    "decimal(65,30)": "string",
    "decimal": "string",
    "numeric(5)": "decimal(5, 0)",
    "float": "float",
    "float(7,4)": "float",
    "float(24)": "float",
    "float(53)": "double",
    "float unsigned": "float",
    "double": "double",
    "double(10,2) unsigned": "double",
    "double precision": "double",
    "bit(1)": "bigint",
    "bit(63)": "bigint",
    "bit(64)": UNSIGNED,
    "bit": UNSIGNED,
    "boolean": "boolean",
    "date": "date",
    "time(6)": "string",
    "datetime": "timestamp_ntz",
    "datetime(6)": "timestamp_ntz",
    "timestamp": "timestamp",
    "timestamp(3)": "timestamp",
    "char(36)": "string",
    "varchar(255)": "string",
    "VARCHAR(255)": "string",
    "longtext": "string",
    "json": "string",
    "enum('small','it''s (large)','int')": "string",
    "set('a','b')": "string",
    "binary(16)": "binary",
    "varbinary(50)": "binary",
    "tinyblob": "binary",
    "longblob": "binary",
    "geometry": "binary",
    "point": "binary",
    "multipolygon": "binary",
    # Oracle
    "NUMBER": "string",
    "NUMBER(10)": "decimal(10, 0)",
    "NUMBER(10,2)": "decimal(10, 2)",
    "NUMBER(5,-2)": "decimal(7, 0)",
    "NUMBER(3,5)": "decimal(5, 5)",
    "NUMBER(*,0)": "decimal(38, 0)",
    "NUMBER(38,-84)": "string",
    "FLOAT(126)": "string",
    "BINARY_FLOAT": "float",
    "BINARY_DOUBLE": "double",
    "VARCHAR2(20 CHAR)": "string",
    "NVARCHAR2(20)": "string",
    "CLOB": "string",
    "BLOB": "binary",
    "RAW(16)": "binary",
    "LONG RAW": "binary",
    "LONG": "string",
    "ROWID": "string",
    "TIMESTAMP(9)": "string",
    "TIMESTAMP(6) WITH TIME ZONE": "string",
    "TIMESTAMP WITH LOCAL TIME ZONE": "string",
    "INTERVAL YEAR(2) TO MONTH": "string",
    "INTERVAL DAY(2) TO SECOND(6)": "string",
    # PostgreSQL
    "int2": "int",
    "int4": "int",
    "int8": "bigint",
    "numeric(12,4)": "decimal(12, 4)",
    "character varying(20)": "string",
    "bytea": "binary",
    "timestamptz": "string",
    "timestamp without time zone": "timestamp_ntz",
    "uuid": "string",
    "bit varying(5)": "string",
    # none
    "hologram": "string",
    "": "string",
    "(10)": "string",
    "\n'{{ x }}": "string",
}

# What formats mean by words of their own, or leave open.
BY_FORMAT = {
    # Types of MySQL in full: no `unsigned`, so it has a sign.
    "oceanbase_canal": {
        "INTEGER": "int",
        "int(11)": "int",
        "bigint(20)": "bigint",
        "FLOAT": "float",
    },
    "canal": {"int": "int", "int unsigned": "bigint", "bigint(20)": "bigint", "blob": "binary"},
    "tidb_canal": {
        "int": "int",
        "bigint": "bigint",
        "int unsigned": "bigint",
        "bigint unsigned zerofill": UNSIGNED,
        "bit": UNSIGNED,
        "vector": "string",
    },
    # "Parameters for data types, such as precision, are not supported."
    "dts_canal": {"int": "bigint", "bigint": UNSIGNED, "varchar": "string"},
    "tencent_canal": {"int": "bigint", "bigint": UNSIGNED, "decimal": "string", "blob": "binary"},
    "drs_json": {"int": "bigint", "bigint": UNSIGNED, "decimal": "string", "blob": "binary"},
    "drs_json_c": {"int": "bigint", "timestamp": "timestamp", "text": "string"},
    # The sample's bigint, 10223372036854775806, is beyond 64 bits; INT64 is the word for those.
    "oms_canal": {"int": "bigint", "int64": "bigint", "bigint": UNSIGNED, "smallint": "int"},
    "oms_default_extend": {
        "TINYINT": "int",
        "SMALLINT": "int",
        "INT": "bigint",
        "INT64": "bigint",
        "BIGINT": UNSIGNED,
        "FLOAT": "float",
        "DOUBLE": "double",
        "VARCHAR": "string",
        "VAR_STRING": "string",
        "BLOB": "binary",
        "DECIMAL": "string",
        "DATE": "date",
        "TIME": "string",
        "DATETIME": "timestamp_ntz",
        "TIMESTAMP": "timestamp",
    },
    "oms_dataworks": {
        "BOOLEAN": "boolean",
        "ZONED_DATETIME": "string",
        "INTERVAL_DAY_TO_SECOND": "string",
        "INTERVAL_YEAR_TO_MONTH": "string",
        "INT64": "bigint",
    },
    # "It maps it to one of six types"; a DECIMAL is a DOUBLE, a date has a clock.
    "dataworks_kafka": {
        "BOOLEAN": "boolean",
        "DOUBLE": "string",
        "DATE": "timestamp_ntz",
        "BYTES": "binary",
        "LONG": UNSIGNED,
        "STRING": "string",
    },
    # Names of Kafka Connect and of Debezium's page; a decimal has its digits behind it.
    "debezium_json": {
        **dict.fromkeys(("int8", "int16", "int32", "io.debezium.time.Year"), "int"),
        **dict.fromkeys(("int64", "io.debezium.time.MicroDuration"), "bigint"),
        "boolean": "boolean",
        **dict.fromkeys(("float", "float32"), "float"),
        **dict.fromkeys(("double", "float64"), "double"),
        "bytes": "binary",
        "org.apache.kafka.connect.data.Decimal(10,2)": "decimal(10, 2)",
        "org.apache.kafka.connect.data.Decimal(65,2)": "string",
        "org.apache.kafka.connect.data.Decimal(,0)": "string",
        "io.debezium.data.VariableScaleDecimal": "string",
        "io.debezium.data.Bits": "string",
        "io.debezium.time.Date": "date",
        "io.debezium.time.IsoDate": "date",
        "io.debezium.time.MicroTimestamp": "timestamp_ntz",
        "io.debezium.time.IsoTimestamp": "timestamp_ntz",
        "io.debezium.time.NanoTimestamp": "string",
        "io.debezium.time.ZonedTimestamp": "string",
        "io.debezium.time.MicroTime": "string",
        "io.debezium.data.Json": "string",
        "io.debezium.data.geometry.Point": "binary",
        **dict.fromkeys(("array", "array<int32>", "struct", "string"), "string"),
        "io.debezium.data.Uuid": "string",
    },
    # The enum DataType.
    "oceanbase_avro": {
        "INTEGER": "bigint",
        "LONG": UNSIGNED,
        "FLOAT": "double",
        "DOUBLE": "double",
        "DECIMAL": "string",
        "STRING": "string",
        "BINARY": "binary",
        "TIMESTAMP": "timestamp",
        "DATE": "date",
        "TIME": "string",
        "DATETIME": "timestamp_ntz",
        "BOOLEAN": "boolean",
        "BIT": UNSIGNED,
        "GEOMETRY": "binary",
        "RAW": "binary",
        **dict.fromkeys(("ENUM", "SET", "ARRAY", "VECTOR", "SPARSE_VECTOR"), "string"),
        **dict.fromkeys(("ROARINGBITMAP", "MAP"), "string"),
    },
}

MYSQL_NUMBERS = {
    **dict.fromkeys((1, 2, 9, 13), "int"),
    3: "bigint",
    **dict.fromkeys((8, 16), UNSIGNED),
    4: "float",
    5: "double",
    **dict.fromkeys((10, 14), "date"),
    **dict.fromkeys((12, 18), "timestamp_ntz"),
    **dict.fromkeys((7, 17), "timestamp"),
    255: "binary",
    **dict.fromkeys((0, 6, 11, 15, 19, 245, 246, 247, 248, 249, 250, 251, 252), "string"),
    **dict.fromkeys((253, 254, 242), "string"),
}
ORACLE_NUMBERS = {
    **dict.fromkeys((12, 180), "timestamp_ntz"),
    **dict.fromkeys((23, 24, 113), "binary"),
    100: "float",
    101: "double",
    **dict.fromkeys((1, 2, 8, 58, 69, 96, 112, 114, 181, 182, 183, 208, 231), "string"),
}
POSTGRESQL_NUMBERS = {
    16: "boolean",
    17: "binary",
    20: "bigint",
    **dict.fromkeys((21, 23), "int"),
    26: "bigint",
    700: "float",
    701: "double",
    1082: "date",
    1114: "timestamp_ntz",
    **dict.fromkeys((18, 25, 114, 142, 600, 604, 1042, 1043, 1083, 1184, 1186, 1266), "string"),
    **dict.fromkeys((1560, 1562, 1700, 2950, 3802, 16385), "string"),
}


def says(format):
    """The kind of database of a message: in DRS, `mysqlType` is MySQL's."""
    return "mysql" if format.startswith("drs_json") else None


@pytest.mark.parametrize("worded", WORDS)
def test_a_word_is_the_type_that_holds_its_values(worded):
    for format in ("dts_canal", "oceanbase_canal", "drs_json", "oms_dataworks"):
        assert spark_type(format, worded, says(format)) == WORDS[worded]


@pytest.mark.parametrize("format", BY_FORMAT)
def test_a_format_has_words_of_its_own(format):
    found = {worded: spark_type(format, worded, says(format)) for worded in BY_FORMAT[format]}
    assert found == BY_FORMAT[format]


# Words that mean other types in other databases, by what messages say they come from.
BY_SOURCE = {
    ("debezium_json", "mysql"): {
        "io.debezium.time.ZonedTimestamp": "timestamp",
        "io.debezium.data.Bits": UNSIGNED,
    },
    ("debezium_json", "postgresql"): {
        "io.debezium.time.ZonedTimestamp": "timestamp",
        "io.debezium.data.Bits": "string",
    },
    ("debezium_json", "oracle"): {"io.debezium.time.ZonedTimestamp": "string"},
    ("drs_json", "oracle"): {
        "DATE": "timestamp_ntz",
        "TIMESTAMP(6)": "timestamp_ntz",
        "TIMESTAMP(9)": "string",
        "TIMESTAMP(6) WITH LOCAL TIME ZONE": "string",
        "NUMBER(10,2)": "decimal(10, 2)",
        "NUMBER": "string",
        # FLOAT is FLOAT(126), about 38 decimal digits; FLOAT(49) has fifteen.
        "FLOAT": "string",
        "FLOAT(49)": "double",
        "FLOAT(50)": "string",
        "RAW": "binary",
    },
    ("drs_json", "postgresql"): {
        "timestamp": "timestamp_ntz",
        "date": "date",
        "float": "double",
        "integer": "int",
        "bigint": "bigint",
        "bit(3)": "string",
        "numeric(12,4)": "decimal(12, 4)",
    },
    # Of any database but MySQL: a TIMESTAMP is in no zone, a FLOAT has up to 38 digits.
    ("drs_json", None): {"TIMESTAMP(6)": "timestamp_ntz", "DATE": "date", "FLOAT": "string"},
    # TIMESTAMP counts rows, a FLOAT has eight bytes, a BIT may be a word.
    ("drs_json", "sqlserver"): {"timestamp": "string", "float": "string", "bit": "string"},
    # The words are those of OMS in either mode, but a DATE of Oracle mode has a clock.
    ("oms_default_extend", "ob_mysql"): {"DATE": "date", "TIMESTAMP": "timestamp"},
    ("oms_default_extend", "ob_oracle"): {"DATE": "timestamp_ntz", "TIMESTAMP": "timestamp"},
    ("oms_dataworks", "ob_in_oracle_mode"): {"DATE": "timestamp_ntz", "INT64": "bigint"},
    ("oceanbase_avro", "ob_mysql"): {"DATE": "date", "TIMESTAMP": "timestamp"},
    ("oceanbase_avro", "ob_oracle"): {"DATE": "timestamp_ntz", "TIMESTAMP": "string"},
    ("dataworks_kafka", "oracle"): {"DATE": "timestamp_ntz", "DOUBLE": "string"},
}


@pytest.mark.parametrize("format, source_type", BY_SOURCE)
def test_a_word_is_a_type_of_the_database_that_messages_come_from(format, source_type):
    expected = BY_SOURCE[format, source_type]
    assert {word: spark_type(format, word, source_type) for word in expected} == expected


def numbered(numbers, has_schema, format="dts_avro", source_type=None):
    seen = [
        SeenType(format, f"c{number}", str(number), source_type=source_type) for number in numbers
    ]
    types = column_types(seen, has_schema)
    return {number: types[f"c{number}"][1] for number in numbers}


@pytest.mark.parametrize("format", ["dts_avro", "drs_avro"])
def test_numbers_are_those_of_the_table_s_database(format):
    assert numbered(MYSQL_NUMBERS, False, format) == MYSQL_NUMBERS
    assert numbered(ORACLE_NUMBERS, True, format) == ORACLE_NUMBERS
    assert numbered(POSTGRESQL_NUMBERS, True, format) == POSTGRESQL_NUMBERS


# With objectName in two parts a table of any database has no schema, and DRDS may have one.
@pytest.mark.parametrize("has_schema", [False, True])
@pytest.mark.parametrize("format", ["dts_avro", "drs_avro"])
def test_numbers_are_those_of_the_database_that_messages_come_from(format, has_schema):
    for source_type, numbers in (
        ("mysql", MYSQL_NUMBERS),
        ("drds", MYSQL_NUMBERS),
        ("oracle", ORACLE_NUMBERS),
        ("postgresql", POSTGRESQL_NUMBERS),
        ("ppas", POSTGRESQL_NUMBERS),
        ("sqlserver", dict.fromkeys((1, 2, 23, 25, 56), "string")),
    ):
        assert numbered(numbers, has_schema, format, source_type) == numbers
    assert numbered([23], has_schema, format, "oracle") == {23: "binary"}
    assert numbered([23], has_schema, format, "postgresql") == {23: "int"}


def test_two_databases_of_one_name_have_the_types_that_hold_both():
    seen = [SeenType("dts_avro", "id", "2", source_type=s) for s in ("mysql", "oracle")]
    assert column_types(seen, False) == {"id": ("number or smallint", "string")}


def test_rows_that_silver_had_before_it_kept_the_database_are_of_the_one_that_others_name():
    seen = [SeenType("dts_avro", "id", "1", source_type=s) for s in (None, "oracle")]
    assert column_types(seen, False) == {"id": ("varchar2", "string")}
    # Two are named, so any of them may be.
    seen.append(SeenType("dts_avro", "id", "1", source_type="mysql"))
    assert column_types(seen, False)["id"] == ("tinyint or varchar2", "string")


def test_numbers_that_two_databases_have_are_told_by_the_others_of_the_table():
    assert numbered([23], True) == {23: "string"}  # RAW or int4
    assert numbered([23, 1], True) == {23: "binary", 1: "string"}
    assert numbered([23, 25], True) == {23: "int", 25: "string"}
    # SQL Server has schemas, and codes that are neither's.
    assert numbered([23, 25, 56], True) == dict.fromkeys((23, 25, 56), "string")


def test_the_number_beside_a_null_says_nothing_in_oceanbase():
    seen = [
        SeenType("oceanbase_avro", "id", "LONG"),
        SeenType("oceanbase_avro", "note", "STRING"),
        SeenType("oceanbase_avro", "note", "3"),
        SeenType("oceanbase_avro", "never", "3"),
    ]
    assert column_types(seen, False) == {"id": ("long", UNSIGNED), "note": ("string", "string")}
    assert column_types([SeenType("drs_avro", t.column, t.type) for t in seen], False) == (
        column_types(seen, False)
    )


def test_a_date_with_a_clock_is_oracle_s():
    assert column_types([SeenType("drs_json", "d", "DATE", has_clock=True)], False) == {
        "d": ("date", "timestamp_ntz")
    }


def test_a_column_that_was_retyped_says_both():
    seen = [SeenType("oceanbase_canal", "id", t) for t in ("int(11)", "bigint(20)")]
    assert column_types(seen, False) == {"id": ("bigint(20) or int(11)", "bigint")}


@pytest.mark.parametrize(
    "types, held",
    [
        (["int"], "int"),
        (["int", "bigint"], "bigint"),
        (["bigint", UNSIGNED], UNSIGNED),
        (["int", "decimal(10, 2)"], "decimal(12, 2)"),
        (["decimal(10, 2)", "decimal(8, 4)"], "decimal(12, 4)"),
        (["decimal(38, 0)", "decimal(38, 30)"], "string"),
        (["float", "double"], "double"),
        (["int", "double"], "string"),
        (["date", "timestamp_ntz"], "timestamp_ntz"),
        (["timestamp", "timestamp_ntz"], "string"),
        (["binary", "string"], "string"),
        (["boolean", "int"], "string"),
        ([], "string"),
    ],
)
def test_several_types_are_the_one_that_holds_all(types, held):
    assert holding_all(types) == held
    assert holding_all(reversed(types)) == held


@pytest.mark.parametrize(
    ("worded", "data_type", "note"),
    [
        ("io.debezium.time.microduration", "bigint", "a number of microseconds"),
        ("io.debezium.time.nanoduration", "bigint", "a number of nanoseconds"),
        ("array<int32>", "string", "a list as JSON: from_json(the column, 'array<int>') reads it"),
        (
            "array<array<io.debezium.data.uuid>>",
            "string",
            "a list as JSON: from_json(the column, 'array<array<string>>') reads it",
        ),
        (
            "array<int32> or array<int64>",
            "string",
            "a list as JSON: from_json(the column, 'array<string>') reads it",
        ),
        ("array", "string", "a list as JSON: from_json(the column, 'array<string>') reads it"),
        (
            "io.debezium.data.json",
            "string",
            "text that holds JSON: get_json_object, from_json and try_parse_json read it",
        ),
        ("io.debezium.data.uuid", "string", "a UUID in text"),
        (
            "org.apache.kafka.connect.data.decimal(,0)",
            "string",
            "text, for the messages do not say how many digits it has",
        ),
        (
            "org.apache.kafka.connect.data.decimal(65,30)",
            "string",
            "text, for a decimal has no more than 38 digits here",
        ),
        ("io.debezium.time.microtime", "string", "text, for Delta has no type for a time of day"),
        ("string", "string", None),
        ("int32", "int", None),
    ],
)
def test_a_type_says_what_its_word_does_not(worded, data_type, note):
    assert type_note(worded, data_type) == note
