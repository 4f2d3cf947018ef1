"""What a run of dbt read and wrote, as OpenLineage events with the columns of gold tables."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID, uuid5

from cdc_lakehouse.engine.columns import primary_key
from cdc_lakehouse.engine.materializations import gold_kind
from cdc_lakehouse.engine.rules import read_rules
from cdc_lakehouse.engine.source_tables import IMAGES, SourceTable
from cdc_lakehouse.gold.source_fields import SourceFields, fields_of
from cdc_lakehouse.package import RELEASE
from cdc_lakehouse.protection import Protection

Event = dict[str, Any]
PRODUCER = f"urn:cdc_lakehouse:{RELEASE}"
SPEC = "https://openlineage.io/spec"
SCHEMA_OF_EVENT = f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
FACETS = {
    "columnLineage": "1-2-0/ColumnLineageDatasetFacet",
    "errorMessage": "1-0-1/ErrorMessageRunFacet",
    "parent": "1-2-0/ParentRunFacet",
    "schema": "1-2-0/SchemaDatasetFacet",
}
FAILED = {"error", "fail", "runtime error", "partial success"}
# A model that dbt has not run has no event.
LEFT_OUT = {"skipped", "no-op"}


@dataclass(frozen=True)
class DbtRun:
    """A run of dbt.

    Attributes:
        results, manifest: what dbt left in run_results.json and manifest.json.
        namespace: of the jobs and of the tables that dbt knows.
        source_namespace: of the tables of the sources.
    """

    results: Mapping[str, Any]
    manifest: Mapping[str, Any]
    protection: Protection
    namespace: str
    source_namespace: str

    def events(self) -> Iterator[Event]:
        """Yield the events of the run and of each model that it ran, in their order in time.

        Raises:
            LakehouseError: the manifest has a gold model that cannot be one.
        """
        said = self.results["metadata"]
        began, ended = said["invocation_started_at"], said["generated_at"]
        results = [x for x in self.results["results"] if x["status"] not in LEFT_OUT]
        yield self._event("START", began, self._run, self._job, {})
        models = [self.manifest["nodes"].get(x["unique_id"]) for x in results]
        found: list[Event] = []
        for result, node in zip(results, models, strict=True):
            if node and node["resource_type"] == "model":
                found += self._events_of(result, node, began, ended)
        yield from sorted(found, key=lambda event: str(event["eventTime"]))
        failed = any(x["status"] in FAILED for x in results)
        yield self._event("FAIL" if failed else "COMPLETE", ended, self._run, self._job, {})

    @property
    def _run(self) -> str:
        return str(self.results["metadata"]["invocation_id"])

    @cached_property
    def _job(self) -> str:
        return f"{self.manifest['metadata']['project_name']}.{self.results['args']['which']}"

    def _event(
        self, kind: str, time: str, run: str, job: str, facets: Event, **datasets: Any
    ) -> Event:
        return {
            "eventType": kind,
            "eventTime": time,
            "producer": PRODUCER,
            "schemaURL": SCHEMA_OF_EVENT,
            "run": {"runId": run, "facets": facets},
            "job": {"namespace": self.namespace, "name": job},
            "inputs": [],
            "outputs": [],
        } | datasets

    def _events_of(
        self, result: Mapping[str, Any], node: Mapping[str, Any], began: str, ended: str
    ) -> Iterator[Event]:
        run = str(uuid5(UUID(self._run), node["unique_id"]))
        job = f"{node['package_name']}.{node['name']}"
        of = {"namespace": self.namespace, "name": self._job}
        facets = _facet("parent", run={"runId": self._run}, job=of)
        times = result.get("timing") or [{"started_at": began, "completed_at": ended}]
        read = list(dict.fromkeys(self._relations(node)))
        inputs = [self._dataset(name) for name in read]
        output = self._dataset(_relation(node)) | {"facets": _schema(node)}
        if gold_kind(node["config"]["materialized"]) and result.get("compiled_code"):
            fields = self._fields(node, result["compiled_code"])
            inputs += [self._source(name) for name in fields.table_names]
            lineage = {
                column: {"inputFields": self._input_fields(fields, column)}
                for column in fields.columns
            }
            output["facets"] |= _facet("columnLineage", fields=lineage)
        datasets = {"inputs": inputs, "outputs": [output]}
        yield self._event("START", times[0]["started_at"], run, job, facets, **datasets)
        kind = "FAIL" if result["status"] in FAILED else "COMPLETE"
        if kind == "FAIL":
            message = str(result.get("message") or "")
            facets = facets | _facet("errorMessage", message=message, programmingLanguage="SQL")
        yield self._event(kind, times[-1]["completed_at"], run, job, facets, **datasets)

    def _dataset(self, name: str) -> Event:
        return {"namespace": self.namespace, "name": name}

    def _source(self, name: str) -> Event:
        return {"namespace": self.source_namespace, "name": name}

    def _relations(self, node: Mapping[str, Any]) -> Iterator[str]:
        """The tables and views that a model reads, through models that are only a part of it."""
        known = self.manifest["nodes"] | self.manifest["sources"]
        for name in node["depends_on"]["nodes"]:
            read = known.get(name)
            if read and (read.get("config") or {}).get("materialized") == "ephemeral":
                yield from self._relations(read)
            elif read and read.get("relation_name"):
                yield _relation(read)

    def _fields(self, node: Mapping[str, Any], sql: str) -> SourceFields:
        violation = node["config"].get("on_violation") or "keep"
        return fields_of(node, read_rules(node, primary_key(node), violation), sql)

    def _input_fields(self, fields: SourceFields, column: str) -> list[Event]:
        """The columns of the sources that a column is made from, and the map that has them."""
        read = fields.columns[column] or ()
        found = [
            self._source(SourceTable(*table).name)
            | {"field": name, "transformations": _made(self._is_masked(table, name))}
            for table in fields.tables or ()
            for name in read
        ]
        masked = [each["transformations"][0]["masking"] for each in found]
        images = {"field": "image", "transformations": _made(bool(masked) and all(masked))}
        return [*found, self._dataset(".".join(IMAGES)) | images]

    def _is_masked(self, table: tuple[str, str | None, str], column: str) -> bool:
        """Whether a line protects a column for certain: one of a schema may be of another table."""
        database, schema, name = table
        return any(
            line.is_of_table(database, schema or "", name) and line.is_of_column(column)
            for line in self.protection.lines
        )


def _made(is_masked: bool) -> list[Event]:
    return [{"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": is_masked}]


def _facet(name: str, **said: Any) -> Event:
    return {name: {"_producer": PRODUCER, "_schemaURL": _address(name)} | said}


def _address(name: str) -> str:
    version, _, schema = FACETS[name].partition("/")
    return f"{SPEC}/facets/{version}/{schema}.json#/$defs/{schema}"


def _relation(node: Mapping[str, Any]) -> str:
    return str(node["relation_name"]).replace("`", "")


def _schema(node: Mapping[str, Any]) -> Event:
    described = [
        {"name": c["name"], "type": c.get("data_type") or "", "description": c["description"]}
        for c in node["columns"].values()
    ]
    fields = [{name: text for name, text in each.items() if text} for each in described]
    return _facet("schema", fields=fields) if fields else {}
