"""The words and numbers that messages use for column types, each with a type of Spark."""

UNSIGNED_BIGINT = "decimal(20, 0)"

# The words of MySQL, Oracle and PostgreSQL, as Canal's mysqlType, DRS's columnType and OMS's
# schemaType give them; a word that is not here is text. The texts in silver are those of its
# format pages: `timestamp` is in UTC, bytes are hex.
WORDS = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "year", "int2"), "int"),
    "int4": "int",
    **dict.fromkeys(("int64", "int8", "oid"), "bigint"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("float4", "binary_float"), "float"),
    **dict.fromkeys(("double", "double precision", "real", "float8", "binary_double"), "double"),
    "date": "date",
    **dict.fromkeys(("datetime", "oracle date", "oracle timestamp"), "timestamp_ntz"),
    "timestamp without time zone": "timestamp_ntz",
    "timestamp": "timestamp",
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob"), "binary"),
    **dict.fromkeys(("binary", "varbinary", "long binary", "long varbinary"), "binary"),
    **dict.fromkeys(("bytes", "bytea", "raw", "long raw"), "binary"),
    **dict.fromkeys(("geometry", "geomcollection", "geometrycollection"), "binary"),
    **dict.fromkeys(("point", "linestring", "polygon"), "binary"),
    **dict.fromkeys(("multipoint", "multilinestring", "multipolygon"), "binary"),
}
# The types of integers with a sign and, second, without it.
INTEGERS = {
    **dict.fromkeys(("int", "integer"), ("int", "bigint")),
    "bigint": ("bigint", UNSIGNED_BIGINT),
}
DECIMALS = frozenset(("decimal", "dec", "numeric", "fixed", "number"))

# OceanBase Avro: the kind of the value. LONG goes on in DECIMAL where a bigint is unsigned, FLOAT
# of Oracle mode has more digits than a float, TIMESTAMP is a moment in UTC or with its zone.
OCEANBASE = {
    "integer": "bigint",
    "long": UNSIGNED_BIGINT,
    **dict.fromkeys(("float", "double"), "double"),
    "boolean": "boolean",
    "bit": UNSIGNED_BIGINT,
    "date": "date",
    "datetime": "timestamp_ntz",
    "timestamp": "timestamp",
    **dict.fromkeys(("binary", "raw", "geometry"), "binary"),
}

# In Oracle mode a DATE has a clock, and a TIMESTAMP may have a zone of its own.
OCEANBASE_ORACLE = OCEANBASE | {"date": "timestamp_ntz", "timestamp": "string"}

# DataWorks: six words for all types. DATE is a date, a datetime or a timestamp, with a clock.
DATAWORKS = {
    "long": UNSIGNED_BIGINT,
    "boolean": "boolean",
    "date": "timestamp_ntz",
    "bytes": "binary",
}

# Debezium: the type of Kafka Connect, or the semantic type that stands in its place.
CONNECT_DECIMAL = "org.apache.kafka.connect.data.Decimal"
ZONED_TIMESTAMPS = frozenset(
    ("io.debezium.time.ZonedTimestamp", "io.debezium.time.StructuredZonedTimestamp")
)
BITS = "io.debezium.data.Bits"
DEBEZIUM = {
    "boolean": "boolean",
    **dict.fromkeys(("int8", "int16", "int32", "io.debezium.time.Year"), "int"),
    **dict.fromkeys(
        ("int64", "io.debezium.time.MicroDuration", "io.debezium.time.NanoDuration"), "bigint"
    ),
    **dict.fromkeys(("float", "float32"), "float"),
    **dict.fromkeys(("double", "float64"), "double"),
    "bytes": "binary",
    **dict.fromkeys(
        (
            "io.debezium.time.Date",
            "io.debezium.time.IsoDate",
            "io.debezium.time.StructuredDate",
            "org.apache.kafka.connect.data.Date",
        ),
        "date",
    ),
    **dict.fromkeys(
        (
            "io.debezium.time.Timestamp",
            "io.debezium.time.MicroTimestamp",
            "io.debezium.time.IsoTimestamp",
            "io.debezium.time.StructuredTimestamp",
            "org.apache.kafka.connect.data.Timestamp",
        ),
        "timestamp_ntz",
    ),
    **dict.fromkeys(
        (f"io.debezium.data.geometry.{name}" for name in ("Geometry", "Geography", "Point")),
        "binary",
    ),
}

