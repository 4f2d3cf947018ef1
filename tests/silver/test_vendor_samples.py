"""Every message that the vendors' documents print, as printed and corrected, in silver.

tests/silver/vendor_samples/<format>/<name>.json holds a message from its first brace to its last,
byte for byte; <name>.corrected.json the same without what is no JSON (comments, a comma before a
closing brace, an ellipsis). What each must become is written here by hand, from the document.
"""

import io
import json
from pathlib import Path

import fastavro
import pytest
from shop import write_messages

DOCUMENTS = Path(__file__).parent / "vendor_samples"
CAPTURE = Path(__file__).parents[2] / "samples" / "vendor" / "canal-data-with-init.jsonl"

# The columns of silver.events that an expectation states; what it leaves out has to be null.
COLUMNS = [
    *("kind", "operation", "database_name", "schema_name", "table_name", "key_columns"),
    *("before", "after", "before_is_complete", "after_is_complete", "column_types", "ddl"),
    *("committed_at", "produced_at", "transaction_id", "transaction_row", "reject_reason"),
]


def row_change(operation, table, **columns):
    """Return an expected row change; images are complete unless the expectation says otherwise."""
    database, *schema, name = table.split("|")
    expected = {"kind": "row_change", "operation": operation, "database_name": database}
    expected |= {"schema_name": schema[0] if schema else None, "table_name": name}
    expected |= {f"{image}_is_complete": True for image in ("before", "after") if image in columns}
    return [expected | columns]


def rejected(reason):
    return [{"kind": "rejected", "reject_reason": reason}]


NOT_JSON = rejected("not_json")

# ---------------------------------------------------------------------------------------------
# OceanBase Migration Service

# The documents print one double, 1E-307, with all digits of its binary value: as 9.99...E-308 and,
# in the DataWorks samples, with the zeros written out.
DIGITS = (
    "999999999999999093266253372484619954704887340320456937072250493316478813410022170236685306"
    "110285951575783017584918228243784387925532007637698337754738298625128566834134619399897290"
    "654369372792288524766229486591679434355446221493480729436132941672166628217375554144801591"
    "156397912760548972014203897705803515339607715061990556648897702602917109778267250244017165"
    "230316273906526041440085979509354924332620424056355639932629496916989309754611348047912359"
    "946979384052000893178607312050101591177117046974715143444994871233112647073541723780995387"
    "378502198261451023662795913796604718812599767273565216024053297899062477635215259813914438"
    "876185752755886199280891169050617119753084678577564058109616190743318668839610809435427125"
    "59830853980002984826569445431232452392578125"
)
SCIENTIFIC = f"9.{DIGITS}E-308"
PLAIN = f"0.{'0' * 307}9{DIGITS}"

OMS_DEFAULT = {
    "col1": "3",
    "col2": "129",
    "col3": "2147483646",
    "col4": "9223372036854775806",
    "col5": "10223372036854775806",
    "col6": "1.2222",
    "col7": "9.999999999999",
    "col8": "hello world",
    "col9": "aGVsbG8gd29ybGQ=",
    "col10": "9.999999999999",
    "col11": "2020-11-25",
    "col12": "00:01:02",
    "col13": "2020-11-25 00:01:02",
    "col14": "1606233662.012345",
}
OMS_DEFAULT_DELETED = {name: text for name, text in OMS_DEFAULT.items() if name != "col6"}
OMS_DEFAULT_DELETED |= {"col16": "1.2222", "col7": "9.99999999", "col10": "9.999999999"}
IN_OMS_DEFAULT = {"key_columns": ["int8", "int16"], "committed_at": "2020-12-30 16:11:11"}

# The samples name types for columns that their images do not have (int8 against col1), so no value
# has a type and all stay as sent.
OMS_EXTENDED = OMS_DEFAULT | {"col7": SCIENTIFIC, "col10": SCIENTIFIC}
OMS_EXTENDED_TYPES = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "INT64",
    "bigInt": "BIGINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "string": "VARCHAR",
    "bytes": "BLOB",
    "decimal": "DECIMAL",
    "localDate": "DATE",
    "localTime": "TIME",
    "localDateTime": "DATETIME",
    "timestamp_in_long": "TIMESTAMP",
}
IN_OMS_EXTENDED = IN_OMS_DEFAULT | {"column_types": OMS_EXTENDED_TYPES}

