"""`lakehouse docs`: the pages of this package, which are installed with it."""

import argparse
import difflib
from pathlib import Path
from textwrap import wrap

from cdc_lakehouse.console.commands.project import Commands
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.package import DOCS, PACKAGE


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser("docs", help="list the pages of cdc_lakehouse, or print one")
    command.add_argument(
        "page",
        metavar="PAGE",
        nargs="?",
        help="its name, such as protection, or that of a format, such as canal; default: list all",
    )
    command.set_defaults(run=_docs)


def _docs(options: argparse.Namespace) -> Exit:
    """Print a page, or the names, titles and files of all."""
    subjects, formats = pages()
    if options.page is None:
        titles = {name: text_of(path).partition("\n")[0] for name, path in subjects.items()}
        lines = [f"{name:16}{title.removeprefix('# ')}" for name, title in titles.items()]
        lines += ["", *wrap(f"Formats, each with a page of its name: {', '.join(formats)}.", 80)]
        lines += ["", f"`lakehouse docs PAGE` prints one. The files are in {DOCS.resolve()}."]
        document = {"folder": DOCS.resolve(), "pages": [*subjects], "formats": [*formats]}
        options.output.tell(document, "\n".join(lines))
        return Exit.DONE
    found = subjects | formats
    name = options.page.removesuffix(".md").rpartition("/")[2].lstrip("_")
    if name not in found:
        close = difflib.get_close_matches(name, found, n=1)
        meant = f" Did you mean {close[0]}?" if close else ""
        raise LakehouseError(f"There is no page {name}.{meant} `lakehouse docs` lists all.")
    text = text_of(found[name])
    options.output.tell({"page": name, "file": found[name].resolve(), "text": text}, text)
    return Exit.DONE


def pages() -> tuple[dict[str, Path], dict[str, Path]]:
    """Return the files of the pages by name: those of subjects, and those of formats."""
    formats = sorted((PACKAGE / "models" / "silver").glob("*/_*.md"))
    return _by_name(sorted(DOCS.glob("*.md"))), _by_name(formats)


def _by_name(paths: list[Path]) -> dict[str, Path]:
    return {path.stem.lstrip("_"): path for path in paths}


def text_of(path: Path) -> str:
    """Return the text of a page, without the marks that dbt reads it by."""
    lines = path.read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith("{%")).strip()