# DTS Avro: `dataTypeNumber`, here as words. MySQL's are the types of its binlog.
MYSQL = {
    0: "decimal",
    1: "tinyint",
    2: "smallint",
    3: "int",
    4: "float",
    5: "double",
    6: "null",
    7: "timestamp",
    8: "bigint",
    9: "mediumint",
    10: "date",
    11: "time",
    12: "datetime",
    13: "year",
    14: "date",
    15: "varchar or varbinary",
    16: "bit",
    17: "timestamp",
    18: "datetime",
    19: "time",
    245: "json",
    246: "decimal",
    247: "enum",
    248: "set",
    249: "tinyblob or tinytext",
    250: "mediumblob or mediumtext",
    251: "longblob or longtext",
    252: "blob or text",
    253: "varchar or varbinary",
    254: "char or binary",
    255: "geometry",
}
ORACLE = {
    1: "varchar2",
    2: "number",
    8: "long",
    12: "oracle date",
    23: "raw",
    24: "long raw",
    58: "xmltype",
    69: "rowid",
    96: "char",
    100: "binary_float",
    101: "binary_double",
    112: "clob",
    113: "blob",
    114: "bfile",
    180: "oracle timestamp",
    181: "timestamp with time zone",
    182: "interval year to month",
    183: "interval day to second",
    208: "urowid",
    231: "timestamp with local time zone",
}
# PostgreSQL's are the OIDs of its types; those from 1000 on that are not here are text.
POSTGRESQL = {
    16: "boolean",
    17: "bytea",
    18: "char",
    19: "name",
    20: "int8",
    21: "int2",
    23: "int4",
    25: "text",
    26: "oid",
    114: "json",
    142: "xml",
    600: "geometric text",
    601: "geometric text",
    602: "geometric text",
    603: "geometric text",
    604: "geometric text",
    628: "geometric text",
    650: "cidr",
    700: "float4",
    701: "float8",
    718: "geometric text",
    774: "macaddr8",
    790: "money",
    829: "macaddr",
    869: "inet",
    1042: "char",
    1043: "varchar",
    1082: "date",
    1083: "time",
    1114: "timestamp without time zone",
    1184: "timestamp with time zone",
    1186: "interval",
    1266: "time with time zone",
    1560: "text of bits",
    1562: "text of bits",
    1700: "numeric",
    2950: "uuid",
    3802: "jsonb",
}
AVRO_FORMATS = frozenset(("dts_avro", "oceanbase_avro", "drs_avro"))
DRS_JSON = frozenset(("drs_json", "drs_json_c"))

# The databases whose types those of a `source_type` are; the types of any other are not known.
FAMILIES = {
    **dict.fromkeys(("mysql", "mariadb", "drds", "taurusdb", "tidb"), "mysql"),
    **dict.fromkeys(("ob_mysql", "oceanbase"), "mysql"),
    **dict.fromkeys(("oracle", "ob_oracle", "ob_in_oracle_mode"), "oracle"),
    **dict.fromkeys(("postgresql", "ppas"), "postgresql"),
}
NUMBERS = {"mysql": MYSQL, "oracle": ORACLE, "postgresql": POSTGRESQL}
# What words mean that MySQL means otherwise. DRS writes the types of all sources but MySQL into
# `columnType`, so that one without a `source_type` is any of them.
WORDS_OF_FAMILIES = {
    "mysql": {},
    "oracle": {"date": "timestamp_ntz", "timestamp": "timestamp_ntz"},
    "postgresql": {
        "timestamp": "timestamp_ntz",
        "float": "double",
        "bit": "string",
        **dict.fromkeys(("int", "integer"), "int"),
        "bigint": "bigint",
    },
    "not mysql": {"timestamp": "timestamp_ntz", "float": "string", "bit": "string"},
    "unknown": {"timestamp": "string", "float": "string", "bit": "string"},
}
