"""`lakehouse sync`: write changes of the source tables into the gold models."""

import argparse

from cdc_lakehouse.console.commands.add_table import writing_models
from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.exits import Exit

HELP = "bring the gold models up to new tables, and new, wider, renamed and dropped columns"


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "sync",
        help=HELP,
        description=f"{HELP.capitalize()} that silver has seen. seeds/gold_tables.csv says which "
        "changes are written into the models; all others are reported. Prints what it wrote as a "
        "diff. Exit code 1: a change that the file wants written needs a person.",
    )
    command.add_argument(
        "--check",
        action="store_true",
        help="write nothing, print the same, and end with exit code 1 if there is anything to "
        "write or to report",
    )
    command.set_defaults(run=_sync)
    add_project(command)


def _sync(options: argparse.Namespace) -> Exit:
    """Write what the models lack, or say what there is to write."""
    from cdc_lakehouse.console.show import tables_session
    from cdc_lakehouse.gold.add_table import Gold
    from cdc_lakehouse.gold.policies import read_policies
    from cdc_lakehouse.gold.project_files import ProjectFiles
    from cdc_lakehouse.gold.source_changes import seen_changes
    from cdc_lakehouse.gold.source_tables import seen_tables
    from cdc_lakehouse.gold.sync import sync

    project_dir = enter_project(options.project_dir)
    policies = read_policies(project_dir)
    with tables_session() as spark:
        changes = seen_changes(spark, seen_tables(spark))
    files = ProjectFiles(project_dir, is_dry=options.check)
    with writing_models():
        found = sync(Gold(project_dir, files), policies, changes)
    reported = [finding for finding in found if finding.to_do]
    diff = files.diff()
    document = {"files": files.changed, "diff": diff, "findings": found}
    lines = [*diff.splitlines(), *map(str, reported)]
    options.output.tell(document, "\n".join(lines) or "The models are up to date.")
    if options.check:
        return Exit.FINDINGS if found else Exit.DONE
    return Exit.IN_PART if any(finding.is_wanted for finding in reported) else Exit.DONE
