"""Choose the Spark type that holds every value of a source column, by the type in its messages.

The rule is that nothing is lost. Where messages do not say enough about a type, the column gets a
type that holds every possible value, or text if there is none. A person who knows better narrows it
in the model. This concerns

- integers without a known sign: an `int` becomes bigint, since it may be unsigned, a `bigint`
  decimal(20, 0). A length, as in `int(11)`, tells the sign; OceanBase Canal and TiCDC always do;
- decimals without known digits, and those of more than 38 digits: text;
- DOUBLE of DataWorks, which also stands for decimals: text;
- bits without a known number: decimal(20, 0), since 64 bits are an unsigned bigint;
- numbers of MySQL types in DTS Avro that mean bytes and characters (252: blob and text): text,
  bytes in hex;
- times with a zone of their own, times of day, intervals, times in nanoseconds: text.

A word or number may mean different types in different databases: `source_type` of the messages
says which database it is.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from cdc_lakehouse.gold.type_words import (
    AVRO_FORMATS,
    BITS,
    CONNECT_DECIMAL,
    DATAWORKS,
    DEBEZIUM,
    DECIMALS,
    DRS_JSON,
    FAMILIES,
    INTEGERS,
    MYSQL,
    NUMBERS,
    OCEANBASE,
    OCEANBASE_ORACLE,
    ORACLE,
    POSTGRESQL,
    UNSIGNED_BIGINT,
    WORDS,
    WORDS_OF_FAMILIES,
    ZONED_TIMESTAMPS,
)

WHOLE_DIGITS = {"int": 10, "bigint": 19}


@dataclass(frozen=True)
class SeenType:
    """A type that messages of a format give a column, as they word it.

    `has_clock` tells whether a value of the column is a date with a time that is not midnight,
    `source_type` the kind of database, None where the messages do not say.
    """

    format: str
    column: str
    type: str
    has_clock: bool = False
    source_type: str | None = None


def column_types(seen: Iterable[SeenType], has_schema: bool) -> dict[str, tuple[str, str]]:
    """Return of each column of a table its types in words, and the Spark type that holds all.

    Args:
        seen: the types of the table's columns, in all formats that bring its rows.
        has_schema: whether the table lies in a schema. Where messages do not say what database
            they come from, it tells the numbers of Oracle and PostgreSQL from those of MySQL.
    """
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    by_source = defaultdict(list)
    seen = list(seen)
    only_source = _only_sources(seen)
    for each in seen:
        source_type = each.source_type or only_source.get(each.format)
        by_source[each.format, source_type].append(each)
    for (format, source_type), types in by_source.items():
        numbers = {int(each.type) for each in types if each.type.isdecimal()}
        # The number that an OceanBase record has beside a NULL means nothing that is documented.
        has_words = format == "oceanbase_avro" or any(not e.type.isdecimal() for e in types)
        for each in types:
            if not (format in AVRO_FORMATS and each.type.isdecimal()):
                data_type = spark_type(format, each.type, source_type)
                if data_type == "date" and each.has_clock:
                    data_type = "timestamp_ntz"  # Oracle's DATE is one
                found[each.column].add((each.type.lower(), data_type))
            elif not has_words:
                families = _families(source_type, numbers, has_schema)
                found[each.column].add(_numbered(int(each.type), families))
    return {
        column: (" or ".join(sorted({word for word, _ in types})), holding_all(t for _, t in types))
        for column, types in found.items()
    }


def _only_sources(seen: Iterable[SeenType]) -> dict[str, str]:
    """Return of each format whose messages name one database which it is.

    Rows that silver already had when it began to keep the database lack it.
    """
    named = defaultdict(set)
    for each in seen:
        if each.source_type is not None:
            named[each.format].add(each.source_type)
    return {format: next(iter(types)) for format, types in named.items() if len(types) == 1}


def spark_type(format: str, worded: str, source_type: str | None = None) -> str:
    """Return the Spark type that holds every value of a type that a format's messages word so.

    Args:
        source_type: the kind of database, None where the messages do not say.
    """
    if format.startswith(("debezium", "mongodb")):
        return _debezium_type(worded, source_type)
    match = re.match(r"\s*([a-z_0-9 ]+)(?:\(\s*([^)]*)\))?(.*)", worded.lower(), re.DOTALL)
    if not match:
        return "string"
    sizes = [part.strip() for part in (match[2] or "").split(",")] if match[2] else []
    words = f"{match[1]} {match[3]}".split()
    word = " ".join(w for w in words if w not in ("unsigned", "signed", "zerofill"))
    if format == "dataworks_kafka":
        return DATAWORKS.get(word, "string")
    family = _family(format, source_type)
    if format in AVRO_FORMATS:
        return (OCEANBASE_ORACLE if family == "oracle" else OCEANBASE).get(word, "string")
    if format.startswith("oms_"):  # whose words are OMS's own, but for the date of Oracle
        if (family, word) == ("oracle", "date"):
            return "timestamp_ntz"
    elif word == "float" and family == "oracle":
        return _oracle_float(sizes)
    elif word in WORDS_OF_FAMILIES[family] and _sized(word, sizes) != "string":
        return WORDS_OF_FAMILIES[family][word]
    if word in INTEGERS:
        # A type with its length is MySQL's in full, which says if there is no sign.
        is_signed = "unsigned" not in words and bool(
            sizes or format in ("canal", "oceanbase_canal", "tidb_canal")
        )
        return INTEGERS[word][0 if is_signed else 1]
    return _sized(word, sizes) or WORDS.get(word, "string")


def _debezium_type(worded: str, source_type: str | None) -> str:
    """Return the type of a column of Debezium, which writes the same word for any database."""
    word, _, digits = worded.rstrip(")").partition("(")
    if word == CONNECT_DECIMAL:
        precision, _, scale = digits.partition(",")
        return _decimal(int(precision), int(scale)) if precision else "string"
    family = FAMILIES.get(source_type or "", "unknown")
    # MySQL and PostgreSQL keep the moment alone, others a zone with it.
    if word in ZONED_TIMESTAMPS and family in ("mysql", "postgresql"):
        return "timestamp"
    if word == BITS and family == "mysql":  # of others there may be more than 64
        return UNSIGNED_BIGINT
    return DEBEZIUM.get(word, "string")


def holding_all(types: Iterable[str]) -> str:
    """Return the narrowest type that holds the values of all `types`, text if there is none."""
    held = set(types)
    if len(held) == 1:
        return held.pop()
    if held == {"float", "double"}:
        return "double"
    if held == {"date", "timestamp_ntz"}:
        return "timestamp_ntz"
    numbers = [_digits(data_type) for data_type in held]
    if not numbers or None in numbers:
        return "string"
    whole, fraction = (max(part) for part in zip(*numbers, strict=True))
    if held <= WHOLE_DIGITS.keys():
        return "bigint"
    return _decimal(whole + fraction, fraction)


def wider_type(data_type: str, seen: set[str]) -> str | None:
    """Return the type that a column needs beside its own to hold those seen of it, None if none.

    A type that none of those seen explains was chosen by a person, who knows what it holds.
    """
    own = re.sub(r"\s*,\s*", ", ", data_type.lower())
    are_exact = all(_digits(each) for each in (own, *seen))
    if own == "string" or not (own in seen or are_exact):
        return None
    wider = holding_all({own, *seen})
    return wider if wider != own else None


def _sized(word: str, sizes: list[str]) -> str | None:
    """Return the type of what is as wide as it says, None of all else."""
    numbers = [int(size) for size in sizes if re.fullmatch("-?[0-9]+", size)]
    if word in DECIMALS:
        if sizes[:1] == ["*"]:  # NUMBER(*, 2), all the digits that Oracle has
            numbers = [38, *numbers]
        return _decimal(*numbers[:2]) if numbers else "string"
    if word == "bit":
        return "bigint" if numbers and numbers[0] < 64 else UNSIGNED_BIGINT
    if word == "float":
        # FLOAT(24) and FLOAT(7, 4) of MySQL are four bytes, FLOAT(25) eight, Oracle's may be more.
        bits = numbers[0] if len(numbers) == 1 else 0
        return "float" if bits <= 24 else "double" if bits <= 53 else "string"
    if word in ("datetime", "timestamp", "timestamp without time zone") and numbers:
        return "string" if numbers[0] > 6 else None
    return None


def _decimal(precision: int, scale: int = 0) -> str:
    # Oracle's NUMBER(5, -2) counts hundreds, NUMBER(3, 5) begins after two zeros.
    precision, scale = max(precision, scale, precision - scale), max(scale, 0)
    return f"decimal({precision}, {scale})" if 1 <= precision <= 38 else "string"


def _digits(data_type: str) -> tuple[int, int] | None:
    """Return the digits before and after the point of an exact number, None of any other type."""
    if data_type in WHOLE_DIGITS:
        return WHOLE_DIGITS[data_type], 0
    match = re.fullmatch(r"decimal\((\d+), (\d+)\)", data_type)
    return match and (int(match[1]) - int(match[2]), int(match[2]))


def _family(format: str, source_type: str | None) -> str:
    """Return the database whose words a message's types are."""
    if source_type is None:
        return "not mysql" if format in DRS_JSON else "mysql"
    return FAMILIES.get(source_type, "unknown")


