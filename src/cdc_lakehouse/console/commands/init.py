"""`lakehouse init`: write a dbt project for a user, which takes silver from this package."""

import argparse
import re
from pathlib import Path

from cdc_lakehouse.console.commands.project import Commands
from cdc_lakehouse.console.templates import copy_template, not_written
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.package import PRODUCT, RELEASE

TEMPLATE = Path(__file__).parents[2] / "project_template"
# Packages that dbt loads beside the project; it refuses a second one of a name.
TAKEN = (PRODUCT, "dbt", "dbt_spark", "dbt_lakehouse")


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "init", help="make a dbt project that reads change messages with this package"
    )
    command.add_argument(
        "folder",
        metavar="DIR",
        help="a new or empty folder, such as shop; its name becomes the project's",
    )
    command.set_defaults(run=_init)


def _init(options: argparse.Namespace) -> Exit:
    """Make a project in a folder and print what to do next."""
    from cdc_lakehouse.runtime.jars import FOLDER

    folder = Path(options.folder)
    make_project(folder)
    steps = [] if list(FOLDER.glob("*.jar")) else ["lakehouse setup"]
    steps += [f"cd {folder}", "lakehouse ingest files FOLDER", "dbt build"]
    lines = [
        f"{folder} is a dbt project now; its README.md says what is where.",
        "Add a line for each topic to seeds/topics.csv. Then type:",
        *(f"  {step}" for step in steps),
    ]
    options.output.tell({"project": folder.resolve(), "next": steps}, "\n".join(lines))
    return Exit.DONE


def make_project(folder: Path) -> None:
    """Write the files of a project into a folder, which gives it its name.

    Raises:
        LakehouseError: the folder is not empty, its name is none for a dbt project, or it cannot
            be written.
    """
    try:
        is_used = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError as error:
        raise not_written(folder, error) from None
    if is_used:
        raise LakehouseError(
            f"{folder} is not empty. Name a folder that is not there yet, or an empty one."
        )
    words = {"my_project": project_name(folder.resolve().name), "my_version": RELEASE}
    copy_template(TEMPLATE, folder, {"gitignore": ".gitignore", **words})


def project_name(folder: str) -> str:
    """Return the name of the dbt project in a folder of this name.

    Raises:
        LakehouseError: no project can have such a name.
    """
    name = re.sub(r"[^a-z0-9]+", "_", folder.lower()).strip("_")
    if not name or name[0].isdigit() or name in TAKEN:
        raise LakehouseError(
            f"A dbt project cannot be named after the folder {folder!r}. Choose a folder whose "
            f"name begins with a letter and is none of {', '.join(TAKEN)}."
        )
    return name
