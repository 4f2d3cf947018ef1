"""The SQL that types a change: which of its values do not fit their column, and which it lacks.

A value counts as lost where the source has a text and the projection gives null, or gives fewer
digits. The texts are SQL over the rows of a gold model's query.
"""

from collections.abc import Mapping, Sequence

from cdc_lakehouse.engine.columns import PROBLEMS, Column, listed
from cdc_lakehouse.engine.projection import is_half_carried, is_in_doubt

ZERO_DATE = "'^0000-00-00|^[0-9]{4}-00-|^[0-9]{4}-[0-9]{2}-00'"
# A member of a list of problems that is none.
NO_PROBLEM = f"cast(null as {PROBLEMS.removeprefix('array<').removesuffix('>')})"
NUMBER = r"r'^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$'"


def value_problem(
    column: Column, reads: Sequence[str] = (), of_all: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Return why a column's value does not fit its type; null if it does.

    zero_date, out_of_range, loses_digits or invalid; altered where the type was inferred and would
    write the text otherwise (01234 as 1234), but for zeros behind the point; not_carried where the
    change carries a part only of the source columns that the column is made from, `reads`.

    Most values can have lost nothing: the text, for which the image is searched, is not asked for
    then. A value that is made from a part, such as `coalesce(image['a'], image['b'])`, may be wrong
    if the image lacks other columns as well: `of_all` has what each of them is made from.
    """
    text, value = column.source_text, column.sql
    absent = f"case when {is_half_carried(reads)} then 'not_carried' end"
    missing = [
        f"when {text} is null then {absent if len(reads) > 1 else 'null'}",
        f"when {text} rlike {ZERO_DATE} then 'zero_date'",
        f"when {text} rlike {NUMBER} then 'out_of_range'",
        "else 'invalid'",
    ]
    doubt = f"when {is_in_doubt(reads, of_all or {})} then 'not_carried'"
    cases = [doubt] if len(reads) > 1 else []
    cases += [f"when {value} is null then case {' '.join(missing)} end"]
    cases += [*_other_days(column), *_lost_digits(column), *_altered(column)]
    return f"case {' '.join(cases)} end"


def _other_days(column: Column) -> list[str]:
    """Cases of a text that Spark takes for a day of a year that it does not mean.

    A number is a year to a cast, a clock a time of today, and 44 BC the year 44; a model may read
    them in another way. Days of other years than 1 to 9999 are none to Python and Arrow: a query
    that meets one fails there.
    """
    kind, text, value = column.kind, column.source_text, column.sql
    if kind not in ("date", "timestamp", "timestamp_ntz"):
        return []
    last = "9999-12-31" if kind == "date" else "9999-12-31 23:59:59.999999"
    is_cast = f"{value} <=> try_cast({text} as {kind})"
    return [
        f"when {value} not between {kind}'0001-01-01' and {kind}'{last}' then 'out_of_range'",
        f"when not contains({text}, '-') and {is_cast} then 'invalid'",
        f"when endswith({text}, ' BC') and {is_cast} then 'out_of_range'",
    ]


def _lost_digits(column: Column) -> list[str]:
    text, value = column.source_text, column.sql
    if column.kind.startswith("decimal"):
        precision, scale = _decimal(column.kind)
        whole = f"decimal(38, {38 - precision + scale})"
        digits = rf"length(regexp_extract({text}, r'^[^eE.]*\.([0-9]*?)0*$', 1))"
        return [
            f"when {text} = cast({value} as string) then null",
            f"when {digits} > {scale} then 'loses_digits'",
            f"when {value} <> try_cast({text} as {whole}) then 'loses_digits'",
        ]
    if column.kind == "date":
        return [f"when {text} rlike '[ T].*[1-9]' then 'loses_digits'"]
    if column.kind.startswith("timestamp"):
        digits = rf"length(regexp_extract({text}, r'\.([0-9]*?)0*$', 1))"
        return [f"when {digits} > 6 then 'loses_digits'"]
    return []


def _altered(column: Column) -> list[str]:
    text, written = column.source_text, f"cast({column.sql} as string)"
    if not column.is_inferred:
        return []
    if column.kind.startswith("decimal"):
        return [f"when not startswith({written}, {text}) then 'altered'"]
    return [f"when {text} <> {written} then 'altered'"]


def _decimal(kind: str) -> tuple[int, int]:
    """The precision and scale of a decimal type; Spark's own where it says none."""
    given = kind.partition("(")[2].rstrip(")").split(",") if "(" in kind else ["10"]
    return int(given[0]), int(given[1]) if len(given) > 1 else 0


def value_problems(columns: Sequence[Column], reads: Mapping[str, Sequence[str]]) -> str:
    """Return of each column why its value does not fit, under the name of its problem.

    In a step of its own: it is asked three times and worked out once.
    """

    def problem(column: Column) -> str:
        said = value_problem(column, reads.get(column.name, ()), reads)
        return f"{said} as {column.problem}"

    return listed(columns, problem)


def typed_values(columns: Sequence[Column], key: Sequence[str], is_kept: str) -> str:
    """Return the values that fit; a row that is not kept, as it is deleted, has its key only."""

    def typed(column: Column) -> str:
        kept = "" if column.name in key else f"{is_kept} and "
        return f"case when {kept}{column.problem} is null then {column.sql} end as {column.sql}"

    return listed(columns, typed)


def problems_of_values(columns: Sequence[Column], where: str = "true") -> str:
    """Return the values that do not fit: each column, the code of its problem, and the text.

    Spark does not compile what stands in a lambda, nor what is filtered by one.
    """

    def problem(column: Column) -> str:
        return (
            f"if({column.problem} is not null and {where}, named_struct('column', {column.literal},"
            f" 'code', {column.problem}, 'text', {column.source_text}), null)"
        )

    return f"array_except(array(\n    {listed(columns, problem)}\n), array({NO_PROBLEM}))"
