"""`lakehouse wait`: hold a schedule until a source is complete up to a time."""

import argparse
import re
from datetime import UTC, datetime

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.exits import Exit


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "wait",
        help="wait until gold is complete up to a commit time of a source; exit code 1: not yet",
    )
    command.add_argument(
        "--source",
        metavar="NAME",
        required=True,
        help="the source, as seeds/topics.csv names it; a topic that names none is its own",
    )
    command.add_argument(
        "--until",
        metavar="TIME",
        type=_time,
        help="for example '2026-11-28 02:00', UTC without an offset; default: only say how far",
    )
    command.add_argument(
        "--silver",
        action="store_true",
        help="do not wait until gold tables have merged what is complete",
    )
    command.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        default=0.0,
        help="for how long to wait for a run that brings it; default: 0, look once",
    )
    command.set_defaults(run=_wait)
    add_project(command)


def _time(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


_time.__name__ = "time"  # argparse names it


def _seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return float(text)


def _wait(options: argparse.Namespace) -> Exit:
    """Look, again until the time is reached or over, and say how far the source is."""
    from cdc_lakehouse.console.waiting import wait_for

    enter_project(options.project_dir)
    found = wait_for(options.source, options.until, options.timeout, in_gold=not options.silver)
    options.output.tell(found.document(), found.text())
    return Exit.DONE if found.is_reached else Exit.IN_PART
