"""Find and print the timings for `lakehouse timings`."""

from cdc_lakehouse.console.text_table import text_table
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.timings import Step, Timings, commands_timed, read_timings

RUNS = ("dbt-run", "dbt-build")
HEADER = ["began", "seconds", "rows read", "bytes read", "rows written", "bytes written"]


def find_timings(command: str | None) -> list[Timings]:
    """Return the timings of a command; of the last ingest and the last run by default.

    Raises:
        LakehouseError: there are none.
    """
    known = commands_timed()
    chosen = [command] if command else _last_of_each(known)
    found = [timings for name in chosen if (timings := read_timings(name))]
    if not found:
        what = f"No {command}" if command else "No ingest, dbt run or dbt build"
        there = f" There are timings of {', '.join(known)}." if known else ""
        raise LakehouseError(f"{what} has left its timings in this lakehouse.{there}")
    return found


def _last_of_each(known: list[str]) -> list[str]:
    kinds = (lambda name: name.startswith("ingest-"), lambda name: name in RUNS)
    return [name for is_of_kind in kinds for name in list(filter(is_of_kind, known))[:1]]


def timings_text(timings: Timings, steps: bool) -> str:
    """Return the timings of a command as a table, of each model or of each of its steps."""
    name = timings.command.replace("-", " ")
    at = timings.began_at.replace("T", " ").replace("+00:00", " UTC")
    outside = timings.seconds_outside
    title = f"{name}, {at}: {timings.seconds:.1f} s, of which {outside:.1f} s in none of these"
    if timings.java_seconds:
        title += (
            f"\nJava took {timings.java_seconds:.1f} s of CPU, "
            f"{timings.compiler_seconds:.1f} of them to compile"
        )
    listed = timings.steps if steps else timings.by_part()
    header = ["model", *(["step"] if steps else []), *HEADER]
    rows = [[s.part, *([s.name] if steps else []), *_figures(s)] for s in listed]
    return f"{title}\n{text_table(header, rows)}"


def _figures(step: Step) -> list[str]:
    counts = (step.rows_read, step.bytes_read, step.rows_written, step.bytes_written)
    return [f"{step.began:.1f}", f"{step.seconds:.1f}", *(f"{count:,}" for count in counts)]