# Here names and types fit: the BLOB, the DECIMAL and the TIMESTAMP are written in another way.
OMS_CANAL = {
    "col1": "2020-11-25 00:01:02",
    "col2": "hello world",
    "col3": "1.2222",
    "col4": SCIENTIFIC,
    "col5": "129",
    "col6": "00:01:02",
    "col7": "2147483646",
    "col8": "9223372036854775806",
    "col9": "68656c6c6f20776f726c64",
    "col10": "3",
    "col11": "2020-11-25",
    "col12": PLAIN,
    "col13": "10223372036854775806",
    "col14": "2020-11-24 16:01:02.012345",
}
OMS_CANAL_UPDATED = OMS_CANAL | {"col2": "hello world 2020"}
OMS_CANAL_TYPES = {
    "col1": "datetime",
    "col2": "varchar",
    "col3": "float",
    "col4": "double",
    "col5": "smallint",
    "col6": "time",
    "col7": "int",
    "col8": "int64",
    "col9": "blob",
    "col10": "tinyint",
    "col11": "date",
    "col12": "decimal",
    "col13": "bigint",
    "col14": "timestamp",
}
IN_OMS_CANAL = {
    "key_columns": ["col1", "col2"],
    "column_types": OMS_CANAL_TYPES,
    "committed_at": "2020-12-30 16:11:11",
}

OMS_DATAWORKS = {
    "col1": "3",
    "col2": "129",
    "col3": "2147483646",
    "col4": "9223372036854775806",
    "col5": "1.2222",
    "col6": PLAIN,
    "col7": "10223372036854775806",
    "col8": "1",
    "col9": "hello world",
    "col10": "aGVsbG8gd29ybGQ=",
    "col11": PLAIN,
    "col12": "2020-11-25",
    "col13": "00:01:02",
    "col14": "2020-11-25 00:01:02",
    "col15": "1606233662.012345",
    "col16": "2020-11-25 00:01:02.012345 Asia/Shanghai",
    "col17": "INTERVAL '3' DAY",
    "col18": "INTERVAL '4' YEAR",
}
OMS_DATAWORKS_TYPES = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "INT64",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "bigInt": "BIGINT",
    "boolean": "BOOLEAN",
    "string": "VARCHAR",
    "bytes": "BLOB",
    "decimal": "DECIMAL",
    "localDate": "DATE",
    "localTime": "TIME",
    "localDateTime": "DATETIME",
    "timestamp": "TIMESTAMP",
    "zonedDateTime": "ZONED_DATETIME",
    "intervalDayToSecond": "INTERVAL_DAY_TO_SECOND",
    "intervalYearToMonth": "INTERVAL_YEAR_TO_MONTH",
}
IN_OMS_DATAWORKS = {"key_columns": ["pkName1", "pkName2"], "column_types": OMS_DATAWORKS_TYPES}

OMS_SHAREPLEX = {
    "col1": "2020-11-25 00:01:02",
    "col2": "hello world",
    "col3": "INTERVAL '3' DAY",
    "col4": "1.2222",
    "col5": SCIENTIFIC,
    "col6": "129",
    "col7": "00:01:02",
    "col8": "1",
    "col9": "2020-11-25 00:01:02.012345 Asia/Shanghai",
    "col10": "2147483646",
    "col11": "9223372036854775806",
    "col12": "aGVsbG8gd29ybGQ=",
    "col13": "INTERVAL '4' YEAR",
    "col14": "3",
    "col15": "2020-11-25",
    "col16": SCIENTIFIC,
    "col17": "10223372036854775806",
    "col18": "1606233662.012345",
}
IN_OMS_SHAREPLEX = {
    "committed_at": "2020-11-25 00:01:02",
    "transaction_id": "shareplex_transaction_id",
    "transaction_row": 1,
}

