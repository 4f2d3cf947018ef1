"""This project itself, in a copy that has the gold table of the benchmark only, or several like it.

Cold, each step is what one would type: `lakehouse ingest files`, then dbt, each a process. Warm,
both run in one process with one Spark.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from pathlib import Path

from bench.contender import run
from bench.topics import COLUMNS, TABLE, TOPIC, table_name
from cdc_lakehouse.runtime.project import use_project

PROJECT = Path(__file__).parents[2]
NEEDED = ("dbt_project.yml", "avro", "macros", "models", "profiles", "profiles.yml", "seeds")
NEEDED += ("selectors.yml", "udfs", "tests/fixtures", "tests/generic")
FIRST = ("build", "--resource-type", "seed", "--resource-type", "model")
# What the types of MySQL are in gold; texts are strings, decimals as they are.
GOLD_TYPES = {"bigint": "bigint", "int": "int", "smallint": "int", "tinyint": "int"}
GOLD_TYPES |= {"double": "double", "date": "date", "datetime": "timestamp_ntz"}
GOLD_TYPES |= {"timestamp": "timestamp"}
OWN_COLUMNS = {"_sequence": "string", "_committed_at": "timestamp", "_operation": "string"}
OWN_COLUMNS |= {"_problems": "array<struct<column: string, code: string, text: string>>"}
OWN_COLUMNS |= {"_source_table": "string", "_topic": "string", "_partition": "int"}
OWN_COLUMNS |= {"_offset": "bigint", "_row_number": "int", "_bronze_version": "bigint"}


class Lakehouse:
    """A lakehouse, each of whose steps is two processes."""

    def __init__(self, work: Path, format: str, memory: str, tables: int = 1) -> None:
        self.home, self.project = work / "lakehouse", work / "project"
        self.tables = [table_name(number) for number in range(tables)]
        copy_project(self.project, format, self.tables)
        self.home.mkdir()
        os.environ.update(LAKEHOUSE_DIR=str(self.home), LAKEHOUSE_MEMORY=memory)
        os.environ.update(DBT_TARGET_PATH=str(work / "target"), DBT_LOG_PATH=str(work / "logs"))
        os.environ.update(DBT_PROFILES_DIR=str(self.project / "profiles"))
        os.chdir(self.project)
        use_project(self.project)
        self.results = work / "target" / "run_results.json"
        self.dbt_arguments = FIRST  # of the next run

    def step(self, folder: Path) -> dict[str, float]:
        began = time.perf_counter()
        self.ingest(folder)
        ingested = time.perf_counter()
        self.dbt(self.dbt_arguments)
        self.dbt_arguments = ("run",)
        took = time.perf_counter() - ingested
        stages = {"ingest": ingested - began, **self.model_seconds()}
        return {**stages, "dbt": took - stages["silver"] - stages["gold"]}

    def ingest(self, folder: Path) -> None:
        self.command("lakehouse", "ingest", "files", str(folder))

    def dbt(self, arguments: tuple[str, ...]) -> None:
        self.command("dbt", "--quiet", *arguments)

    def command(self, name: str, *arguments: str) -> None:
        """Run a command of the environment.

        Raises:
            RuntimeError: it failed.
        """
        program = Path(sys.executable).with_name(name)
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{name} {' '.join(arguments)}: {done.stdout}{done.stderr}")

    def model_seconds(self) -> dict[str, float]:
        """Return what the change log and the tables took in the last run of dbt."""
        results = json.loads(self.results.read_text())["results"]
        took = {result["unique_id"].split(".")[-1]: result["execution_time"] for result in results}
        return {"silver": took["events"], "gold": sum(took[table] for table in self.tables)}

    def write_result(self, path: Path) -> None:
        from dbt.adapters.lakehouse.connections import root_session

        texts = ", ".join(f"cast({name} as string) as {name}" for name in COLUMNS)
        queries = [f"select {texts} from gold.{table}" for table in self.tables]
        root_session({}).sql(" union all ".join(queries)).write.parquet(str(path))

    def close(self) -> None:
        """Nothing runs between the steps."""


class WarmLakehouse(Lakehouse):
    """A lakehouse in this process, whose Java stays for the next one.

    All but dbt, which has threads of its own, runs in a thread that ends with it: Hive keeps the
    metastore that a thread has used first.
    """

    def __init__(self, work: Path, format: str, memory: str, tables: int = 1) -> None:
        super().__init__(work, format, memory, tables)
        from cdc_lakehouse.runtime.session import open_session
        from dbt.adapters.lakehouse.connections import root_session

        self.thread = ThreadPoolExecutor(1)
        # It would go by how much there is to do at first, which is nothing.
        self.thread.submit(open_session, metastore=True, is_long=True).result()
        self.thread.submit(root_session, {}).result()

    def ingest(self, folder: Path) -> None:
        from cdc_lakehouse.console.report import ingest_text
        from cdc_lakehouse.ingest.landing import ingest_files

        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
            report = self.thread.submit(ingest_files, folder, project_dir=self.project).result()
        if report.problems:
            raise RuntimeError(ingest_text(report))

    def write_result(self, path: Path) -> None:
        self.thread.submit(super().write_result, path).result()

    def dbt(self, arguments: tuple[str, ...]) -> None:
        from dbt.cli.main import dbtRunner

        done = dbtRunner().invoke(["--quiet", "--no-use-colors", *arguments])
        if not done.success:
            results = getattr(done.result, "results", [])
            failed = [f"{r.node.name}: {r.message}" for r in results if r.status == "error"]
            raise RuntimeError(f"dbt {' '.join(arguments)}: {done.exception or failed}")

    def close(self) -> None:
        """Stop Spark and forget it, as this process opens one lakehouse only by itself."""
        from dbt.adapters.lakehouse import connections

        self.thread.shutdown()
        connections._root.stop()
        connections._held.close()
        connections._root = connections._held = None


def copy_project(target: Path, format: str, tables: list[str]) -> None:
    """Copy what dbt needs of the project, with one route, and with gold tables that are alike."""
    for name in NEEDED:
        source, copy = PROJECT / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy)
        else:
            shutil.copy(source, copy, follow_symlinks=False)
    header = (PROJECT / "seeds" / "topics.csv").read_text().splitlines()[0]
    route = ",".join([TOPIC, format] + [""] * (header.count(",") - 1))
    (target / "seeds" / "topics.csv").write_text(f"{header}\n{route}\n")

    gold = target / "models" / "gold"
    for folder in gold.iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    (gold / "shop").mkdir()
    for table in tables:
        (gold / "shop" / f"{table}.sql").write_text(gold_model(format, table))
    (gold / "shop" / "_shop.yml").write_text(json.dumps(gold_properties(tables), indent=1))
    problems = gold / "gold_problems.sql"
    others = rf"\n *\{{?\{{? *ref\('(?!{TABLE}')\w+'\),"
    problems.write_text(re.sub(others, "", problems.read_text()))


def gold_model(format: str, table: str) -> str:
    """Return the SQL of a gold table."""
    columns = ["{{ change_columns() }}"]
    for name, mysql_type in COLUMNS.items():
        text, data_type = f"image['{name}']", gold_type(mysql_type)
        if format == "oms_default" and data_type == "timestamp":
            value = f"timestamp_seconds(try_cast({text} as decimal(16, 6)))"
        elif data_type == "string":
            value = text
        else:
            value = f"try_cast({text} as {data_type})"
        columns.append(f"{value} as {name}")
    listed = ",\n    ".join(columns)
    return (
        f"select\n    {listed}\nfrom {{{{ ref('row_images') }}}}\n"
        f"where database_name = 'shop' and table_name = '{table}'\n"
    )


def gold_properties(tables: list[str]) -> dict:
    """Return the names, types and keys of the gold tables, which is YAML when it is JSON."""
    types = {name: gold_type(mysql_type) for name, mysql_type in COLUMNS.items()} | OWN_COLUMNS
    model = {
        "description": "Orders as they are now. One row per order.",
        "constraints": [{"type": "primary_key", "columns": ["id"]}],
        "columns": [{"name": name, "data_type": kind} for name, kind in types.items()],
    }
    return {"models": [{"name": table, **model} for table in tables]}


def gold_type(mysql_type: str) -> str:
    """Return the type of Spark that holds all values of a type of MySQL."""
    if mysql_type.startswith("decimal"):
        return mysql_type
    return GOLD_TYPES.get(mysql_type.split("(")[0], "string")


if __name__ == "__main__":
    run(Lakehouse, warm=WarmLakehouse)
