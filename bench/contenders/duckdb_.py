"""DuckDB on the same files: JSON read with the table's types, MERGE into a table of its own.

This is what people do who find that one machine is enough: no lake, no Spark, a file that a
script brings up to date. It takes the last change of each key and merges it if it is newer than
the row. Deleted rows leave no tombstones, and one message that cannot be read stops the script.
"""

import json
from pathlib import Path

import duckdb

from bench.contender import Unsupported, run
from bench.topics import COLUMNS

NAMES = [name for name in COLUMNS if name != "id"]
TYPES = {
    name: kind if kind.startswith("decimal") else kind.split("(")[0]
    for name, kind in COLUMNS.items()
}
# What is read of a message.
SHAPES = {
    "dts_canal": {"type": "varchar", "id": "bigint", "data": [TYPES]},
    "oms_default": {
        "recordType": "varchar",
        "allMetaData": {"storeDataSequence": "bigint"},
        "prevStruct": {"id": "bigint"},
        "postStruct": TYPES | {"updated_at": "decimal(22, 6)"},
    },
}
# How it becomes changes; deletes need the id only.
CHANGES = {
    "dts_canal": """
        select message.type = 'DELETE' as _deleted, message.id as _sequence, image.id, image
        from (select message, unnest(message.data) as image from messages)
        where message.type in ('INIT', 'INSERT', 'UPDATE', 'DELETE')
    """,
    "oms_default": """
        select
            message.recordType = 'DELETE' as _deleted,
            coalesce(message.allMetaData.storeDataSequence, 0) as _sequence,
            coalesce(message.postStruct.id, message.prevStruct.id) as id,
            message.postStruct as image
        from messages
        where message.recordType in ('ROW', 'INSERT', 'UPDATE', 'REPLACE', 'DELETE')
    """,
}
LATEST = """
with messages as (
    select from_json(decode(value), '{shape}') as message from read_parquet('{files}')
)
select _deleted, _sequence, id, {columns} from ({changes})
qualify row_number() over (partition by id order by _sequence desc) = 1
"""
MERGE = """
merge into orders using ({latest}) as change on orders.id = change.id
when matched and change._sequence > orders._sequence and change._deleted then delete
when matched and change._sequence > orders._sequence then update
when not matched and not change._deleted then insert
"""


class DuckDb:
    """A database file with a table of orders."""

    def __init__(self, work: Path, format: str, memory: str) -> None:
        if format not in SHAPES:
            raise Unsupported(f"DuckDB has no function that reads {format} from a message")
        settings = {"threads": 2, "memory_limit": f"{memory}b", "temp_directory": work / "tmp"}
        self.database = duckdb.connect(work / "orders.duckdb", config=settings)
        self.format = format
        self.has_table = False

    def step(self, folder: Path) -> dict[str, float]:
        if any(folder.glob("*.parquet")):
            self.apply(self.latest(f"{folder}/*.parquet"))
        return {}

    def latest(self, files: str) -> str:
        """Return the query of the last change of each order in some files."""
        columns = {name: f"image.{name}" for name in NAMES}
        if self.format == "oms_default":
            columns["updated_at"] = "make_timestamp(cast(image.updated_at * 1000000 as bigint))"
        return LATEST.format(
            shape=json.dumps(SHAPES[self.format]),
            files=files,
            changes=CHANGES[self.format],
            columns=", ".join(f"{value} as {name}" for name, value in columns.items()),
        )

    def apply(self, latest: str) -> None:
        """Bring the table up to date."""
        if self.has_table:
            self.database.execute(MERGE.format(latest=latest))
        else:  # a load: there is nothing to merge with
            query = f"create table orders as select * from ({latest}) where not _deleted"
            self.database.execute(query)
            self.has_table = True

    def write_result(self, path: Path) -> None:
        texts = ", ".join(f"cast({name} as varchar) as {name}" for name in COLUMNS)
        self.database.execute(f"copy (select {texts} from orders) to '{path}' (format parquet)")

    def close(self) -> None:
        self.database.close()


if __name__ == "__main__":
    run(DuckDb)
