"""Look at a lakehouse for `lakehouse report` and `lakehouse check`, and write what they found."""

import os
import webbrowser
from pathlib import Path

from cdc_lakehouse.console.show import tables_session
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.report.facts import Finding
from cdc_lakehouse.report.findings import findings
from cdc_lakehouse.report.limits import read_limits
from cdc_lakehouse.report.looking import Looker
from cdc_lakehouse.report.page import page
from cdc_lakehouse.report.usable import first_line
from cdc_lakehouse.runtime.paths import work_dir
from cdc_lakehouse.storage.files import write_whole


def write_report(
    project: Path, out: str | None, with_values: bool
) -> tuple[Path, str, list[Finding]]:
    """Write the report; return where it is, its first line, and what is to be looked at.

    Args:
        out: the file; None takes report.html among what the lakehouse keeps on this machine.
        with_values: whether values of rows are in it.

    Raises:
        LakehouseError: there are no tables yet, they are in use, or the file cannot be written.
    """
    path = Path(out) if out else work_dir() / "report.html"
    if out and not os.access(path.parent, os.W_OK):
        raise LakehouseError(f"{path.parent} is no folder that can be written. Give another --out.")
    limits = read_limits(project)
    with tables_session() as spark:
        facts = Looker(spark, project, with_values).look()
    found = findings(facts, limits)
    write_whole(path, page(facts, found))
    return path, first_line(facts), found


def open_page(path: Path) -> None:
    """Let a browser show a page; say so if there is none."""
    if not webbrowser.open(path.as_uri()):
        print("No browser could be started here. Open the file in one.")


def check(project: Path) -> list[Finding]:
    """Return what is beyond a limit.

    Raises:
        LakehouseError: there are no tables yet, or they are in use.
    """
    limits = read_limits(project)
    with tables_session() as spark:
        facts = Looker(spark, project).look(is_whole=False)
    return findings(facts, limits)


def findings_text(found: list[Finding]) -> str:
    """Return what a person reads about findings, a line each."""
    lines = [f"{f.limit}  {f.subject}  {f.text}  {f.remedy}" for f in found]
    return "\n".join(lines) or headline(found)


def headline(found: list[Finding]) -> str:
    """Return in a few words whether all is well."""
    if not found:
        return "all is well: nothing is beyond a limit of seeds/limits.csv"
    return "1 thing to look at" if len(found) == 1 else f"{len(found):,} things to look at"