OMS = {
    "oms_default/1_template.json": NOT_JSON,
    "oms_default/2_insert.json": NOT_JSON,
    "oms_default/2_insert.corrected.json": row_change(
        "insert",
        "db_name|table_name",
        after=OMS_DEFAULT | {"col7": "9.999999", "col10": "9.99999999999"},
        **IN_OMS_DEFAULT,
    ),
    "oms_default/3_update.json": NOT_JSON,
    "oms_default/3_update.corrected.json": row_change(
        "update",
        "db_name|table_name",
        before=OMS_DEFAULT,
        after=OMS_DEFAULT | {"col8": "hello world 2020"},
        **IN_OMS_DEFAULT,
    ),
    "oms_default/4_delete.json": row_change(
        "delete", "db_name|table_name", before=OMS_DEFAULT_DELETED, **IN_OMS_DEFAULT
    ),
    "oms_canal/1_template.json": NOT_JSON,
    "oms_canal/2_insert.json": row_change(
        "insert",
        "database|table",
        after=OMS_CANAL,
        produced_at="2021-04-13 14:17:09.026",
        **IN_OMS_CANAL,
    ),
    # `old` names a column, string, that `data` does not have.
    "oms_canal/3_update.json": row_change(
        "update",
        "database|table",
        before=OMS_CANAL_UPDATED | {"string": "hello world"},
        after=OMS_CANAL_UPDATED,
        produced_at="2021-04-14 01:42:52.908",
        **IN_OMS_CANAL,
    ),
    "oms_canal/4_delete.json": row_change(
        "delete",
        "database|table",
        before=OMS_CANAL,
        produced_at="2021-04-14 01:44:20.278",
        **IN_OMS_CANAL | {"key_columns": ["int8", "int16"]},
    ),
    "oms_dataworks/1_template.json": NOT_JSON,
    "oms_dataworks/2_heartbeat.json": NOT_JSON,
    "oms_dataworks/2_heartbeat.corrected.json": [
        {"kind": "heartbeat", "committed_at": "2021-05-08 07:07:39"}
    ],
    "oms_dataworks/3_insert.json": row_change(
        "insert",
        "db|tab",
        after=OMS_DATAWORKS,
        committed_at="2022-03-18 05:23:20",
        produced_at="2022-03-18 05:23:20.795",
        **IN_OMS_DATAWORKS | {"key_columns": ["pkName1", "pkName12"]},
    ),
    "oms_dataworks/4_update.json": row_change(
        "update",
        "db|tab",
        before=OMS_DATAWORKS,
        after=OMS_DATAWORKS | {"col9": "hello world 2020"},
        committed_at="2022-03-18 05:23:58",
        produced_at="2022-03-18 05:23:58.674",
        **IN_OMS_DATAWORKS,
    ),
    "oms_dataworks/5_delete.json": row_change(
        "delete",
        "db|tab",
        before=OMS_DATAWORKS,
        committed_at="2022-03-18 05:24:32",
        produced_at="2022-03-18 05:24:32.976",
        **IN_OMS_DATAWORKS,
    ),
    "oms_shareplex/1_template.json": NOT_JSON,
    "oms_shareplex/2_insert.json": row_change(
        "insert",
        "mock_database|mock_table",
        after=OMS_SHAREPLEX,
        produced_at="2020-12-07 13:22:00",
        **IN_OMS_SHAREPLEX,
    ),
    # `key` holds the whole row before the update, `data` a column that `key` does not have.
    "oms_shareplex/3_update.json": row_change(
        "update",
        "mock_database|mock_table",
        before=OMS_SHAREPLEX,
        after=OMS_SHAREPLEX | {"string": "hello world 2020"},
        produced_at="2020-12-07 13:59:09",
        **IN_OMS_SHAREPLEX,
    ),
    "oms_shareplex/4_delete.json": row_change(
        "delete",
        "mock_database|mock_table",
        before=OMS_SHAREPLEX,
        produced_at="2020-12-07 13:34:10",
        **IN_OMS_SHAREPLEX,
    ),
    "oms_default_extend/1_template.json": NOT_JSON,
    "oms_default_extend/2_insert.json": row_change(
        "insert", "database|table", after=OMS_EXTENDED, **IN_OMS_EXTENDED
    ),
    "oms_default_extend/3_update.json": row_change(
        "update",
        "database|table",
        before=OMS_EXTENDED,
        after=OMS_EXTENDED | {"col8": "hello world 2020"},
        **IN_OMS_EXTENDED,
    ),
    "oms_default_extend/4_delete.json": row_change(
        "delete", "database|table", before=OMS_EXTENDED, **IN_OMS_EXTENDED
    ),
}

# ---------------------------------------------------------------------------------------------
# OceanBase subscription. Of the Avro format the document prints the schema alone; the records are
# written here.

SCOOTER = {"id": "111", "name": "name", "description": "Big 2-wheel scooter", "weight": "5.18"}
OCEANBASE_CANAL = {
    "oceanbase_canal/1_update.json": row_change(
        "update",
        "inventory|products",
        key_columns=["id"],
        before=SCOOTER | {"weight": "5.15"},
        after=SCOOTER,
        column_types={
            "id": "INTEGER",
            "name": "VARCHAR(255)",
            "description": "VARCHAR(512)",
            "weight": "FLOAT",
        },
        committed_at="2020-05-13 12:39:20",
        produced_at="2020-05-13 12:39:20.798",
        sequence=(1589373560000, 9),
    ),
}


