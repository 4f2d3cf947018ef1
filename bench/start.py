"""What `dbt run` costs that finds nothing new in the sample project, beside a bare start of Spark.

Bare is a Python that starts Spark with Delta, tuned as that of the contenders, and counts the rows
of one table.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from bench.contenders._spark import open_session
from bench.contenders.lakehouse import FIRST
from bench.results import START, spread, table, times

PROJECT = Path(__file__).parents[1]
WARM = "--warm"


def measure(work: Path, memory: str, repeats: int) -> dict:
    """Return the seconds of bare starts, of cold and warm runs, and the number of models.

    Args:
        work: an empty folder, for the lakehouse.
        memory: the heap of Spark, as Java has it.
        repeats: how often each is measured.
    """
    os.environ.update(LAKEHOUSE_DIR=str(work / "lakehouse"), LAKEHOUSE_MEMORY=memory)
    os.environ.update(DBT_TARGET_PATH=str(work / "target"), DBT_LOG_PATH=str(work / "logs"))
    program = Path(sys.executable).with_name
    _run(program("lakehouse"), "ingest", "files", "samples/landing")
    _run(program("dbt"), "--quiet", *FIRST)
    this = (sys.executable, "-m", "bench.start", "--work", str(work), "--memory", memory)
    bare = times(lambda: _run(*this), repeats)
    cold = times(lambda: _run(program("dbt"), "--quiet", "run"), repeats)
    return {"bare": bare, "cold": cold} | json.loads(_run(*this, WARM).splitlines()[-1])


def report(found: dict) -> dict[tuple[str, str], str]:
    """Return the table of what `measure` found."""
    bare = statistics.median(found["bare"])
    rows = [
        ["Python, Spark and Delta count one table", spread(found["bare"]), ""],
        [
            "`dbt run`, cold",
            spread(found["cold"]),
            f"{statistics.median(found['cold']) / bare:.2f} x",
        ],
        [
            "`dbt run`, warm",
            spread(found["warm"]),
            f"{statistics.median(found['warm']) / bare:.2f} x",
        ],
    ]
    name = f"the sample project, {found['models']} models"
    return {(START, name): table(("run", "s", ""), rows)}


def _run(*command: str | Path) -> str:
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.run(command, cwd=PROJECT, check=True, text=True, **quiet).stdout


def _warm() -> dict:
    """Return what runs take in a process that has run twice before."""
    from dbt.cli.main import dbtRunner

    def run() -> int:
        done = dbtRunner().invoke(["--quiet", "run"])
        if not done.success:
            raise RuntimeError(str(done.exception or "dbt run failed"))
        return len(done.result.results)

    run()
    models = run()
    return {"warm": times(run, 3), "models": models}


def main() -> None:
    """Count one table, or say what a warm run takes."""
    parser = argparse.ArgumentParser(prog="python -m bench.start", description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder of the lakehouse")
    parser.add_argument("--memory", default="4g", help="heap of Spark")
    parser.add_argument(WARM, action="store_true", help="run dbt, again and again")
    given = parser.parse_args()
    if given.warm:
        print(json.dumps(_warm()))
        return
    table = given.work / "lakehouse" / "warehouse" / "bronze.db" / "messages"
    spark = open_session(given.work, given.memory)
    print(spark.read.format("delta").load(str(table)).count())


if __name__ == "__main__":
    main()
