"""`lakehouse lineage`: what a run read and wrote, as OpenLineage's own schemas have it."""

import json
from uuid import UUID, uuid5

import pytest
from conftest import PROJECT
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from cdc_lakehouse.console import cli
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.gold.lineage import FACETS, PRODUCER, DbtRun
from cdc_lakehouse.protection import Line, Protection

FOLDER = PROJECT / "tests" / "operate" / "lineage"
SCHEMAS = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("*.json")}
REGISTRY = Registry().with_resources(
    (schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values()
)
RUN = "0b0e6b8e-7c1c-4f5b-9a43-0d3c7f8f3a11"
AT = "2026-11-30T03:{}Z"
LINES = Protection(
    (
        Line(2, "shop", "", "orders", "customer", "hash", "silver"),
        Line(3, "shop", "other", "orders", "total", "mask", "gold"),
    )
)
ORDERS = """select
    sequence as _sequence,
    image as _image,
    try_cast(image['id'] as bigint) as id,
    image['customer'] as customer_id,
    coalesce(image['sum'], image['total']) as total,
    to_json(image) as everything
from (select * from silver.row_images where ((database_name = 'shop' and schema_name is null
or database_name is null and schema_name = 'shop') and table_name = 'orders')) as row_images"""


def node(name, materialized, *depends_on, relation=None, kind="model", columns=(), **said):
    return {
        "name": name,
        "unique_id": f"{kind}.shop.{name}",
        "resource_type": kind,
        "package_name": "shop",
        "relation_name": relation,
        "depends_on": {"nodes": list(depends_on)},
        "config": {"materialized": materialized},
        "columns": {each["name"]: {"description": "", "meta": {}} | each for each in columns},
    } | said


MANIFEST = {
    "metadata": {"project_name": "shop", "generated_at": AT.format("17:51")},
    "sources": {
        "source.shop.bronze.messages": {"relation_name": "bronze.messages"},
    },
    "nodes": {
        each["unique_id"]: each
        for each in (
            node("messages", "ephemeral", "source.shop.bronze.messages"),
            node("canal", "ephemeral", "model.shop.messages"),
            node("rows", "ephemeral", "model.shop.messages"),
            node(
                *("events", "change_log", "model.shop.canal", "model.shop.rows"),
                relation="silver.events",
            ),
            node("row_images", "view", "model.shop.events", relation="silver.row_images"),
            node(
                *("orders", "current_state", "model.shop.row_images"),
                relation="`gold`.`orders`",
                columns=[
                    {"name": "id", "data_type": "bigint", "description": "Number of the order."},
                    {"name": "customer_id", "data_type": "string"},
                    {"name": "total", "data_type": "string"},
                    {"name": "everything", "data_type": "string"},
                    {
                        "name": "label",
                        "data_type": "string",
                        "meta": {"derived": "concat(id, total)"},
                    },
                    {"name": "_sequence", "data_type": "string"},
                ],
                constraints=[{"type": "primary_key", "columns": ["id"]}],
            ),
            node("revenue", "table", "model.shop.orders", relation="marts.revenue"),
            node("late", "view", "model.shop.revenue", relation="marts.late"),
            node("id_is_unique", "test", "model.shop.orders", kind="test"),
        )
    },
}


def result(name, began, ended, status="success", kind="model", **said):
    times = [
        {"name": "compile", "started_at": AT.format(began), "completed_at": AT.format(began)},
        {"name": "execute", "started_at": AT.format(began), "completed_at": AT.format(ended)},
    ]
    return {"unique_id": f"{kind}.shop.{name}", "status": status, "timing": times} | said


def run_results(*results, which="build"):
    return {
        "metadata": {
            "invocation_id": RUN,
            "invocation_started_at": AT.format("17:49"),
            "generated_at": AT.format("18:50"),
        },
        "args": {"which": which},
        "results": list(results),
    }


RESULTS = run_results(
    result("events", "18:01", "18:10"),
    result("orders", "18:11", "18:20", compiled_code=ORDERS),
    result("revenue", "18:21", "18:22", "error", message="Division by zero."),
    result("late", "18:23", "18:23", "skipped"),
    result("id_is_unique", "18:24", "18:25", "pass", kind="test"),
)


def events_of(results, protection=LINES):
    return list(DbtRun(results, MANIFEST, protection, "shop", "mysql://shop:3306").events())


def refuse_if_invalid(event):
    """By the schema of events, and each facet by its own."""
    facets = dict(event["run"]["facets"])
    for dataset in (*event["inputs"], *event["outputs"]):
        facets |= dataset.get("facets", {})
    checked = [(event, event["schemaURL"])]
    checked += [(facet, facet["_schemaURL"]) for facet in facets.values()]
    for document, schema in checked:
        validator = Draft202012Validator(
            {"$ref": schema}, registry=REGISTRY, format_checker=Draft202012Validator.FORMAT_CHECKER
        )
        assert [error.message for error in validator.iter_errors(document)] == []


def made_from(table, field, masking=False, namespace="mysql://shop:3306"):
    transformations = [{"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": masking}]
    return {
        "namespace": namespace,
        "name": table,
        "field": field,
        "transformations": transformations,
    }


def image(masking=False):
    return made_from("silver.row_images", "image", masking, namespace="shop")


def test_a_run_and_each_of_its_models_begin_and_end():
    found = [(x["eventType"], x["job"]["name"], x["eventTime"]) for x in events_of(RESULTS)]
    assert found == [
        ("START", "shop.build", "2026-11-30T03:17:49Z"),
        ("START", "shop.events", "2026-11-30T03:18:01Z"),
        ("COMPLETE", "shop.events", "2026-11-30T03:18:10Z"),
        ("START", "shop.orders", "2026-11-30T03:18:11Z"),
        ("COMPLETE", "shop.orders", "2026-11-30T03:18:20Z"),
        ("START", "shop.revenue", "2026-11-30T03:18:21Z"),
        ("FAIL", "shop.revenue", "2026-11-30T03:18:22Z"),
        ("FAIL", "shop.build", "2026-11-30T03:18:50Z"),
    ]
    done = events_of(run_results(RESULTS["results"][0]))
    assert done[-1]["eventType"] == "COMPLETE"
    failed_test = result("id_is_unique", "18:24", "18:25", "fail", kind="test")
    assert events_of(run_results(failed_test))[-1]["eventType"] == "FAIL"


def test_events_and_facets_are_those_of_the_standard():
    found = events_of(RESULTS)
    for event in found:
        refuse_if_invalid(event)
    names = {name for event in found for name in event["run"]["facets"]}
    names |= {name for x in found for each in x["outputs"] for name in each["facets"]}
    assert names == set(FACETS)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda event: event["run"].update(runId="1"), "is not a 'uuid'"),
        (lambda event: event.pop("producer"), "'producer' is a required property"),
        (lambda event: event["run"]["facets"]["parent"].pop("job"), "'job' is a required"),
        (
            lambda event: event["outputs"][0]["facets"]["columnLineage"].pop("fields"),
            "'fields' is a required",
        ),
    ],
)
def test_the_schemas_refuse_what_is_none(change, where):
    event = events_of(RESULTS)[4]
    change(event)
    with pytest.raises(AssertionError, match=where):
        refuse_if_invalid(event)


