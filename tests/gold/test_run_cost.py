"""What one run reads of what is new, and which steps each model takes: asked of its own timings."""

import json
import random
from collections import defaultdict

import pytest
from shop import write_messages
from test_increments import order_update

MESSAGES = 4_000
ONCE = 1.1  # with a tenth for Delta's log
FILL = random.Random(350423)

EVENTS = [
    "finds new messages",
    "names new_messages",
    "names processed_shards",
    "finds the latest changes",
    "names results",
    "writes",
    "counts what was processed",
    "finds duplicates",
    "commits",
    "keeps the latest changes",
]
ORDERS = ["stages new_changes", "asks", "stages changed_rows", "writes and commits"]
HISTORY = [*ORDERS[:2], "stages touched_changes", *ORDERS[2:]]


def messages(first, count):
    """Updates of so many orders, whole before and after, of a kilobyte that does not compress."""
    rows = []
    for number in range(first, first + count):
        message = order_update(1_769_000_000_000_000_000 + number, FILL.randbytes(500).hex())
        message["data"][0]["id"] = str(number)
        rows.append(("shop.orders", 0, number, json.dumps(message).encode()))
    return rows


class Run:
    """What the timings say of a run, and the bytes of the files that it has added."""

    def __init__(self, lakehouse):
        before = sizes(lakehouse)
        lakehouse.dbt("run")
        self.new = {table: size - before.get(table, 0) for table, size in sizes(lakehouse).items()}
        timings = json.loads((lakehouse.home / "timings" / "dbt-run.json").read_text())
        self.steps = defaultdict(list)
        for step in timings["steps"]:
            self.steps[step["part"]].append(step)

    def names(self, model):
        """The steps of a model in their order, but for statements that look at names alone."""
        names = [step["name"] for step in self.steps[model]]
        return [name for name in names if name != "runs a statement"]

    def read(self, model, *names):
        """The rows and bytes that some steps of a model read, all of them without names."""
        steps = [step for step in self.steps[model] if not names or step["name"] in names]
        return tuple(sum(step[what] for step in steps) for what in ("rows_read", "bytes_read"))


def sizes(lakehouse):
    """The bytes of the data files below each table's folder."""
    found = defaultdict(int)
    for path in (lakehouse.home / "warehouse").rglob("*.parquet"):
        folder = path.relative_to(lakehouse.home / "warehouse").parts
        if "_delta_log" not in folder and "_change_data" not in folder:
            found[".".join(folder[:2])] += path.stat().st_size
    return found


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def runs(open_lakehouse, tmp_path_factory):
    """A history, an increment and a run that finds nothing, with the bytes of new messages."""
    lakehouse = open_lakehouse("cost")
    landing = tmp_path_factory.mktemp("landing")
    lakehouse.dbt("seed")
    done = []
    for number, rows in enumerate((messages(0, MESSAGES), messages(MESSAGES, 20), [])):
        before = sizes(lakehouse)["bronze.db.messages"]
        if rows:
            write_messages(landing / f"{number}.parquet", rows)
            lakehouse.ingest(landing)
        done.append(Run(lakehouse))
        done[-1].messages = sizes(lakehouse)["bronze.db.messages"] - before
    return done


def test_a_history_reads_bronze_once(runs):
    history, _, _ = runs
    rows, size = history.read("events", "writes")
    assert MESSAGES <= rows <= ONCE * MESSAGES
    assert 0.9 * history.messages <= size <= ONCE * history.messages


def test_a_history_reads_little_of_what_it_has_written(runs):
    """Places and counts, no images."""
    history, _, _ = runs
    _, size = history.read("events", "counts what was processed", "finds duplicates", "commits")
    assert size <= 0.2 * history.new["silver.db.events"]


def test_an_increment_reads_what_is_new(runs):
    _, increment, _ = runs
    rows, size = increment.read("events", "writes")
    assert rows == 20
    # Of a file this small Parquet reads the footer twice.
    assert size <= 2 * increment.messages
    assert (
        increment.read("orders", "stages new_changes")[1] <= 2 * increment.new["silver.db.events"]
    )


def test_the_steps_of_each_model(runs):
    """A step more is a query, or a write, that each run pays for."""
    _, increment, nothing = runs
    models = {"events": EVENTS, "orders": ORDERS, "orders_history": HISTORY}
    assert {name: increment.names(name) for name in models} == models
    others = increment.steps.keys() - models.keys()
    assert all(increment.read(name) == (0, 0) for name in others)
    assert not any(increment.names(name) for name in others if not name.startswith("list_"))
    assert nothing.names("events") == EVENTS[:1]
    assert not {"orders", "orders_history"} & nothing.steps.keys()
    assert sum(nothing.read(name)[0] for name in nothing.steps) == 0