def column_value(type_info, value):
    """Return a ColumnValue; a value of a named type is the type's name with its fields."""
    if isinstance(value, tuple):
        value = (f"com.xxx.oms.xxx.xxx.avro.{value[0]}", value[1])
    return {"type_info": type_info, "value": value}


def oceanbase_record(number, operation, **fields):
    record = {"id": number, "version": 1, "operation": operation, "timestamp": 1609344671}
    # The default of these two is a text in the schema, which fastavro does not write as bytes.
    return record | {"beforeImageBytes": b"", "afterImageBytes": b""} | fields


def thing(name):
    values = [
        ("INTEGER", 3),
        ("STRING", name),
        ("DECIMAL", ("DecimalObject", {"precision": 6, "scale": 2, "value": "1.20"})),
        ("BINARY", b"hello world"),
        ("DATE", ("DateObject", {"year": 2020, "month": 11, "day": 25})),
        ("TIMESTAMP", ("TimestampObject", {"seconds": 1606233662, "nanos": 12345000})),
        ("NULL", None),
    ]
    return [column_value(*value) for value in values]


THING = {
    "id": "3",
    "name": "hello world",
    "price": "1.20",
    "content": "68656c6c6f20776f726c64",
    "made_on": "2020-11-25",
    "seen_at": "2020-11-24 16:01:02.012345",
    "note": None,
}
OF_THINGS = {
    "schemaName": "shop",
    "tableName": "things",
    "xid": "1002_336195",
    "source": {"sourceType": "OB_MYSQL", "version": "4.2.1"},
    "fields": [{"name": name, "dataTypeNumber": n} for n, name in enumerate(THING)],
    "pkIndexes": [0],
}
OCEANBASE_RECORDS = {
    "oceanbase_avro/begin": oceanbase_record(100, "BEGIN", xid="1002_336195"),
    "oceanbase_avro/insert": oceanbase_record(
        101, "INSERT", txind="B", afterImages=thing("hello world"), **OF_THINGS
    ),
    "oceanbase_avro/update": oceanbase_record(
        102,
        "UPDATE",
        txind="M",
        beforeImages=thing("hello world"),
        afterImages=thing("hello world 2020"),
        **OF_THINGS,
    ),
    "oceanbase_avro/delete": oceanbase_record(
        103, "DELETE", txind="E", beforeImages=thing("hello world 2020"), **OF_THINGS
    ),
    "oceanbase_avro/commit": oceanbase_record(104, "COMMIT", xid="1002_336195"),
    "oceanbase_avro/ddl": oceanbase_record(
        105,
        "DDL",
        schemaName="shop",
        tableName="things",
        sql="alter table things add column size int",
    ),
    "oceanbase_avro/heartbeat": oceanbase_record(106, "HEARTBEAT"),
}
IN_OCEANBASE = {"committed_at": "2020-12-30 16:11:11"}
IN_THINGS = IN_OCEANBASE | {
    "key_columns": ["id"],
    "transaction_id": "1002_336195",
    # A null has no type, so the number of its column stands for it.
    "column_types": {
        "id": "INTEGER",
        "name": "STRING",
        "price": "DECIMAL",
        "content": "BINARY",
        "made_on": "DATE",
        "seen_at": "TIMESTAMP",
        "note": "6",
    },
}
OCEANBASE_AVRO = {
    "oceanbase_avro/begin": [
        {"kind": "transaction_begin", "transaction_id": "1002_336195", **IN_OCEANBASE}
    ],
    "oceanbase_avro/insert": row_change(
        "insert", "shop|things", after=THING, sequence=(101,), **IN_THINGS
    ),
    "oceanbase_avro/update": row_change(
        "update",
        "shop|things",
        before=THING,
        after=THING | {"name": "hello world 2020"},
        sequence=(102,),
        **IN_THINGS,
    ),
    "oceanbase_avro/delete": row_change(
        "delete",
        "shop|things",
        before=THING | {"name": "hello world 2020"},
        sequence=(103,),
        **IN_THINGS,
    ),
    "oceanbase_avro/commit": [
        {"kind": "transaction_end", "transaction_id": "1002_336195", **IN_OCEANBASE}
    ],
    "oceanbase_avro/ddl": [
        {
            "kind": "schema_change",
            "database_name": "shop",
            "table_name": "things",
            "ddl": "alter table things add column size int",
            "sequence": (105,),
            **IN_OCEANBASE,
        }
    ],
    "oceanbase_avro/heartbeat": [{"kind": "heartbeat", **IN_OCEANBASE}],
}

