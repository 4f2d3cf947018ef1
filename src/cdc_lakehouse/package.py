"""This package: its release, and the dbt package of silver, for projects without silver."""

from pathlib import Path

# The name of this repository's dbt project, and of the package that it is in projects of users.
PRODUCT = "cdc_lakehouse"
PACKAGE = Path(__file__).parent / "dbt_package"
# The pages for people: docs/ of this repository, which a wheel carries.
DOCS = Path(__file__).parent / "docs"
# The release, for all that says which it is: pyproject.toml reads it here. dbt_project.yml and that
# of the adapter's macros repeat it. CHANGELOG.md says what an upgrade to it does.
RELEASE = "0.2.0"
# The property of a table that tells which release has built it.
BUILT_BY = "cdc_lakehouse.release"


def has_silver(project: str | Path) -> bool:
    """Tell whether a project has silver among its own models, as that of this repository does."""
    return Path(project, "models", "silver", "events.sql").is_file()


def takes_silver(project: str | Path) -> bool:
    """Tell whether a project has silver from the package: it routes topics, and has none itself.

    A project that routes none is a plain one of dbt, with nothing in it but what it says.
    """
    return Path(project, "seeds", "topics.csv").is_file() and not has_silver(project)


def sources(project: Path) -> list[Path]:
    """Return the folders that hold what a project is made of: the package's, then its own."""
    return [PACKAGE, project] if takes_silver(project) else [project]
