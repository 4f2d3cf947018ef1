"""What all contenders share: their arguments, the steps in order, and the clock."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Protocol

from cdc_lakehouse.runtime.jvm import java_of_process, java_seconds


class Unsupported(Exception):
    """The contender cannot read the format; the text says why."""


class Contender(Protocol):
    """One deployment, which lives in a work folder and is brought up to date step by step."""

    def __init__(self, work: Path, format: str, memory: str) -> None:
        """Make the deployment in an empty folder.

        Args:
            work: where all its files go; it exists and is empty.
            format: `dts_canal`, `oms_default` or `dts_avro`.
            memory: how much heap it may take, as Java has it: `4g`.

        Raises:
            Unsupported: it cannot read the format.
        """

    def step(self, folder: Path) -> dict[str, float]:
        """Take in a folder of Parquet files in the shape of Spark's Kafka source.

        Returns:
            The seconds of its stages, empty if it has none.
        """

    def write_result(self, path: Path) -> None:
        """Write the current table, all columns as text, as one Parquet file or a folder of them."""

    def close(self) -> None:
        """Stop what it started."""


def run(contender: type[Contender], warm: type[Contender] | None = None) -> None:
    """Run a contender over the steps of the command line, and print a line of JSON after each.

    The process ends with code 3 if the contender cannot read the format.

    Args:
        contender: what is run.
        warm: what is run instead with `--warm`, where that is not the same.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--format", required=True)
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--warm", action="store_true", help="run all the steps once before")
    parser.add_argument("steps", nargs="+", type=Path, metavar="STEP_FOLDER")
    given = parser.parse_args()
    steps = [folder.absolute() for folder in given.steps]
    try:
        if given.warm:
            contender = warm or contender
            _deploy(contender, given, given.work / "warm-up", steps, prints=False)
        _deploy(contender, given, given.work, steps, prints=True)
    except Unsupported as error:
        print(error, file=sys.stderr)
        raise SystemExit(3) from None


def _deploy(
    contender: type[Contender],
    given: argparse.Namespace,
    work: Path,
    steps: list[Path],
    prints: bool,
) -> None:
    """Run the steps in a work folder, and leave the final table in it."""
    work = work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    deployment = contender(work, given.format, given.memory)
    try:
        for folder in steps:
            began, compiled = time.perf_counter(), _compiler_seconds()
            stages = deployment.step(folder)
            line = {
                "step": folder.name,
                "seconds": round(time.perf_counter() - began, 3),
                "stages": {name: round(seconds, 3) for name, seconds in stages.items()},
                "compilers": round(_compiler_seconds() - compiled, 3),
            }
            if prints:
                print(json.dumps(line), flush=True)
        deployment.write_result(work / "result.parquet")
    finally:
        deployment.close()


def _compiler_seconds() -> float:
    """Return what the compilers of this process's Java have taken so far; 0 if it has none."""
    jvm = java_of_process()
    return 0 if jvm is None else java_seconds(jvm)[1]