def _oracle_float(sizes: list[str]) -> str:
    """Return the type of Oracle's FLOAT, a decimal number of so many binary digits, or of 126."""
    # A double keeps fifteen decimal digits.
    is_short = len(sizes) == 1 and sizes[0].isdecimal() and int(sizes[0]) <= 49
    return "double" if is_short else "string"


def _families(source_type: str | None, numbers: set[int], has_schema: bool) -> list[dict[int, str]]:
    """Return the databases whose types the `dataTypeNumber`s of a table, `numbers`, may be.

    Where the messages do not say, the table tells: only Oracle's and PostgreSQL's have schemas,
    and all its numbers are of one of the two.
    """
    if source_type is not None:
        family = FAMILIES.get(source_type)
        return [NUMBERS[family]] if family else []
    if not has_schema:
        return [MYSQL]
    return [f for f in (ORACLE, POSTGRESQL) if all(_is_of(number, f) for number in numbers)]


def _numbered(number: int, families: list[dict[int, str]]) -> tuple[str, str]:
    """Return the word and the Spark type of a `dataTypeNumber`; text where families disagree."""
    words = sorted({family.get(number, f"type {number}") for family in families})
    data_type = holding_all(spark_type("dts_canal", word) for word in words)
    return " or ".join(words) or f"type {number}", data_type


def _is_of(number: int, family: dict[int, str]) -> bool:
    return number in family or (family is POSTGRESQL and number >= 1000)
