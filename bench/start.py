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
import time
from collections.abc import Callable
from pathlib import Path

from bench.contenders._spark import open_session
from bench.contenders.lakehouse import FIRST

PROJECT = Path(__file__).parents[1]
WARM = "--warm"
HEADING = "Nothing new"


def measure(work: Path, memory: str, repeats: int) -> dict[str, float]:
    """Return the seconds of a bare start, of a cold and of a warm run, and the number of models.

    Args:
        work: an empty folder, for the lakehouse.
        memory: the heap of Spark, as Java has it.
        repeats: how often each is measured; the median counts.
    """
    os.environ.update(LAKEHOUSE_DIR=str(work / "lakehouse"), LAKEHOUSE_MEMORY=memory)
    os.environ.update(DBT_TARGET_PATH=str(work / "target"), DBT_LOG_PATH=str(work / "logs"))
    program = Path(sys.executable).with_name
    _run(program("lakehouse"), "ingest", "files", "samples/landing")
    _run(program("dbt"), "--quiet", *FIRST)
    this = (sys.executable, "-m", "bench.start", "--work", str(work), "--memory", memory)
    bare = _median(lambda: _run(*this), repeats)
    cold = _median(lambda: _run(program("dbt"), "--quiet", "run"), repeats)
    return {"bare": bare, "cold": cold} | json.loads(_run(*this, WARM).splitlines()[-1])


def report(found: dict[str, float]) -> str:
    """Return the Markdown of what `measure` found."""
    cold, per_model = found["cold"] / found["bare"], found["warm"] / found["models"]
    return "\n".join(
        [
            f"## {HEADING}",
            "",
            f"`dbt run` on the sample project, {found['models']:.0f} models.",
            "",
            "| | s | |",
            "|---|---|---|",
            f"| Python, Spark and Delta count one table | {found['bare']:.1f} | |",
            f"| `dbt run`, cold | {found['cold']:.1f} | {cold:.2f} x |",
            f"| `dbt run`, warm | {found['warm']:.1f} | {per_model:.2f} s a model |",
            "",
        ]
    )


def _run(*command: str | Path) -> str:
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.run(command, cwd=PROJECT, check=True, text=True, **quiet).stdout


def _median(step: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _warm() -> dict[str, float]:
    """Return what a run takes in a process that has run twice before."""
    from dbt.cli.main import dbtRunner

    def run() -> int:
        done = dbtRunner().invoke(["--quiet", "run"])
        if not done.success:
            raise RuntimeError(str(done.exception or "dbt run failed"))
        return len(done.result.results)

    run()
    models = run()
    return {"warm": _median(run, 3), "models": models}


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
