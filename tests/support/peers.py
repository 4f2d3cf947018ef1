"""What people write by hand for the same job, to run on the bytes of comparison.py.

Both peers read Canal as its documentation has it, values as texts that the query casts, take the
latest change of each key in the batch, and leave out rows without a key. The stream can also let
the reader of JSON make the types.
"""

import os

from comparison import CASES
from pyspark.errors import StreamingQueryException

from cdc_lakehouse.runtime.session import open_session

COLUMNS = {
    "id": "bigint",
    "name": "string",
    "quantity": "int",
    "price": "decimal(20, 6)",
    "due_on": "date",
}
ROWS = {
    "text": "map<string, string>",
    "typed": f"struct<{', '.join(f'{name}: {kind}' for name, kind in COLUMNS.items())}>",
}
CHANGES = """
select message.type, message.es, {columns}
from (
    select from_json(value, 'type string, es bigint, data array<{row}>') as message, *
    from {messages}
)
lateral view explode(message.data) as row
where row['id'] is not null
"""
LATEST = "select * from changes qualify row_number() over (partition by id order by es desc) = 1"
MERGE = """
merge into {table} as item
using (with changes as ({changes}) {latest}) as change
on item.id = change.id
when matched and change.es > item.es and change.type = 'DELETE' then delete
when matched and change.es > item.es then update set *
when not matched and change.type <> 'DELETE' then insert *
"""
DBT_PROJECT = "name: peer\nprofile: peer\nflags: {send_anonymous_usage_stats: false}\n"
DBT_PROFILE = """peer:
  target: dev
  outputs: {dev: {type: spark, method: session, host: here, schema: peer, threads: 1}}
"""
DBT_MODEL = """{{{{ config(
    materialized='incremental', file_format='delta', incremental_strategy='merge', unique_key='id'
) }}}}
with changes as (
    {changes}
    {{% if is_incremental() %}}
    and batch > (select max(batch) from {{{{ this }}}})
    {{% endif %}}
)
{latest}
"""


def changes(messages, values="text", more=()):
    """Return the query that reads the messages and casts what they say."""
    columns = [f"cast(row['{name}'] as {kind}) as {name}" for name, kind in COLUMNS.items()]
    columns = ", ".join([*columns, *more])
    return CHANGES.format(columns=columns, row=ROWS[values], messages=messages).strip()


def rows(spark, table, where="true"):
    columns = "id, name, quantity, cast(price as string) as price, cast(due_on as string) as due_on"
    found = spark.sql(f"select {columns} from {table} where {where} order by id")
    return [tuple(row) for row in found.collect()]


def start(home):
    """Make this process the peers': a Spark of their own, with the settings of ours."""
    os.environ["LAKEHOUSE_DIR"] = str(home)
    open_session(metastore=True)


def stream_with_merge(home, name, values="text"):
    """Run a stream over the batches of a case, with foreachBatch and a MERGE.

    Args:
        home: a folder for the stream's files.
        name: the case.
        values: how JSON is read, `text` or `typed`.

    Returns:
        Of each run, the rows of the table after it, or the message with which the stream stopped.
    """
    spark = open_session(metastore=True).newSession()
    table = f"{name}_{values}"
    landing, checkpoint = home / table / "landing", home / table / "checkpoint"
    landing.mkdir(parents=True)
    columns = ", ".join(f"{column} {kind}" for column, kind in COLUMNS.items())
    spark.sql(f"create table {table} (type string, es bigint, {columns}) using delta")

    def merge(messages, _):
        messages.createOrReplaceTempView("messages")
        statement = MERGE.format(table=table, changes=changes("messages", values), latest=LATEST)
        messages.sparkSession.sql(statement)

    results = []
    for batch in range(len(CASES[name].batches)):
        CASES[name].write(batch, landing)
        stream = spark.readStream.text(str(landing)).writeStream.foreachBatch(merge)
        stream = stream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        try:
            stream.start().awaitTermination()
            results.append(rows(spark, table))
        except StreamingQueryException as error:
            results.append(str(error))
    return results


def dbt_with_merge(home):
    """Run stock dbt-spark's incremental merge over all cases at once.

    Args:
        home: a folder for the dbt project.

    Returns:
        Of each run, the rows of each case after it, those that are marked as deleted left out.
    """
    from dbt.cli.main import dbtRunner

    project = home / "dbt"
    (project / "models").mkdir(parents=True)
    (project / "dbt_project.yml").write_text(DBT_PROJECT)
    (project / "profiles.yml").write_text(DBT_PROFILE)
    read = changes("peer.messages", more=["topic", "batch"])
    (project / "models" / "items.sql").write_text(DBT_MODEL.format(changes=read, latest=LATEST))
    spark = open_session(metastore=True).newSession()
    spark.sql("create database peer")
    spark.sql("create table peer.messages (value string, topic string, batch int) using delta")
    results = []
    for batch in range(2):
        values = [
            (value.decode(), name, batch)
            for name, case in CASES.items()
            for value in (case.batches[batch] if batch < len(case.batches) else [])
        ]
        new = spark.createDataFrame(values, "value string, topic string, batch int")
        new.write.insertInto("peer.messages")
        done = dbtRunner().invoke(
            ["--quiet", "run", "--project-dir", str(project), "--profiles-dir", str(project)]
        )
        assert done.success, done.exception or [each.message for each in done.result]
        results.append(
            {
                name: rows(spark, "peer.items", f"type <> 'DELETE' and topic = '{name}'")
                for name in CASES
            }
        )
    return results
