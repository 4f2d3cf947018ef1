"""`lakehouse setup`: fetch what an installation needs and pip does not install."""

import argparse

from cdc_lakehouse.console.commands.project import Commands
from cdc_lakehouse.exits import Exit


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser("setup", help="fetch the Java libraries")
    command.add_argument(
        "--storage",
        choices=["s3a"],
        help="fetch what a lakehouse in this object storage needs, too",
    )
    command.add_argument(
        "--cluster",
        nargs="*",
        metavar="PACKAGE",
        help="pack the Python packages that a cluster's workers need, to be sent to them; "
        "name those that functions of your own import",
    )
    command.add_argument(
        "--no-archive",
        dest="archives",
        action="store_false",
        help="leave out the archive of Java's classes, which takes half a minute; without it each "
        "start takes 4 s longer",
    )
    command.set_defaults(run=_setup)


def _setup(options: argparse.Namespace) -> Exit:
    """Fetch the Java libraries that pyspark does not bring, and archive their classes."""
    from cdc_lakehouse.operate.archive_classes import make_archive
    from cdc_lakehouse.runtime.jars import FOLDER, fetch_jars, fetch_storage_jars
    from cdc_lakehouse.runtime.progress import say

    say("fetches the Java libraries of Delta and Kafka")
    jars = fetch_jars()
    document, lines = {"folder": FOLDER, "jars": jars}, [f"{len(jars)} jars in {FOLDER}"]
    if options.storage:
        fetched = document["storage_jars"] = fetch_storage_jars(options.storage)
        lines.append(f"{len(fetched)} jars for {options.storage}:// in {FOLDER / options.storage}")
    if options.cluster is not None:
        from cdc_lakehouse.runtime.worker_packages import ARCHIVE, pack

        packed = document["worker_packages"] = pack(options.cluster)
        lines.append(f"{', '.join(packed)} in {ARCHIVE}")
    reason = ""
    if options.archives:
        say("archives Java's classes, some minutes at most: each later start takes 4 s less")
        reason = make_archive()
    if reason:
        lines.append(f"No archive of Java's classes, so each start takes longer: {reason}")
    options.output.tell(document | {"problem": reason or None}, "\n".join(lines))
    return Exit.DONE
