"""What an increment costs with more tables: all of them with news, or one only.

Each line is a lakehouse of its own in a process that stays, whose tables share one topic. What
the tables hold is compared at the end, as in the benchmark.
"""

from bench import results
from bench.increments import Increments, arguments
from bench.results import measured, spread, table
from bench.run import how, progress, work_folder


def main() -> None:
    """Print what was measured, as Markdown."""
    parser = arguments("python -m bench.tables", __doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=[1, 10, 30])
    given = parser.parse_args()
    rows, where = [], how(given.repeat, given.memory)  # before Spark is there
    for tables in given.tables:
        for with_news in sorted({1, tables}):
            progress(f"{tables} tables, {with_news} with news")
            with work_folder() as work:
                run = Increments(work, given, tables, with_news)
                run.begin(given.messages)
                seconds = spread(run.seconds())
                rows.append([str(with_news), str(tables), seconds, run.differences() or "equal"])
                run.lakehouse.close()
    text = table(("tables with news", "tables", "s", "rows"), rows)
    name = f"{given.format}, {given.increment:,} messages behind {given.messages:,}, warm"
    results.show({(results.TABLES, name): measured(text, where)}, given.write)


if __name__ == "__main__":
    main()
