"""What reading silver costs behind a history: what is asked, or what there is.

One lakehouse in one process that stays. A query is asked of
silver.row_changes and, to compare, of silver.events.
"""

from bench import results
from bench.increments import Increments, arguments
from bench.results import measured, spread, table, times
from bench.run import how, progress, work_folder

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

    def seconds(self, query: str) -> str:
        """Return what a query takes that has run before."""

        def ask() -> None:
            self.lakehouse.thread.submit(self._rows, query).result()

        ask()
        return spread(times(ask, self.repeats), 2)

    @staticmethod
    def _rows(query: str) -> None:
        from dbt.adapters.lakehouse.connections import root_session

        # The functions that views ask are there in sessions that are made from the first.
        root_session({}).newSession().sql(query).collect()

    def rows(self) -> list[list[str]]:
        """Return the rows of the table of what was measured."""
        found = []
        for name, query in OF_CHANGES.items():
            seconds = [self.seconds(query.format(source)) for source in CHANGES]
            found.append([name, *seconds])
        for view in VIEWS:
            found.append([f"`{view}`", "", self.seconds(f"select * from silver.{view}")])
        return found


def main() -> None:
    """Print what was measured, as Markdown."""
    given = arguments("python -m bench.reading", __doc__).parse_args()
    where = how(given.repeat, given.memory)  # before Spark is there
    progress(f"{given.messages} messages")
    with work_folder() as work:
        run = Increments(work, given)
        run.begin(given.messages)
        rows = Reading(run, given.repeat).rows()
        run.lakehouse.close()
    columns = ("asked", "of `events` s", "of `row_changes`, or the view s")
    name = f"{given.format}, {given.messages:,} messages, warm"
    results.show({(results.READING, name): measured(table(columns, rows), where)}, given.write)


if __name__ == "__main__":
    main()
