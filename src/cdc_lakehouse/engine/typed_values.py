"""The SQL that types the values of a change, and finds those that do not fit or are not carried.

The texts are SQL over the rows of a gold model's query.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cdc_lakehouse.engine.columns import NO_PROBLEMS, PROBLEMS, Column, listed
from cdc_lakehouse.engine.projection import is_carried_in_part, is_in_doubt

ZERO_DATE = "'^0000-00-00|^[0-9]{4}-00-|^[0-9]{4}-[0-9]{2}-00'"
# A member of a list of problems that is none.
NO_PROBLEM = f"cast(null as {PROBLEMS.removeprefix('array<').removesuffix('>')})"
NUMBER = r"r'^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$'"


Reads = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class TypedValues:
    """Columns of a gold model's query, and the columns of the source that each is made from."""

    columns: Sequence[Column]
    reads: Reads

    @cached_property
    def _doubts(self) -> Mapping[str, str]:
        """The doubts of the columns that can have some, by their names."""
        said = {column.name: _doubt(column, self.reads) for column in self.columns}
        return {name: text for name, text in said.items() if text}

    @property
    def doubts(self) -> str:
        """The doubts, each under its name; maybe of none."""
        return listed(self.doubted, lambda c: f"{self._doubts[c.name]} as {c.doubt}")

    @property
    def doubted(self) -> Sequence[Column]:
        """The columns that can have a doubt."""
        return [column for column in self.columns if column.name in self._doubts]

    def fitting(self, key: Sequence[str], kept: str) -> str:
        """Return the values that fit; a row that is not kept, as it is deleted, has its key only.

        Args:
            kept: the condition that a row is kept; empty if all are.
        """

        def typed(column: Column) -> str:
            conditions = [kept] if kept and column.name not in key else []
            if column.name in self._doubts:
                conditions.append(f"{column.doubt} is null")
            if not conditions:
                return column.sql
            return f"if({' and '.join(conditions)}, {column.sql}, null) as {column.sql}"

        return listed(self.columns, typed)

    @property
    def unfit(self) -> str:
        """The values that do not fit: each column, its doubt or an empty text, and the text.

        A value counts as lost where the source has a text and the projection gives null. Most have
        lost nothing: the text, for which the image is searched, is not asked for then. Spark
        compiles what stands in no lambda.
        """

        def unfit(column: Column) -> str:
            text = column.source_text
            is_lost, code = f"{column.sql} is null and {text} is not null", "''"
            if column.name in self._doubts:
                is_lost = f"{column.doubt} is not null or {is_lost}"
                code = f"coalesce({column.doubt}, '')"
            said = f"named_struct('column', {column.literal}, 'code', {code}, 'text', {text})"
            return f"if({is_lost}, {said}, null)"

        unfits = listed(self.columns, unfit)
        return f"array_except(array(\n    {unfits}\n), array({NO_PROBLEM}))"


def _doubt(column: Column, reads: Reads) -> str:
    """Return why a value may not be what the source has, though its column can hold it; or nothing.

    out_of_range, invalid and loses_digits of times and decimals; altered where the type was
    inferred and would write the text otherwise (01234 as 1234), but for zeros behind the point;
    not_carried where the change carries a part only of the source columns that the column is made
    from. A value that is made from a part, such as `coalesce(image['a'], image['b'])`, may be wrong
    if the image lacks other columns as well.

    Args:
        reads: the columns of the source that each column is made from.
    """
    own = reads.get(column.name, ())
    cases = [*_other_days(column), *_lost_digits(column), *_altered(column)]
    if len(own) > 1:
        absent = f"{column.source_text} is null and {is_carried_in_part(own)}"
        cases = [
            f"when {is_in_doubt(own, reads)} then 'not_carried'",
            f"when {column.sql} is null then case when {absent} then 'not_carried' end",
            *cases,
        ]
    elif cases:
        cases = [f"when {column.sql} is null then null", *cases]
    return f"case {' '.join(cases)} end" if cases else ""


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


def problems_of_values(kept: str = "") -> str:
    """Return the problems of `_unfit` values: each column, the code, and the text.

    zero_date, out_of_range or invalid where the value has no doubt.

    Args:
        kept: the condition that a row is kept; empty if all are.
    """
    code = (
        "case when unfit.code <> '' then unfit.code"
        f" when unfit.text rlike {ZERO_DATE} then 'zero_date'"
        f" when unfit.text rlike {NUMBER} then 'out_of_range' else 'invalid' end"
    )
    problem = f"named_struct('column', unfit.column, 'code', {code}, 'text', unfit.text)"
    problems = f"if(size(_unfit) = 0, _unfit, transform(_unfit, unfit -> {problem}))"
    return f"if({kept}, {problems}, {NO_PROBLEMS})" if kept else problems
