"""What an increment costs with more tables: all of them with news, or one only.

Each line is a lakehouse of its own in a process that stays, whose tables share one topic. What
the tables hold is compared at the end, as in the benchmark.
"""

from bench.increments import Increments, arguments
from bench.run import machine, progress, work_folder


def main() -> None:
    """Print what was measured, as Markdown."""
    parser = arguments("python -m bench.tables", __doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=[1, 10, 30])
    given = parser.parse_args()
    print(f"{machine()}\n\n| tables with news, of so many | s | each | rows |\n|---|---|---|---|")
    for tables in given.tables:
        for with_news in sorted({1, tables}):
            progress(f"{tables} tables, {with_news} with news")
            with work_folder() as work:
                run = Increments(work, given, tables, with_news)
                run.begin(given.messages)
                row = run.row(f"{with_news} of {tables}")
                print(f"{row} {run.differences() or 'equal'} |", flush=True)
                run.lakehouse.close()


if __name__ == "__main__":
    main()
