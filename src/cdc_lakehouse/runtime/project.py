"""The dbt project that a process works on. Relative paths start in its folder.

They do not start in the working directory: a scheduler runs `dbt run --project-dir DIR` anywhere.
"""

import os
from pathlib import Path

from cdc_lakehouse.errors import LakehouseError

# As dbt reads them; the first is dbt's newer name for the second.
VARIABLES = ("DBT_ENGINE_PROJECT_DIR", "DBT_PROJECT_DIR")

_folder: Path | None = None


def use_project(folder: str | Path) -> Path:
    """Let this process work on the project in `folder`, and return the folder's real path.

    The real path, because the metastore keeps paths of tables: the same project by another name
    would be another lakehouse.
    """
    global _folder
    _folder = Path(folder).resolve()
    return _folder


def project_folder() -> Path:
    """Return the folder of the project in use; before one is named, the working directory."""
    return _folder or Path.cwd()


def find_project(given: str | None) -> Path:
    """Return the folder of a project as dbt finds it.

    Args:
        given: the folder; None takes DBT_PROJECT_DIR, or else the nearest folder from the working
            directory upwards with a dbt_project.yml.

    Raises:
        LakehouseError: there is no project.
    """
    named = given or next(filter(None, map(os.environ.get, VARIABLES)), None)
    here = Path.cwd()
    candidates = [Path(named).absolute()] if named else [here, *here.parents]
    project = next((each for each in candidates if (each / "dbt_project.yml").is_file()), None)
    if project is None:
        where = candidates[0] if named else f"{here} and the folders above it"
        raise LakehouseError(
            f"No dbt_project.yml in {where}. Name the project: --project-dir DIR, or the "
            "environment variable DBT_PROJECT_DIR."
        )
    return project
