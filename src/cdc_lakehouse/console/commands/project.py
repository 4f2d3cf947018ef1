"""Code that the commands share: find the project, and add options that several commands have."""

import argparse
import os
from pathlib import Path
from typing import TypeAlias

from cdc_lakehouse.runtime.project import find_project, use_project

# What add_subparsers returns; argparse has no public name.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def enter_project(given: str | None) -> Path:
    """Let this process work on a project, there: dbt, which `erase` runs, takes it from there.

    Args:
        given: the folder; None takes the one that dbt would take.

    Raises:
        LakehouseError: there is no project.
    """
    project = use_project(find_project(given))
    os.chdir(project)
    return project


def add_project(command: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add --project-dir, for `enter_project`."""
    command.add_argument(
        "--project-dir",
        metavar="DIR",
        default=default,
        help="the dbt project; default: DBT_PROJECT_DIR, or the nearest folder upwards that is one",
    )


def add_output_file(command: argparse.ArgumentParser, help: str) -> None:
    """Add --output, for `write_or_print`. Its file is that of the folder where it is typed."""
    command.add_argument(
        "--output",
        dest="output_file",
        metavar="FILE",
        type=lambda given: Path(given).absolute(),
        help=help,
    )


def write_or_print(options: argparse.Namespace, document: object, text: str, what: str) -> None:
    """Write a text to the file of --output, and say how much it is; without one, print it."""
    from cdc_lakehouse.storage.files import write_whole

    if options.output_file:
        write_whole(options.output_file, f"{text}\n")
        text = f"{options.output_file}: {what}"
    options.output.tell(document, text)


def add_dry_run(command: argparse.ArgumentParser) -> None:
    """Add --dry-run."""
    command.add_argument("--dry-run", action="store_true", help="say what would go, keep all")
