"""What reading silver costs behind a history: what is asked, or what there is.

One lakehouse in one process that stays. A query is asked of
silver.row_changes and, to compare, of silver.events.
"""

import statistics
import time

from bench.increments import Increments, arguments
from bench.run import machine, progress, work_folder

CHANGES = ("silver.events where kind = 'row_change' and", "silver.row_changes where")
OF_CHANGES = {
    "all changes, counted": "select count(*) from {} true",
    "of a table that has none": "select count(*) from {} table_name = 'nothing'",
    "of times that no change has": "select max(after['id']) from {} committed_at < '2001-01-01'",
    "of one key": "select count(*) from {} after['id'] = '1234'",
}
VIEWS = ("message_accounting", "table_accounting", "source_columns", "schema_drift")


class Reading:
    """A lakehouse that has a history, and the seconds that queries of it take."""

    def __init__(self, run: Increments, repeats: int) -> None:
        self.lakehouse, self.repeats = run.lakehouse, repeats

    def seconds(self, query: str) -> float:
        """Return the median time of a query, which has run before."""
        took = []
        for _ in range(self.repeats + 1):
            began = time.perf_counter()
            self.lakehouse.thread.submit(self._rows, query).result()
            took.append(time.perf_counter() - began)
        return statistics.median(took[1:])

    @staticmethod
    def _rows(query: str) -> None:
        from dbt.adapters.lakehouse.connections import root_session

        # The functions that views ask are there in sessions that are made from the first.
        root_session({}).newSession().sql(query).collect()


def rows(reading: Reading) -> list[str]:
    """Return the rows of the table of what was measured."""
    found = []
    for name, query in OF_CHANGES.items():
        events, changes = (reading.seconds(query.format(source)) for source in CHANGES)
        found.append(f"| {name} | {events:.2f} | {changes:.2f} | {changes / events:.1f} x |")
    for view in VIEWS:
        found.append(f"| {view} | | {reading.seconds(f'select * from silver.{view}'):.2f} | |")
    return found


def main() -> None:
    """Print what was measured, as Markdown."""
    given = arguments("python -m bench.reading", __doc__).parse_args()
    progress(f"{given.messages} messages")
    print(f"{machine()}\n\n{given.messages:,} messages of {given.format}\n")
    print("| asked | silver.events s | silver.row_changes or the view s | |\n|---|---|---|---|")
    with work_folder() as work:
        run = Increments(work, given)
        run.begin(given.messages)
        print("\n".join(rows(Reading(run, given.repeat))))
        run.lakehouse.close()


if __name__ == "__main__":
    main()