# ---------------------------------------------------------------------------------------------
# DataWorks

PERSON = {"name": "name11", "job": "job11", "sex": "man", "#alibaba_rds_row_id#": "15"}
OF_PERSONS = {
    "column_types": {
        "name": "STRING",
        "job": "STRING",
        "sex": "STRING",
        "#alibaba_rds_row_id#": "LONG",
    }
}
OF_THE_UPDATE = OF_PERSONS | {
    "committed_at": "2021-05-08 07:14:37",
    "produced_at": "2021-05-08 07:14:37.779",
    "sequence": (1620457642589000001,),
}
DATAWORKS_KAFKA = {
    "dataworks_kafka/1_template.json": NOT_JSON,
    "dataworks_kafka/2_heartbeat.json": [
        {"kind": "heartbeat", "committed_at": "2021-05-08 07:07:39"}
    ],
    "dataworks_kafka/3_insert.json": row_change(
        "insert",
        "pkset_test|pkset_test_no_pk",
        after=PERSON,
        committed_at="2021-05-08 07:11:36",
        produced_at="2021-05-08 07:11:36.977",
        sequence=(1620457642589000000,),
        **OF_PERSONS,
    ),
    "dataworks_kafka/4_update_before.json": row_change(
        "update_before", "pkset_test|pkset_test_no_pk", before=PERSON, **OF_THE_UPDATE
    ),
    "dataworks_kafka/5_update_after.json": row_change(
        "update_after",
        "pkset_test|pkset_test_no_pk",
        after=PERSON | {"sex": "woman"},
        **OF_THE_UPDATE,
    ),
    "dataworks_kafka/6_update_in_one.json": row_change(
        "update",
        "pkset_test|pkset_test_no_pk",
        before=PERSON,
        after=PERSON | {"sex": "woman"},
        **OF_THE_UPDATE,
    ),
    "dataworks_kafka/7_delete.json": row_change(
        "delete",
        "pkset_test|pkset_test_no_pk",
        before=PERSON | {"sex": "woman"},
        committed_at="2021-05-08 07:17:46",
        produced_at="2021-05-08 07:17:46.101",
        sequence=(1620457642589000002,),
        **OF_PERSONS,
    ),
}

# ---------------------------------------------------------------------------------------------
# Data Transmission Service (DTS), Data Replication Service (DRS)

IN_DTS_CANAL = {
    "database_name": "dbname",
    "table_name": "tablename",
    "committed_at": "2020-09-15 09:24:54",
    "produced_at": "2020-09-15 09:24:54.771",
    "sequence": (58, 0),
}
OF_TABLENAME = IN_DTS_CANAL | {
    "key_columns": ["id"],
    "column_types": {"id": "bigint", "shipping_type": "varchar"},
}
MIO_LOG = {
    "MIO_LOG_ID": "32537893",
    "PLNMIO_REC_ID": "31557806",
    "POL_CODE": None,
    "CNTR_TYPE": None,
    "CNTR_NO": "1171201606syui26",
}
DTS = {
    # The owner of an Oracle table is its schema, and the database where the route names none.
    "dts_shareplex/1_insert.json": row_change(
        "insert",
        "CL_BIZ1|CL_BIZ1|MIO_LOG",
        after={"MIO_LOG_ID": "32539737"},
        committed_at="2017-06-16 14:24:34",
        produced_at="2017-06-16 14:33:52",
        transaction_id="7.0.411499",
        transaction_row=1,
        sequence=(14589063118712, 1),
    ),
    "dts_shareplex/2_update.json": NOT_JSON,
    # `key` is not said to be the whole row, but what it holds and `data` does not is unchanged.
    "dts_shareplex/2_update.corrected.json": row_change(
        "update",
        "CL_BIZ1|CL_BIZ1|MIO_LOG",
        before=MIO_LOG,
        after=MIO_LOG | {"CNTR_NO": "1171201606"},
        before_is_complete=False,
        after_is_complete=False,
        committed_at="2017-06-16 15:38:13",
    ),
    # The printed DELETE names no table.
    "dts_shareplex/3_delete.json": NOT_JSON,
    "dts_shareplex/3_delete.corrected.json": rejected("missing_table"),
    # mysqlType names id, which the row in `old` does not have.
    "dts_canal/1_delete_row_in_old.json": row_change(
        "delete",
        "dbname|tablename",
        before={"shipping_type": "aaa"},
        **OF_TABLENAME | {"before_is_complete": False},
    ),
    "dts_canal/2_delete.json": row_change(
        "delete",
        "dbname|tablename",
        before={"id": "500000287", "shipping_type": None},
        **OF_TABLENAME,
    ),
    "dts_canal/3_ddl.json": NOT_JSON,
    "dts_canal/3_ddl.corrected.json": [
        {"kind": "schema_change", "ddl": "eg:createxxx", **IN_DTS_CANAL}
    ],
}