def test_tables_are_followed_from_the_messages_to_the_marts():
    """Models that are only a part of others are none."""
    read = {x["job"]["name"]: x for x in events_of(RESULTS) if x["eventType"] == "START"}
    [(_, build), (_, events), (_, orders), (_, revenue)] = read.items()
    assert (build["inputs"], build["outputs"]) == ([], [])
    assert events["inputs"] == [{"namespace": "shop", "name": "bronze.messages"}]
    assert events["outputs"] == [{"namespace": "shop", "name": "silver.events", "facets": {}}]
    assert orders["inputs"] == [
        {"namespace": "shop", "name": "silver.row_images"},
        {"namespace": "mysql://shop:3306", "name": "shop.orders"},
    ]
    assert revenue["inputs"] == [{"namespace": "shop", "name": "gold.orders"}]
    assert orders["outputs"][0]["name"] == "gold.orders"


def test_columns_are_followed_to_those_of_the_source():
    orders = events_of(RESULTS)[4]
    facets = orders["outputs"][0]["facets"]
    assert facets["columnLineage"]["fields"] == {
        "id": {"inputFields": [made_from("shop.orders", "id"), image()]},
        "customer_id": {
            "inputFields": [made_from("shop.orders", "customer", masking=True), image(masking=True)]
        },
        "total": {
            "inputFields": [
                made_from("shop.orders", "sum"),
                made_from("shop.orders", "total"),  # line 3 is of another schema
                image(),
            ]
        },
        "everything": {"inputFields": [image()]},
        "label": {
            "inputFields": [
                made_from("shop.orders", "id"),
                made_from("shop.orders", "sum"),
                made_from("shop.orders", "total"),
                image(),
            ]
        },
    }
    assert facets["schema"]["fields"][:2] == [
        {"name": "id", "type": "bigint", "description": "Number of the order."},
        {"name": "customer_id", "type": "string"},
    ]


