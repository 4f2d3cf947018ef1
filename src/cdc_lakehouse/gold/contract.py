"""The data contract of gold tables, as the Open Data Contract Standard (ODCS) writes one.

It says what a reader may rely on, and only what the project itself declares or checks: its YAML,
its tests and rules, its protected columns and its limits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdc_lakehouse.engine.columns import (
    CHANGE_COLUMNS,
    SHOWN_ONLY,
    VERSION_COLUMNS,
    primary_key,
)
from cdc_lakehouse.engine.materializations import HISTORY, kind_of
from cdc_lakehouse.engine.rules import Rule, read_rules
from cdc_lakehouse.gold.read_models import rendered
from cdc_lakehouse.gold.source_fields import fields_of
from cdc_lakehouse.protection import Protection
from cdc_lakehouse.sql import identifier, quoted

ODCS = "v3.0.2"
# ODCS 3.0 has one type for dates and times: physicalType tells them apart.
LOGICAL_TYPES = {
    **dict.fromkeys(("string", "binary"), "string"),
    **dict.fromkeys(("tinyint", "smallint", "int", "integer", "bigint"), "integer"),
    **dict.fromkeys(("decimal", "float", "double"), "number"),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "date"),
    **dict.fromkeys(("map", "struct"), "object"),
    **{"array": "array", "boolean": "boolean"},
}
FURTHER_TYPES = CHANGE_COLUMNS | VERSION_COLUMNS | {"_is_deleted": "boolean"}
VIOLATIONS = {
    "keep": "A row that breaks it is shown, and _problems names the rule.",
    "null": "A row that breaks it is shown without the value, and _problems names the rule.",
    "hold": "A row that breaks it is held back until a change mends it.",
}
SEVERITIES = {"warn": "warning", "error": "error"}
# The macros whose result is known where the SQL of a model is read without dbt.
KNOWN_MACROS = {"macro.dbt_lakehouse.change_columns", "macro.dbt_lakehouse.row_images"}


@dataclass(frozen=True)
class Project:
    """The parts of a project that go into a contract.

    Attributes:
        name, version: as dbt_project.yml says.
        models: the gold models as dbt's manifest has them, by relation, such as gold.orders.
        tests: the generic data tests of the manifest.
        owners: the names of those that own the groups of models, by group.
        sources: those that seeds/topics.csv names.
        limit: the value of a limit of seeds/limits.csv for a subject; None if there is none.
    """

    name: str
    version: str
    models: Mapping[str, Mapping[str, Any]]
    tests: Sequence[Mapping[str, Any]]
    owners: Mapping[str, str]
    protection: Protection
    sources: Sequence[str]
    limit: Callable[[str, str], float | None]


def contract(project: Project, tables: Iterable[str]) -> dict[str, Any]:
    """Return the data contract of some tables, named as the models are.

    Raises:
        LakehouseError: a model has no key, or a rule that cannot be one.
    """
    models = {table: project.models[table] for table in tables}
    described = [_Table(project, table, model) for table, model in models.items()]
    groups = [model.get("group") or "" for model in models.values()]
    owners = dict.fromkeys(project.owners[name] for name in groups if name in project.owners)
    return _filled(
        apiVersion=ODCS,
        kind="DataContract",
        id=f"{project.name}.gold",
        name=f"Gold tables of {project.name}",
        version=project.version,
        status="active",
        schema=[table.document() for table in described],
        team=[{"name": name, "role": "owner"} for name in owners],
        slaProperties=[*_of_sources(project), *(x for table in described for x in table.limits())],
    )


def _of_sources(project: Project) -> Iterator[dict[str, Any]]:
    for source in project.sources:
        value = project.limit("incomplete_seconds", source)
        if value is not None:
            yield _seconds("latency", value, f"source {source}")


def _seconds(name: str, value: float, of: str, **further: str) -> dict[str, Any]:
    seconds = int(value) if value.is_integer() else value
    return {"property": name, "value": seconds, "valueExt": of, "unit": "s", **further}


def _filled(**properties: Any) -> dict[str, Any]:
    """Return the properties that say something; false is what each is by default."""
    return {name: value for name, value in properties.items() if value}


class _Table:
    """A gold table, to be described."""

    def __init__(self, project: Project, name: str, model: Mapping[str, Any]) -> None:
        self._project, self._name, self._model = project, name, model
        config = model["config"]
        self._kind = kind_of(model)
        self._key = primary_key(model)
        self._rules = read_rules(model, self._key, config.get("on_violation") or "keep")
        self._columns = list(_shown(model))
        # A macro of the project may be anything: without dbt, the SQL is not known.
        macros = set((model.get("depends_on") or {}).get("macros") or ())
        sql = rendered(model["raw_code"])[0] if macros <= KNOWN_MACROS else ""
        self._fields = fields_of(model, self._rules, sql)
        self._tests = [x for x in project.tests if x.get("attached_node") == model["unique_id"]]

    @property
    def _row(self) -> list[str]:
        """The columns by which a row is one: a version is known by the change that began it."""
        return [*self._key, *(["_sequence"] if self._kind == HISTORY else [])]

    def document(self) -> dict[str, Any]:
        """Return the table as an object of the contract's schema."""
        tables = self._fields.table_names
        return _filled(
            name=self._model["name"],
            physicalName=self._name,
            logicalType="object",
            physicalType="view",
            description=_text(self._model),
            tags=list(self._model.get("tags") or ()),
            dataGranularityDescription=f"One row per {', '.join(self._row)}",
            properties=[self._property(column) for column in self._columns],
            quality=[*map(self._rule, self._rules_of(None)), *map(_test, self._tests_of(None))],
            customProperties=[{"property": "sourceTables", "value": tables}] if tables else [],
        )

    def limits(self) -> Iterator[dict[str, Any]]:
        """Yield how often a change has to come of each source table that is known."""
        for table in self._fields.table_names:
            value = self._project.limit("silence_seconds", table)
            if value is not None:
                of = f"source table {table}"
                yield _seconds("frequency", value, of, element=self._model["name"])

    def _property(self, column: Mapping[str, Any]) -> dict[str, Any]:
        name, kind = column["name"], column["data_type"]
        is_of_row = name in self._row
        lines = self._fields.protecting(name, self._project.protection)
        derived = next((x for x in self._rules.derived if x.column.name == name), None)
        of_source = name in self._fields.columns
        methods = dict.fromkeys(f"{line.method} in {line.layer}" for line in lines)
        protection = [{"property": "protection", "value": ", ".join(methods)}]
        read = self._fields.columns.get(name) or []
        return _filled(
            name=name,
            logicalType=_logical_type(kind),
            physicalType=kind,
            description=_text(column),
            tags=list(column.get("tags") or ()),
            primaryKey=is_of_row,
            primaryKeyPosition=self._row.index(name) + 1 if is_of_row else None,
            required=is_of_row or self._is_never_null(name),
            unique=self._row == [name],
            transformSourceObjects=[f"{t}.{c}" for t in self._fields.table_names for c in read],
            transformLogic=derived.expression if derived else None,
            classification="restricted" if of_source and lines else None,
            quality=[*map(self._rule, self._rules_of(name)), *map(_test, self._tests_of(name))],
            customProperties=protection if of_source and lines else [],
        )

    def _is_never_null(self, name: str) -> bool:
        condition = f"{identifier(name)} is not null"
        of_it = [rule for rule in self._rules.rules if rule.on_violation == "hold"]
        return any(rule.expression.strip() == condition for rule in of_it)

    def _rules_of(self, column: str | None) -> list[Rule]:
        """The rules of one column, or those of the table, which are of none or several."""
        rules = self._rules.rules
        return [x for x in rules if (x.columns[0] if len(x.columns) == 1 else None) == column]

    def _tests_of(self, column: str | None) -> list[Mapping[str, Any]]:
        return [test for test in self._tests if (test.get("column_name") or None) == column]

    def _rule(self, rule: Rule) -> dict[str, Any]:
        broken = f"exists(_problems, problem -> problem.code = {quoted(rule.name)})"
        return {
            "name": rule.name,
            "description": f"{rule.expression.strip()}. {VIOLATIONS[rule.on_violation]}",
            "type": "sql",
            "query": f"select count(*) from {self._name} where {broken}",
            "mustBe": 0,
        }


def _test(test: Mapping[str, Any]) -> dict[str, Any]:
    said = test["test_metadata"]
    given = {k: v for k, v in said["kwargs"].items() if k not in ("model", "column_name")}
    return _filled(
        name=said["name"],
        description=_text(test),
        type="custom",
        engine="dbt",
        severity=SEVERITIES[test["config"]["severity"].lower()],
        implementation={"test": said["name"]} | ({"arguments": given} if given else {}),
    )


def _text(described: Mapping[str, Any]) -> str:
    return str(described.get("description") or "").strip()


def _logical_type(data_type: str) -> str | None:
    return LOGICAL_TYPES.get(data_type.lower().partition("(")[0].partition("<")[0].strip())


def _shown(model: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The columns that readers see: those of the YAML, then those that need no line there."""
    config, columns = model["config"], model["columns"]
    further = SHOWN_ONLY[kind_of(model)]
    has_further = kind_of(model) == HISTORY or config.get("on_delete") == "flag"
    for name, column in columns.items():
        if name not in further or has_further:
            yield column
    for name, kind in FURTHER_TYPES.items():
        if name not in columns and (name in CHANGE_COLUMNS or (name in further and has_further)):
            yield {"name": name, "data_type": kind}