# c12 and c14 are printed as lists of bytes, which are these texts.
C12 = (
    b"jgojgoidsjgojosog934094309tjhrgjew9tu09340teroejg98304i"
    b"eurg9ewurg0weut9r04u095tu3092ut093ut0w9e"
)
C14 = (
    b"jgojgoidsjgojosog934094309tjhrgjew9tu09340teroejg98304i"
    b'79846546661465!@#$%^*()_)+_+|}"?>::'
    b"eurg9ewurg0weut9r04u095tu3092ut093ut0w9e"
)
DRS_NEW = {
    "c11": "",
    "c10": "cloud",
    "c13": "asfiajhfiaf939-0239uoituqorjoqirfoidjfqrniowejoiwqjroqwjrowqjojoiqgoiegnkjgoi23roi"
    "ugouofdug9u90weurtg103",
    "c12": C12.hex(),
    "c14": C14.hex(),
    "c1": "cf3f70a7-7565-44b0-ae3c-83bec549ea8e:104",
    "c2": "",
    "c3": "103",
    "c4": "2021-06-25 17:51:53",
    "c5": "2021-06-25 09:51:53.201",
    "c6": "!@#$%90weurtg103",
    "c7": "10357.0",
    "c8": "1.2510357E7",
    "c9": "9874510357",
    "id": "104",
}
DRS = {
    # The update changes the key, and the table's name ends with a blank.
    "drs_json/1_update.json": row_change(
        "update",
        "test01|test ",
        key_columns=["id"],
        before=DRS_NEW | {"c13": "asfiajhfiaf939-0239", "id": "103"},
        after=DRS_NEW,
        column_types={
            "c11": "binary",
            "c10": "varchar",
            "c13": "text",
            "c12": "varbinary",
            "c14": "blob",
            "c1": "varchar",
            "c2": "varbinary",
            "c3": "int",
            "c4": "datetime",
            "c5": "timestamp",
            "c6": "char",
            "c7": "float",
            "c8": "double",
            "c9": "decimal",
            "id": "int",
        },
        committed_at="2021-06-25 09:51:53",
        produced_at="2021-06-30 13:12:06.990",
        sequence=(27677, 0),
    ),
}

# ---------------------------------------------------------------------------------------------
# A capture with rows of a full load, from the tests of Apache Flink

OF_PRODUCTS = {
    "key_columns": ["id"],
    "column_types": {
        "id": "INTEGER",
        "name": "VARCHAR(255)",
        "description": "VARCHAR(512)",
        "weight": "FLOAT",
    },
}


def product(number, name, description, weight, **more):
    return {"id": number, "name": name, "description": description, "weight": weight} | more


CAR_BATTERY = product("102", "car battery", "12V car battery", "8.1")
DRILL_BITS = product(
    "103", "12-pack drill bits", "12-pack of drill bits with sizes ranging from #40 to #3", "0.8"
)
ROCKS = product("107", "rocks", "box of assorted rocks", "5.3")
JACKET = product("110", "jacket", "water resistent white wind breaker", "0.2")
BIG_SCOOTER = product("111", "scooter", "Big 2-wheel scooter ", "5.18")
NEW_JACKET = product("110", "jacket", "new water resistent white wind breaker", "0.5")
SMALL_SCOOTER = product("101", "scooter", "Small 2-wheel scooter", "3.14")
LOADED = [
    SMALL_SCOOTER | {"other": "val1"},
    CAR_BATTERY,
    DRILL_BITS,
    product("104", "hammer", "12oz carpenter's hammer", "0.75"),
    product("105", "hammer", "14oz carpenter's hammer", "0.875"),
    product("106", "hammer", None, "1.0"),
    ROCKS,
    product("108", "jacket", "water resistent black wind breaker", "0.1"),
    product("109", "spare tire", "24 inch spare tire", "22.2"),
]


