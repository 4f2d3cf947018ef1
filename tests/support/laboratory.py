"""A small table, lab.things, and gold models of it, changed by the messages of a test."""

import json

from shop import DELIVERY, write_messages

MODEL = """{config}select
    {{{{ change_columns() }}}},
{columns}
from {{{{ ref('row_images') }}}}
where {where}
-- only the laboratory's own things
"""
WHERE = "database_name = 'lab' and table_name = 'things'"
YAML = """
  - name: {name}
    description: Things of the laboratory. One row per thing.
    constraints: [{{type: primary_key, columns: [id]}}]
    data_tests: [changes_have_a_key, values_fit_their_types]
    columns:
      - {{name: id, data_type: bigint, description: Number.}}
      - {{name: name, data_type: string, description: Name.}}
      - {{name: price, data_type: "decimal(6, 2)", description: Price.}}
"""
COLUMNS = {
    "id": "try_cast(image['id'] as bigint)",
    "name": "image['name']",
    "price": "try_cast(image['price'] as decimal(6, 2))",
}
THINGS = {"things": ""}


def write_models(project, models=THINGS, columns=COLUMNS, yaml=YAML, where=WHERE):
    """Write the models (name to options as `config` takes them), and route the topics to them."""
    folder = project / "models" / "gold" / "lab"
    folder.mkdir(exist_ok=True)
    listed = ",\n".join(f"    {expression} as {name}" for name, expression in columns.items())
    for name, options in models.items():
        config = f"{{{{ config({options}) }}}}\n\n" if options else ""
        (folder / f"{name}.sql").write_text(
            MODEL.format(config=config, columns=listed, where=where)
        )
    described = "".join(yaml.format(name=name) for name in models)
    (folder / "_lab.yml").write_text(f"models:{described}")
    topics = project / "seeds" / "topics.csv"
    if "lab.*" not in topics.read_text():
        routes = {"lab": "dts_canal", "plex": "dts_shareplex", "pairs": "dataworks_kafka"}
        lines = [f"{topic}.*,{name},,,,\n" for topic, name in routes.items()]
        topics.write_text(topics.read_text() + "".join(lines))


class Laboratory:
    """A lakehouse with gold models of lab.things, to which messages are delivered."""

    def __init__(self, lakehouse, landing, models=THINGS):
        self.lakehouse, self.landing, self.offset, self.models = lakehouse, landing, 0, models
        write_models(lakehouse.project, models)
        lakehouse.dbt("seed")

    def deliver(self, *messages, topic="lab.things", models=None):
        """Land the messages at the next offsets and run dbt; return what the first model said."""
        models = models or self.models
        self.land(*messages, topic=topic)
        said = self.lakehouse.dbt("run", "-s", "events", "row_images", *models)
        return said[next(iter(models))]

    def land(self, *messages, topic="lab.things"):
        """Land the messages at the next offsets, and let no run read them."""
        rows = []
        for message in messages:
            text = message if isinstance(message, bytes) else json.dumps(message).encode()
            rows.append((topic, 0, self.offset, text))
            self.offset += 1
        write_messages(self.landing / f"{self.offset}.parquet", rows)
        self.lakehouse.ingest(self.landing)

    def rows(self, columns="id, name, cast(price as string) as price", model="things"):
        """Return columns of a model's rows, in the order of the key and of the source."""
        rows = self.lakehouse.query(f"select {columns} from gold.{model} order by id, _sequence")
        return [tuple(row.values()) for row in rows]

    def history(self, model="things"):
        """Return Delta's commits of a stored table, the latest first."""
        return self.lakehouse.query(f"describe history gold_storage.{model}")

    def log_of_run(self):
        """Return what the last run of dbt has logged."""
        log = (self.lakehouse.home / "logs" / "dbt.log").read_text()
        return log.rpartition("Running with dbt=")[2]

    def stored(self, model="things"):
        """Return the stored rows of a model, without what says which delivered copy was read."""
        rows = self.lakehouse.query(f"select * from gold_storage.{model}")
        kept = [{name: v for name, v in row.items() if name not in DELIVERY} for row in rows]
        return sorted(kept, key=str)


def change(kind, position, *rows, old=None, es=None):
    """A Canal message; its place in the source, and its commit time unless `es` says another."""
    return {
        "data": list(rows),
        "old": old,
        "database": "lab",
        "table": "things",
        "type": kind,
        "id": position,
        "es": 1_790_000_000_000 + position if es is None else es,
        "ts": 1_790_000_000_500 + position,
        "isDdl": False,
        "sql": "",
        "pkNames": ["id"],
        "mysqlType": {"id": "bigint", "name": "varchar(20)", "price": "decimal(6,2)"},
    }


def statement(position, sql, es=None):
    """A Canal message of a DDL statement."""
    return change("DDL", position, es=es) | {"isDdl": True, "sql": sql, "data": None}


def truncate(position, es=None):
    """A Canal message of a TRUNCATE."""
    return statement(position, "/* nightly */ truncate table `things`", es)


def shareplex(operation, position, data, key=None):
    """A SharePlex message, which names no key: of an update, some old columns and the new ones."""
    committed_at = f"2026-11-01T00:{position % 60:02d}:00Z"
    meta = {"op": operation, "table": "lab.things", "scn": str(position), "seq": 1}
    message = {"meta": meta | {"time": committed_at}, "data": data}
    return message | ({"key": key} if key else {})


def message_of_pair(operation, position, row):
    """A message of DataWorks, which sends an update as UPDATE_BEFOR and UPDATE_AFTER."""
    image = {"dataColumn": row}
    types = {"id": "LONG", "name": "STRING", "price": "STRING"}
    return {
        "schema": {
            "dataColumn": [{"name": name, "type": kind} for name, kind in types.items()],
            "primaryKey": ["id"],
            "source": {"dbType": "MySQL", "dbName": "lab", "tableName": "things"},
        },
        "payload": {
            "before": image if operation == "UPDATE_BEFOR" else None,
            "after": None if operation == "UPDATE_BEFOR" else image,
            "sequenceId": str(position),
            "timestamp": {"eventTime": 1_790_000_000_000 + position, "systemTime": 1},
            "op": operation,
            "ddl": None,
        },
        "version": "0.0.1",
    }


def thing(number, name, price="1.00"):
    return {"id": str(number), "name": name, "price": price}
