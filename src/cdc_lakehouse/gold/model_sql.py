"""Write the SQL of gold models for add-table, and their names into gold_problems.sql."""

import re
from collections.abc import Iterable

from cdc_lakehouse.gold.source_tables import SourceTable
from cdc_lakehouse.gold.type_notes import list_cast
from cdc_lakehouse.sql import identifier, quoted

# Words that a column may have as its name in Spark, but that readers of SQL stumble over.
RESERVED = """
    all and anti any as authorization both case cast check collate column constraint create cross
    current_date current_time current_timestamp current_user else end escape except false fetch
    filter for foreign from full grant group having in inner intersect into is join keys leading
    left natural not null on only or order outer overlaps pivot primary qualify references right
    select semi session_user some table then to trailing true union unique unknown user using
    when where window with
"""


def gold_names(columns: Iterable[str], reserved: Iterable[str] = ()) -> dict[str, str]:
    """Return of each source column the name that it can have in Delta, dbt and this project.

    Names that start with _ are the project's own, and case does not tell columns apart in Spark.
    Of several that become the same, all but the first, or the one that is as it is, get a number.
    """
    columns = list(columns)
    safe = {name: re.sub(r"\W", "_", name.lower()).lstrip("_") or "column" for name in columns}
    names = {name: name for name in columns if safe[name] == name and name not in reserved}
    taken = {*names.values(), *reserved}
    for name in columns:
        if name not in names:
            numbered = (f"{safe[name]}_{number}" for number in range(2, len(taken) + 3))
            candidates = (safe[name], *numbered)
            names[name] = next(each for each in candidates if each not in taken)
            taken.add(names[name])
    return names


def model_sql(table: SourceTable, names: dict[str, str], is_history: bool) -> str:
    """Return the text of a model's SQL file."""
    lines = ["{{ config(materialized='history') }}\n"] if is_history else []
    lines += ["select", "    {{ change_columns() }},"]
    for column in table.columns:
        comma = "" if column == table.columns[-1] else ","
        line = column_sql(column, table.data_type(column), names[column])
        lines.append(f"{line}{comma}{comment(table, column)}")
    lines.append(f"from {{{{ row_images({_argument(str(table))}) }}}}")
    return "\n".join(lines) + "\n"


def column_sql(source: str, data_type: str, name: str) -> str:
    """Return the line of a column: which one of the source it is, its type, and its own name."""
    text = image_of(source)
    if data_type == "binary":
        text = f"unhex({text})"
    elif data_type != "string":
        text = f"try_cast({text} as {data_type})"
    return f"    {text} as {identifier(name) if needs_backticks(name) else name}"


def image_of(source: str) -> str:
    """Return what a model reads of a column of the source: its text in the image of a row."""
    return f"image[{_literal(source)}]"


def _argument(text: str) -> str:
    """Return a text as an argument in Jinja, which has no { for Jinja either."""
    shown = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff{}%#]", code_point, shown) + "'"


def comment(table: SourceTable, column: str) -> str:
    """Return what stands behind the line of a column, "" if nothing does."""
    worded = table.types.get(column, ("",))[0]
    if worded.startswith("array"):
        return f"  -- a list: {list_cast(worded, image_of(column))}"
    fit = table.fits.get(column)
    if not fit:
        return ""
    if table.is_inferred(column):
        return f"  -- inferred from {fit.values_seen()}; a text that it alters is in _problems"
    return f"  -- {fit.data_type} fits {fit.values_seen()}"


def with_problems_of(sql: str, model: str) -> str | None:
    """Return the text of gold_problems.sql with a model in its list; None if it has no list."""
    listed = re.search(r"problems_of\(\s*\[(.*?)\]", sql, re.DOTALL)
    if not listed:
        return None
    refs = list(re.finditer(r"(\s*)ref\(\s*['\"](\w+)['\"]\s*\)", listed[1]))
    if model in (ref[2] for ref in refs):
        return sql
    entry, place = f"ref('{model}')", listed.start(1)
    before = [ref for ref in refs if ref[2] < model]
    if before:
        place += before[-1].end()
        entry = f",{before[-1][1] or ' '}{entry}"
    elif refs:
        place += refs[0].end(1)
        entry = f"{entry},{refs[0][1] or ' '}"
    elif "\n" in listed[1]:
        entry = f"\n        {entry},"
    return sql[:place] + entry + sql[place:]


def needs_backticks(name: str) -> bool:
    """Tell whether a column's name stands in backticks in a model."""
    return name in RESERVED.split() or not re.fullmatch("[a-z][a-z0-9_]*", name)


def _literal(text: str) -> str:
    """Return a text as a literal of Spark SQL that shows in an editor, and has no { for Jinja."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]", code_point, quoted(text))


def code_point(match: re.Match[str]) -> str:
    """Return a character that was found as SQL, YAML and JSON escape it."""
    return f"\\u{ord(match[0]):04x}"
