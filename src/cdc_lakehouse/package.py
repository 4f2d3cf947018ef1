"""The dbt package of silver: it comes with this Python package, to projects without silver."""

from pathlib import Path

# The name of this repository's dbt project, and of the package that it is in projects of users.
PRODUCT = "cdc_lakehouse"
PACKAGE = Path(__file__).parent / "dbt_package"


def has_silver(project: str | Path) -> bool:
    """Tell whether a project has silver among its own models, as that of this repository does."""
    return Path(project, "models", "silver", "events.sql").is_file()


def sources(project: Path) -> list[Path]:
    """Return the folders that hold what a project is made of: the package's, then its own."""
    return [project] if has_silver(project) else [PACKAGE, project]
