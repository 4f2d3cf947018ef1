"""`lakehouse add-format`: write the folder of a format, from a template that works."""

import argparse
import re
from pathlib import Path

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.console.templates import copy_template, not_written
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.package import PACKAGE

TEMPLATE = Path(__file__).parents[2] / "format_template"
# The scenarios that --minimal begins with.
FEWEST = ("insert", "update", "delete", "wrong_type")
# The list of macros/formats.sql, a name a line.
LIST = re.compile(r"\[[ \t]*\n((?:[ \t]*'\w+',[ \t]*\n)*)[ \t]*\]")


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "add-format", help="write the model, unit tests and page of a format, to be filled in"
    )
    command.add_argument("name", metavar="NAME", help="name of the format, such as maxwell_json")
    command.add_argument(
        "--minimal",
        action="store_true",
        help=f"begin with the tests {', '.join(FEWEST)}; default: one of every scenario",
    )
    command.set_defaults(run=_add_format)
    add_project(command)


def _add_format(options: argparse.Namespace) -> Exit:
    """Write the files of a format and print what to do next."""
    project = enter_project(options.project_dir)
    name = options.name
    written = write_format(project, name, options.minimal)
    fixtures = f"tests/fixtures/{name}"
    header = (project / "seeds" / "topics.csv").read_text().partition("\n")[0]
    own = [path for path in written if not path.startswith(f"{fixtures}/")]
    text = (
        f"The files read an example envelope, and `dbt test -s {name}` passes. Write your "
        f"messages into tests/fixtures/{name}, then what they mean into _{name}.yml, then change "
        f"{name}.sql until the tests pass, and say on the page _{name}.md what you did. A line of "
        f"seeds/topics.csv gives the format a topic: TOPIC,{name}{',' * (header.count(',') - 1)}"
    )
    listed = [*own[:-1], f"{fixtures}/ ({len(written) - len(own)} files)", own[-1]]
    options.output.tell({"format": name, "files": written}, "\n".join([*listed, text]))
    return Exit.DONE


def write_format(project: Path, name: str, is_minimal: bool = False) -> list[str]:
    """Write the files of a format, and its name into macros/formats.sql.

    Args:
        is_minimal: write the fewest tests.

    Returns:
        The files, relative to the project; the list of formats last.

    Raises:
        LakehouseError: nothing was written; the text says why.
    """
    _check_name(project, name)
    path = project / "macros" / "formats.sql"
    try:
        text = path.read_text()
    except OSError as error:
        raise LakehouseError(
            f"{path} cannot be read: {error.strerror}. It holds the list of the formats; "
            "`lakehouse init` writes one into a new project."
        ) from None
    listed = with_format(text, name)
    if listed is None:
        raise LakehouseError(
            f"{path} has no list in which each name has a line of its own. Write it as "
            "`lakehouse init` does, which makes a new project with such a file."
        )
    written = copy_template(
        TEMPLATE, project, {"my_format": name}, _is_of_fewest if is_minimal else lambda path: True
    )
    try:
        path.write_text(listed)
        if is_minimal:
            tests = project / "models" / "silver" / name / f"_{name}.yml"
            tests.write_text(with_fewest_tests(tests.read_text()))
    except OSError as error:
        raise not_written(path, error) from None
    return [*map(str, written), "macros/formats.sql"]


def _is_of_fewest(path: Path) -> bool:
    return path.suffix != ".sql" or path.stem.partition("__")[2] in ("", *FEWEST)


def with_fewest_tests(text: str) -> str:
    """Return the YAML of a format with those of its unit tests that FEWEST names."""
    head, *tests = re.split(r"\n(?=  - name: \w+__\w+\n)", text)
    names = tuple(f"__{scenario}" for scenario in FEWEST)
    kept = [each for each in tests if each.partition("\n")[0].endswith(names)]
    return "\n".join([head, *kept]).rstrip("\n") + "\n"


def _check_name(project: Path, name: str) -> None:
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise LakehouseError(
            f"{name!r} is no name for a format. Use lower-case letters, digits and _, a letter "
            "first, such as maxwell_json."
        )
    models = (*PACKAGE.glob("models/silver/**/*.sql"), *project.glob("models/**/*.sql"))
    if there := next((path for path in models if path.stem == name), None):
        raise LakehouseError(f"The name {name} is taken, it is that of {there}. Choose another.")


def with_format(text: str, name: str) -> str | None:
    """Return the text of macros/formats.sql with a name in its list; None if it has no list."""
    found = LIST.search(text)
    if not found:
        return None
    names = sorted({*re.findall(r"'(\w+)'", found[1]), name})
    lines = "".join(f"        '{each}',\n" for each in names)
    return text[: found.start(1)] + lines + text[found.end(1) :]