def product_changes(operation, number, committed_at, written_at, *images):
    """Return one row change for each (before, after); None is an image that is not there."""
    changes = []
    for row, image in enumerate(images):
        given = {name: i for name, i in zip(("before", "after"), image, strict=True) if i}
        changes += row_change(
            operation,
            "inventory|products2",
            committed_at=f"2020-05-13 {committed_at}",
            produced_at=f"2020-05-13 {written_at}",
            sequence=(number, row),
            **given,
            **OF_PRODUCTS,
        )
    return changes


FLINK_CAPTURE = [
    product_changes("snapshot", 3, "12:38:35", "12:38:35.477", *((None, row) for row in LOADED)),
    product_changes(
        "update",
        4,
        "12:39:06",
        "12:39:06.301",
        (
            product("106", "hammer", None, "1.0", other="val2"),
            product("106", "hammer", "18oz carpenter hammer", "1.0", other="val0"),
        ),
    ),
    product_changes("update", 5, "12:39:09", "12:39:09.489", (ROCKS, ROCKS | {"weight": "5.1"})),
    product_changes("insert", 6, "12:39:12", "12:39:12.882", (None, JACKET)),
    product_changes("insert", 7, "12:39:15", "12:39:15.457", (None, BIG_SCOOTER)),
    product_changes("update", 8, "12:39:18", "12:39:18.230", (JACKET, NEW_JACKET)),
    product_changes(
        "update", 9, "12:39:20", "12:39:20.798", (BIG_SCOOTER, BIG_SCOOTER | {"weight": "5.17"})
    ),
    product_changes(
        "delete", 10, "12:39:23", "12:39:23.798", (BIG_SCOOTER | {"weight": "5.17"}, None)
    ),
    product_changes(
        "update",
        11,
        "12:42:33",
        "12:42:33.939",
        (SMALL_SCOOTER, SMALL_SCOOTER | {"weight": "5.17"}),
        (CAR_BATTERY, CAR_BATTERY | {"weight": "5.17"}),
    ),
    [
        {
            "kind": "schema_change",
            "database_name": "inventory",
            "table_name": "user02",
            "ddl": "CREATE TABLE `xj_`.`user02` (`uid` int(0) NOT NULL,`uname` varchar(255) NULL,"
            " PRIMARY KEY (`uid`))",
            "committed_at": "2020-05-13 12:39:26",
            "produced_at": "2020-05-13 12:39:26",
            "sequence": (13, 0),
        }
    ],
    product_changes(
        "delete",
        12,
        "12:46:53",
        "12:46:53.680",
        (CAR_BATTERY | {"weight": "5.17"}, None),
        (DRILL_BITS, None),
    ),
]

EXPECTED = OMS | OCEANBASE_CANAL | OCEANBASE_AVRO | DATAWORKS_KAFKA | DTS | DRS
EXPECTED |= {f"dts_canal/flink_{line}": rows for line, rows in enumerate(FLINK_CAPTURE)}

# Formats whose writers take the types of a message from the image, so that only a new row is whole.
FROM_THE_IMAGE = ("oms_canal", "oceanbase_canal", "dts_canal", "drs_json", "drs_json_c")
FROM_THE_IMAGE += ("dataworks_kafka",)
for name, rows in EXPECTED.items():
    for row in rows if name.startswith(FROM_THE_IMAGE) else []:
        if row.get("operation") not in (None, "insert", "snapshot"):
            row |= {
                part: False for part in row.keys() & {"before_is_complete", "after_is_complete"}
            }

# ---------------------------------------------------------------------------------------------


def printed_samples():
    """Return the samples as (name, value), the records of the printed Avro schema included."""
    paths = sorted(DOCUMENTS.glob("*/*.json"))
    samples = [(f"{path.parent.name}/{path.name}", path.read_bytes()) for path in paths]
    # The one place where the printed schema is no Avro: nanos is an int with the default null.
    text = (DOCUMENTS / "oceanbase_avro" / "schema.avsc").read_text()
    valid = text.replace('"type": "int",\n"default": null\n', '"type": "int"\n')
    schema = fastavro.parse_schema(json.loads(valid))
    for name, record in OCEANBASE_RECORDS.items():
        encoded = io.BytesIO()
        fastavro.schemaless_writer(encoded, schema, record)
        samples.append((name, encoded.getvalue()))
    lines = CAPTURE.read_bytes().splitlines()
    return samples + [(f"dts_canal/flink_{line}", text) for line, text in enumerate(lines)]


