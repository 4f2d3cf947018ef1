"""`lakehouse help`: print the pages that are installed with this package."""

import argparse
import sys
from pathlib import Path
from textwrap import wrap

from cdc_lakehouse.console.commands.project import Commands
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.package import DOCS, PACKAGE
from cdc_lakehouse.seeds import use_one_of


def add(commands: Commands) -> None:
    """Add the command to the parser. Its name was docs, which still works."""
    command = commands.add_parser(
        "help", aliases=["docs"], help="list the pages of cdc_lakehouse, or print one"
    )
    command.add_argument(
        "page",
        metavar="PAGE",
        nargs="?",
        help="its name, such as gold, that of a format, such as canal, or that of a command; "
        "default: list all pages",
    )
    command.set_defaults(run=_help, commands=commands.choices)


def _help(options: argparse.Namespace) -> Exit:
    """Print a page, or what --help of a command prints, or the names and titles of all pages."""
    import pydoc

    subjects, formats = pages()
    if options.page is None:
        document = {"folder": DOCS.resolve(), "pages": [*subjects], "formats": [*formats]}
        options.output.tell(document, _list(subjects, formats))
        return Exit.DONE
    found = subjects | formats
    name = options.page.removesuffix(".md").rpartition("/")[2].lstrip("_")
    if name in found:
        text = text_of(found[name].read_text())
        document = {"page": name, "file": found[name].resolve(), "text": text}
    elif name in options.commands:
        text = options.commands[name].format_help()
        document = {"command": name, "text": text}
    else:
        use = use_one_of(name, [*found, *options.commands], listed="its pages and commands")
        raise LakehouseError(f"There is no page {name}. {use} `lakehouse help` lists all.")
    if sys.stdout.isatty() and not options.output.as_json:
        pydoc.pager(text)
    else:
        options.output.tell(document, text)
    return Exit.DONE


def _list(subjects: dict[str, Path], formats: dict[str, Path]) -> str:
    lines = []
    for task, paths in by_task().items():
        named = [name for name, path in subjects.items() if f"docs/{path.name}" in paths]
        titles = {name: subjects[name].read_text().partition("\n")[0] for name in named}
        lines += [f"{task.capitalize()}:"] if named else []
        lines += [f"  {name:16}{title.removeprefix('# ')}" for name, title in titles.items()]
    lines += ["", *wrap(f"Formats, each with a page of its name: {', '.join(formats)}.", 80)]
    lines += ["", f"`lakehouse help PAGE` prints one. The files are in {DOCS.resolve()}."]
    return "\n".join(lines)


def pages() -> tuple[dict[str, Path], dict[str, Path]]:
    """Return the files of the pages by name: those of subjects by task, and those of formats."""
    paths = [path for listed in by_task().values() for path in listed]
    subjects = [DOCS / Path(path).name for path in paths if Path(path).parent == Path("docs")]
    return _by_name(subjects), _by_name(sorted((PACKAGE / "models" / "silver").glob("*/_*.md")))


def _by_name(paths: list[Path]) -> dict[str, Path]:
    return {path.stem.lstrip("_"): path for path in paths}


def by_task() -> dict[str, list[str]]:
    """Return the pages of each task, by their path in the repository."""
    import yaml

    listed: dict[str, list[str]] = yaml.safe_load((DOCS / "pages.yml").read_text())
    return listed


def text_of(page: str) -> str:
    """Return the text of a page, without the marks that dbt reads it by."""
    return "\n".join(line for line in page.splitlines() if not line.startswith("{%")).strip()
