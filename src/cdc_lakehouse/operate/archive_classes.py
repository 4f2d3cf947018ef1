"""Make the archive of Java's classes, in a small run that loads all that runs need."""

import os
import subprocess
import sys
import tempfile

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.runtime.class_archive import ARCHIVE
from cdc_lakehouse.runtime.jvm import gateway_of
from cdc_lakehouse.runtime.session import open_session
from cdc_lakehouse.runtime.settings import settings

MAKE = f'"-XX:ArchiveClassesAtExit={ARCHIVE}"'
# SQL that uses all parts of a run, in the order of a run.
STATEMENTS = (
    "create or replace temporary view landed as select cast(id as string) as id,"
    """ from_json('{"names": ["a"]}', 'names array<string>').names as names from range(9)""",
    "create schema training",
    "create table training.changes (id string, names array<string>) using delta"
    " tblproperties ('delta.enableChangeDataFeed' = 'true')",
    "insert into training.changes by name select * from landed",
    "create table training.things (id string, name string) using delta",
    "create view training.names as select id, posexplode(names) as (place, name)"
    " from table_changes('training.changes', 1, 1)",
    "merge into training.things as thing using"
    " (select id, max_by(name, place) as name from training.names group by id) as change"
    " on thing.id = change.id when matched then update set * when not matched then insert *",
    "select * from training.things order by id",
)


def make_archive() -> str:
    """Make the archive again, of what Java loads for a small run in a lakehouse of its own.

    Returns:
        Why there is none, without which every command does; an empty text where there is one.
    """
    ARCHIVE.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "cdc_lakehouse.operate.archive_classes"],
            env=os.environ | {"LAKEHOUSE_DIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    if ARCHIVE.exists():
        return ""
    return (done.stderr.strip() or "Java made none").splitlines()[-1]


def _train() -> None:
    name = "spark.driver.extraJavaOptions"
    options = f"{settings(metastore=True)[name]} {MAKE}"
    spark = open_session(metastore=True, overrides={name: options})
    bronze.attach_tables(spark)
    for statement in STATEMENTS:
        spark.sql(statement).collect()
    gateway = gateway_of(spark.sparkContext)
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()  # it writes the archive as it ends


if __name__ == "__main__":
    _train()