def test_models_are_parts_of_their_run_and_a_failure_says_why():
    failed = events_of(RESULTS)[-2]
    assert failed["run"]["runId"] == str(uuid5(UUID(RUN), "model.shop.revenue"))
    assert failed["run"]["facets"]["parent"]["run"] == {"runId": RUN}
    assert failed["run"]["facets"]["parent"]["job"] == {"namespace": "shop", "name": "shop.build"}
    assert failed["run"]["facets"]["errorMessage"]["message"] == "Division by zero."
    assert failed["producer"] == PRODUCER
    assert events_of(RESULTS) == events_of(RESULTS)  # a second look sends nothing new


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose dbt has run; returns how to type a command in it."""
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    (tmp_path / "target").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DBT_TARGET_PATH", raising=False)

    def typed(results, *arguments):
        for name, said in (("run_results", results), ("manifest", MANIFEST)):
            (tmp_path / "target" / f"{name}.json").write_text(json.dumps(said))
        return cli.main(["lineage", "--project-dir", str(tmp_path), *arguments])

    return typed


def test_events_are_printed_or_written_one_a_line(project, tmp_path, capsys):
    namespaces = ["--source-namespace", "mysql://shop:3306"]
    assert project(RESULTS, *namespaces) == Exit.DONE
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert printed == events_of(RESULTS, Protection())
    written = tmp_path / "events.jsonl"
    assert project(RESULTS, "--namespace", "ours", "--output", str(written)) == Exit.DONE
    assert capsys.readouterr().out == f"{written}: 8 events\n"
    [*_, orders, _, _, _] = [json.loads(line) for line in written.read_text().splitlines()]
    assert [each["namespace"] for each in orders["inputs"]] == ["ours", "ours.source"]


def test_what_is_not_of_one_run_is_refused(project, tmp_path, capsys):
    assert project(run_results(which="test")) == Exit.NOTHING
    assert "was `dbt test`, which builds no table" in capsys.readouterr().err
    older = run_results()
    older["metadata"]["generated_at"] = AT.format("16:00")
    assert project(older) == Exit.NOTHING
    assert "manifest.json is newer than the last run" in capsys.readouterr().err
    (tmp_path / "target" / "run_results.json").unlink()
    assert cli.main(["lineage", "--project-dir", str(tmp_path)]) == Exit.NOTHING
    assert "run_results.json cannot be read" in capsys.readouterr().err
