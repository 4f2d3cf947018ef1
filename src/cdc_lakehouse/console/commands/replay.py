"""`lakehouse reroute` and `lakehouse replay`: let dbt process landed messages again."""

import argparse
import sys

from cdc_lakehouse.console.commands.project import Commands, add_project, enter_project
from cdc_lakehouse.exits import Exit

FORMER_NO_RESULT = "no_outcome"


def add(commands: Commands) -> None:
    """Add both commands to the parser."""
    command = commands.add_parser("reroute", help="route messages that landed without a route")
    command.set_defaults(run=_reroute)
    add_project(command)

    command = commands.add_parser("replay", help="requeue rejected messages for dbt")
    command.add_argument(
        "--reason",
        metavar="CODE",
        action="append",
        default=[],
        help="take messages that were rejected for this reason",
    )
    command.add_argument(
        "--topic",
        metavar="NAME",
        action="append",
        default=[],
        help="take messages of this topic; * is any text",
    )
    command.add_argument(
        "--partition", type=int, metavar="N", help="take messages of this partition"
    )
    command.add_argument(
        "--offsets", metavar="FROM-TO", help="inclusive range; either end may be left out"
    )
    command.add_argument(
        "--processed", action="store_true", help="also take accepted messages of the topics named"
    )
    command.add_argument("--settled", action="store_true", help=argparse.SUPPRESS)
    command.add_argument("--all", action="store_true", help="take every rejected message")
    command.set_defaults(run=_replay)
    add_project(command)


def _reroute(options: argparse.Namespace) -> Exit:
    """Give unrouted messages the format that their topics have by now."""
    from cdc_lakehouse.console.documents import reroute_document
    from cdc_lakehouse.console.report import reroute_text
    from cdc_lakehouse.operate.replay import reroute

    rerouted = reroute(enter_project(options.project_dir))
    options.output.tell({"rerouted": reroute_document(rerouted)}, reroute_text(rerouted))
    return Exit.DONE


def _replay(options: argparse.Namespace) -> Exit:
    """Requeue messages that have landed, and print which."""
    from cdc_lakehouse.console.documents import replay_document
    from cdc_lakehouse.console.report import replay_text
    from cdc_lakehouse.operate.replay import NO_RESULT, Selection, parse_offsets, replay

    if options.settled:
        _say_former("--settled", "--processed")
    if FORMER_NO_RESULT in options.reason:
        _say_former(f"--reason {FORMER_NO_RESULT}", f"--reason {NO_RESULT}")
    selection = Selection(
        reasons=tuple(NO_RESULT if r == FORMER_NO_RESULT else r for r in options.reason),
        topics=tuple(options.topic),
        partition=options.partition,
        offsets=parse_offsets(options.offsets) if options.offsets is not None else None,
        processed=options.processed or options.settled,
        all=options.all,
    )
    replayed = replay(selection, enter_project(options.project_dir))
    options.output.tell(replay_document(replayed), replay_text(replayed))
    return Exit.DONE


def _say_former(name: str, now: str) -> None:
    """Tell the person who typed a name of before 0.2.0 how it is called now."""
    print(f"lakehouse: {name} is called {now} now; 0.3.0 removes it.", file=sys.stderr)