def write_routes(project):
    topics = project / "seeds" / "topics.csv"
    routes = topics.read_text()
    for name in sorted({name.split("/")[0] for name in EXPECTED}):
        if f"\nvendor.{name}," not in routes:
            routes += f"vendor.{name},{name},,,,\n"
    topics.write_text(routes)


@pytest.fixture(scope="module")
def landed(open_lakehouse, tmp_path_factory):
    """All samples, each format's on a topic of its own, each sample at an offset of its own."""
    lakehouse = open_lakehouse("vendor-samples", change=write_routes)
    landing = tmp_path_factory.mktemp("vendor-landing")
    samples = printed_samples()
    write_messages(
        landing / "samples.parquet",
        [(f"vendor.{name.split('/')[0]}", 0, n, value) for n, (name, value) in enumerate(samples)],
    )
    lakehouse.ingest(landing)
    lakehouse.dbt("seed")
    lakehouse.dbt("run", "-s", "+row_changes", "+schema_changes")
    lakehouse.offsets = {name: offset for offset, (name, _) in enumerate(samples)}
    return lakehouse


TEXTS_OF_TIMES = ", ".join(
    f"date_format({name}, 'yyyy-MM-dd HH:mm:ss.SSSSSS') as {name}"
    for name in ("committed_at", "produced_at")
)


@pytest.fixture(scope="module")
def results(landed):
    """The rows of silver.events by the name of the sample that they come from."""
    names = {offset: name for name, offset in landed.offsets.items()}
    rows = landed.query(
        f"select * except (committed_at, produced_at), {TEXTS_OF_TIMES}"
        " from silver.events order by offset, row_number"
    )
    found = {}
    for row in rows:
        found.setdefault(names[row["offset"]], []).append(row)
    return found


def stated(row):
    """Write an expected or found row out in full, times with microseconds."""
    full = {name: row.get(name) for name in COLUMNS}
    for name in ("committed_at", "produced_at"):
        text = full[name]
        if text and "." not in text:
            text += "."
        full[name] = text and text.ljust(26, "0")
    return full


def differences(found, expected):
    """Return what differs, so that a failure does not show the digits of all that is equal."""
    return {name: (found[name], v) for name, v in expected.items() if found[name] != v}


def test_every_sample_has_an_expectation():
    assert sorted(name for name, _ in printed_samples()) == sorted(EXPECTED)


@pytest.mark.parametrize("path", sorted(DOCUMENTS.glob("*/*.corrected.json")), ids=lambda p: p.stem)
def test_a_corrected_sample_only_leaves_out_what_is_no_json(path):
    printed = path.with_name(path.name.replace(".corrected", "")).read_text()
    with pytest.raises(json.JSONDecodeError):
        json.loads(printed)
    json.loads(path.read_text())
    rest = iter(printed)
    assert all(character in rest for character in path.read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_a_sample_becomes_what_the_document_says(results, name):
    found, expected = results.get(name, []), EXPECTED[name]
    assert [row["row_number"] for row in found] == list(range(len(expected)))
    for row, sought in zip(found, expected, strict=True):
        assert differences(stated(row), stated(sought)) == {}
        assert (row["reject_detail"] is None) is (sought["kind"] != "rejected")
        if "sequence" in sought:
            numbers = [int(number) for number in row["sequence"].split(".")]
            assert tuple(numbers[: len(sought["sequence"])]) == sought["sequence"]


def test_an_update_in_two_messages_is_one_row_change(landed):
    first = landed.offsets["dataworks_kafka/4_update_before.json"]
    rows = landed.query(
        "select offset, operation, before, after, before_is_complete, after_is_complete"
        f" from silver.row_changes where offset between {first} and {first + 2} order by offset"
    )
    images = (PERSON, PERSON | {"sex": "woman"})
    # The third sample is the same update in one message.
    assert [tuple(row.values()) for row in rows] == [
        (first + 1, "update", *images, False, False),
        (first + 2, "update", *images, False, False),
    ]


def test_the_views_show_every_sample_that_is_a_change(landed):
    kinds = [row["kind"] for rows in EXPECTED.values() for row in rows]
    count = "select count(*) as n from silver."
    # A before/after pair is one change; the two printed DELETEs of DTS Canal differ in content.
    assert landed.query(f"{count}row_changes")[0]["n"] == kinds.count("row_change") - 1
    assert landed.query(f"{count}schema_changes")[0]["n"] == kinds.count("schema_change")
