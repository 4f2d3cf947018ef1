"""Check the expressions of rules and of derived columns, as Spark understands them."""

from collections.abc import Iterator
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from cdc_lakehouse.delta.commit import set_for_one_statement
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.validated_rows import NULL_FOR_FAILURE
from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.runtime.jvm import java_frame, jvm_of
from dbt.adapters.lakehouse.connections import short_errors

WHOLE = ("tinyint", "smallint", "int", "bigint")
# What an expression may not have, by the names of Spark's patterns in a plan.
REFUSED = {
    "AGGREGATE_EXPRESSION": "an aggregate function",
    "WINDOW_EXPRESSION": "a window function",
    "PLAN_EXPRESSION": "a subquery",
    "GENERATOR": "a function that makes several rows",
    "PYTHON_UDF": "a function in Python, which a view cannot keep",
    "CURRENT_LIKE": "the time, user or database of the reader",
}


def check_expressions(spark: SparkSession, model: GoldModel) -> None:
    """Refuse an expression whose type or functions make it no function of one row.

    Raises:
        DbtRuntimeError: one has another type than it should, or a function that is refused.
    """
    rules, derived = model.row_rules.rules, model.row_rules.derived
    columns = {column.sql: column.data_type for column in (*model.key.columns, *model.values)}
    columns |= {each.column.sql: each.column.data_type for each in derived}
    row = ", ".join(f"cast(null as {kind}) as {name}" for name, kind in columns.items())
    expressions = [(f"rule {each.name}", each.expression) for each in rules]
    expressions += [(f"column {each.column.name}", each.expression) for each in derived]
    wanted = ["boolean"] * len(rules) + [each.column.data_type for each in derived]
    with short_errors(), set_for_one_statement(spark, NULL_FOR_FAILURE):
        for (what, expression), kind in zip(expressions, wanted, strict=True):
            said = f"{model.name}: {what}: `{expression.strip()}`"
            _check(spark, said, expression, row, kind, is_rule=what.startswith("rule "))


def _check(
    spark: SparkSession, said: str, expression: str, row: str, kind: str, is_rule: bool
) -> None:
    found = _analysed(spark, said, f"select (\n{expression}\n) as value from (select {row})")
    data_type = found.dtypes[0][1]
    if is_rule and data_type != "boolean":
        raise LakehouseError(
            f"{said} is of the type {data_type}; a rule is a condition, such as `amount >= 0`."
        )
    plan = java_frame(found).queryExecution().analyzed()
    pattern = jvm_of(spark).org.apache.spark.sql.catalyst.trees.TreePattern
    for name, meant in REFUSED.items():
        if plan.containsPattern(getattr(pattern, name)()):
            raise LakehouseError(f"{said} has {meant}; it has to be a function of one row alone.")
    value = plan.expressions().apply(0)
    if not value.deterministic():
        raise LakehouseError(f"{said} gives another value each time; use functions that do not.")
    for node in _nodes(value):
        if trouble := _can_be_wrong(node):
            raise LakehouseError(f"{said} {trouble}")
    cast = f"try_cast((\n{expression}\n) as {kind})"
    _analysed(spark, said, f"select {cast} as value from (select {row})")


def _analysed(spark: SparkSession, said: str, sql: str) -> DataFrame:
    try:
        return spark.sql(sql)
    except PySparkException as error:
        raise LakehouseError(f"{said} is refused by Spark: {short_message(error)}") from None


def _nodes(node: JavaObject) -> Iterator[Any]:
    """Yield an expression of Spark and all that it is made of."""
    yield node
    children = node.children()
    for place in range(children.size()):
        yield from _nodes(children.apply(place))


def _can_be_wrong(node: JavaObject) -> str | None:
    """Why an expression could give a wrong number where there is no right one, if it could.

    Whole numbers without a check begin again at the other end; all others are null then.
    """
    name, kind = node.getClass().getSimpleName(), node.dataType().simpleString()
    if kind not in WHOLE:
        return None
    functions = {"Add": "try_add", "Subtract": "try_subtract", "Multiply": "try_multiply"}
    if name in functions and str(node.evalMode()) != "TRY":
        return f"can be too large for {kind}; write {functions[name]}(a, b) for it."
    if name == "Cast" and str(node.evalMode()) != "TRY":
        source = node.child().dataType().simpleString()
        is_wider = source in WHOLE and WHOLE.index(source) < WHOLE.index(kind)
        if source not in (kind, "string", "boolean", "void") and not is_wider:
            return f"casts {source} to {kind}, which can be too small; write try_cast for it."
    return None
