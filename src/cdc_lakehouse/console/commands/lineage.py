"""`lakehouse lineage`: print for a catalog what the last run read and wrote."""

import argparse
import json

from cdc_lakehouse.console.commands.project import (
    Commands,
    add_output_file,
    add_project,
    enter_project,
    write_or_print,
)
from cdc_lakehouse.exits import Exit


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "lineage",
        help="print what the last run read and wrote, as events of OpenLineage, one a line",
        epilog="It reads what dbt leaves of a run: it needs no Spark and waits for no run.",
    )
    add_output_file(
        command, "write them there, in place of those of an earlier run; default: print them"
    )
    command.add_argument(
        "--namespace", metavar="NAME", help="namespace of jobs and tables; default: project's name"
    )
    command.add_argument(
        "--source-namespace",
        metavar="NAME",
        help="namespace of source tables, such as mysql://shop:3306; default: NAMESPACE.source",
    )
    command.set_defaults(run=_lineage)
    add_project(command)


def _lineage(options: argparse.Namespace) -> Exit:
    """Write or print the events as lines of JSON."""
    from cdc_lakehouse.console.lineage import last_events

    project = enter_project(options.project_dir)
    events = last_events(project, options.namespace, options.source_namespace)
    text = "\n".join(json.dumps(event, ensure_ascii=False) for event in events)
    write_or_print(options, {"events": events}, text, f"{len(events)} events")
    return Exit.DONE
