"""A history whose older part comes as an archive ends as one that a feed has brought whole.

A random log (`convergence.random_log`) is written once for each order of delivery, as a table of
its own. `whole` comes as the feed alone. Of the others the feed brings the newer messages and an
archive the older ones, which overlap; each order says what comes in which round.

SEED chooses the log. All take minutes; the last test has more changes and all orders.
"""

import json
import os
import random
from collections import defaultdict
from itertools import count

import pytest
from convergence import Table, model_of, random_log
from shop import DELIVERY, write_messages
from test_convergence import DATABASE, ENCODERS, gold_columns, gold_model

pytestmark = pytest.mark.long
SEED = int(os.environ["SEED"])
PARTITIONS = 2
TABLE = Table(partial=True, partial_key_changes=True)
# What a round brings of a delivery: `feed` and `archive`, from one share of the log to another.
ORDERS = {
    "whole": [[("feed", 0, 1)]],
    "live_first": [[("feed", 0.5, 1)], [("archive", 0, 0.6)], [("archive", 0, 0.6)]],
    "interleaved": [
        [("feed", 0.5, 0.7)],
        [("archive", 0.3, 0.6), ("feed", 0.7, 0.8)],
        [("feed", 0.8, 1), ("archive", 0, 0.3)],
    ],
    "elsewhere": [[("feed", 0.5, 1)], [("archive", 0, 0.6)]],
    "archive_first": [[("archive", 0, 0.6)], [("feed", 0.5, 1)]],
    "by_pieces": [
        [("archive", 0.4, 0.6)],
        [("feed", 0.5, 0.9), ("archive", 0.2, 0.4)],
        [("archive", 0, 0.3), ("feed", 0.9, 1)],
    ],
    "all_archived": [[("feed", 0.5, 1)], [("archive", 0, 1)]],
}
FEW = ("whole", "live_first")
# Its archive has offsets of another cluster, and so a name of its own.
ELSEWHERE = "elsewhere"
SUFFIXES = {"": "current_state", "_history": "history"}
VIEWS = (
    "events",
    "row_images",
    "message_counts",
    "result_counts",
    "message_accounting",
    "conflicting_messages",
)


def log_of(events):
    """Return a log that leaves rows: one may end with a TRUNCATE."""
    for number in count():
        log, _ = random_log(TABLE, random.Random(f"{SEED} backfill {number}"), 20, events)
        if len(model_of(TABLE, log).rows) > 5:
            return log


class Delivery:
    """The log as the messages of one topic."""

    number = -1  # of no log whose tables are kept as plain tables, too
    table = TABLE

    def __init__(self, order, log):
        self.order, self.rounds = order, ORDERS[order]
        generator = random.Random(f"{SEED} messages")
        encoder, offsets = ENCODERS["dts_canal"], defaultdict(int)
        self.messages = []
        for statement in log:
            for message in encoder.encode(order, TABLE, statement, generator):
                partition = generator.randrange(PARTITIONS)
                place = partition, offsets[partition]
                self.messages.append((*place, json.dumps(message, ensure_ascii=False).encode()))
                offsets[partition] += 1

    def name(self, order):
        return order

    def part(self, source, first, last):
        """Return rows of the messages between two shares of the log, as a source delivers them."""
        number = len(self.messages)
        rows = self.messages[int(first * number) : int(last * number)]
        if source == "feed":
            return [(f"feed.{self.order}", *row) for row in rows]
        rows = random.Random(f"{SEED} {first}").sample(rows, len(rows))
        if self.order == ELSEWHERE:
            rows = [(0, 7 * number, value) for number, (*_, value) in enumerate(rows)]
        return [(f"prod.feed.{self.order}.v1", *row) for row in rows]


class World:
    """A lakehouse that has got all deliveries, round by round."""

    def __init__(self, open_lakehouse, landing, orders, events):
        self.deliveries = [Delivery(order, log_of(events)) for order in orders]
        self.models = [order + suffix for order in orders for suffix in SUFFIXES]
        self.lakehouse = open_lakehouse("backfill", change=self.write_project)
        self.lakehouse.dbt("seed")
        self.landing, self.landed = landing, defaultdict(int)
        for number in range(max(len(delivery.rounds) for delivery in self.deliveries)):
            self.deliver(number)
            self.lakehouse.dbt("run", "-s", *VIEWS, *self.models)

    def write_project(self, project):
        topics = project / "seeds" / "topics.csv"
        topics.write_text(topics.read_text() + "feed.*,dts_canal,,,,\n")
        folder = project / "models" / "gold" / DATABASE
        folder.mkdir()
        models = []
        for delivery in self.deliveries:
            for suffix, materialization in SUFFIXES.items():
                name = delivery.order + suffix
                sql = gold_model(delivery, delivery.order, materialization)
                (folder / f"{name}.sql").write_text(sql)
                models.append(
                    {
                        "name": name,
                        "description": "A table of the test. One row per row.",
                        "constraints": [{"type": "primary_key", "columns": list(TABLE.key)}],
                        "columns": [
                            {"name": column, "data_type": kind, "description": "x"}
                            for column, kind in gold_columns(TABLE)
                        ],
                    }
                )
        (folder / f"_{DATABASE}.yml").write_text(json.dumps({"models": models}))

    def deliver(self, number):
        parts = {"feed": [], "archive": []}
        for delivery in self.deliveries:
            for source, first, last in (delivery.rounds[number:] or [[]])[0]:
                rows = delivery.part(source, first, last)
                parts[source] += rows
                self.landed[delivery.order] += len(rows)
        for source, rows in parts.items():
            if rows:
                write_messages(self.landing / source / f"{number}.parquet", rows)
        if parts["feed"]:
            self.lakehouse.ingest(self.landing / "feed")
        if parts["archive"]:
            names = ["prod.*.v1=*", f"prod.feed.{ELSEWHERE}.v1=feed.{ELSEWHERE}@archive"]
            topics = [text for name in names for text in ("--topic", name)]
            archive = str(self.landing / "archive")
            code, out, err = self.lakehouse.command("backfill", archive, *topics)
            assert code == 0, out + err

    def rows(self, model):
        """Return the rows of a gold table, without which copy was read and of which order it is."""
        rows = self.lakehouse.query(f"select * from gold.{model}")
        left_out = {*DELIVERY, "_source_table"}
        kept = [{name: v for name, v in row.items() if name not in left_out} for row in rows]
        return sorted(kept, key=str)

    def accounting(self, topic):
        """Return what does not depend on the delivery, by partition, and what does, summed."""
        rows = self.lakehouse.query(
            f"select * from silver.message_accounting where topic = '{topic}' order by partition"
        )
        depends = ("late_changes", "repeated_identities", "repeated_changes", "row_changes")
        left_out = {"topic", "last_ingested_at", "late_changes", "repeated_identities"}
        kept = [{name: v for name, v in row.items() if name not in left_out} for row in rows]
        return kept, {name: sum(row[name] for row in rows) for name in depends}


@pytest.fixture(scope="module")
def worlds(open_lakehouse, tmp_path_factory):
    """Return a function that makes the world of some orders, or returns the one that it made."""
    made = {}

    def world(orders, events):
        if orders not in made:
            landing = tmp_path_factory.mktemp("landing")
            made[orders] = World(open_lakehouse, landing, orders, events)
        return made[orders]

    return world


def check(world, order):
    for suffix in SUFFIXES:
        expected = world.rows(f"whole{suffix}")
        assert expected and world.rows(f"{order}{suffix}") == expected
    delivery = next(each for each in world.deliveries if each.order == order)
    once = len(delivery.messages)
    kept, depends = world.accounting(f"feed.{order}")
    whole, of_whole = world.accounting("feed.whole")
    assert of_whole["late_changes"] == of_whole["repeated_changes"] == 0
    if order == ELSEWHERE:
        _, archived = world.accounting(f"feed.{order}@archive")
        copies = depends["repeated_changes"] + archived["repeated_changes"]
        assert copies > 0
        changes = depends["row_changes"] + archived["row_changes"]
        assert changes - copies == of_whole["row_changes"]
    else:
        assert kept == whole
        assert [row["missing_offsets"] for row in kept] == [0] * PARTITIONS
        assert depends["repeated_identities"] == world.landed[order] - once > -1
    conflicts = "select * from silver.conflicting_messages where topic like 'feed.%'"
    assert world.lakehouse.query(conflicts) == []


@pytest.mark.parametrize("order", FEW[1:])
def test_gold_history_and_accounting_are_those_of_the_whole_feed(worlds, order):
    check(worlds(FEW, 120), order)


def test_what_comes_after_the_feed_is_late(worlds):
    _, depends = worlds(FEW, 120).accounting("feed.live_first")
    assert depends["late_changes"] > 0


@pytest.mark.parametrize("order", [order for order in ORDERS if order != "whole"])
def test_every_order_ends_the_same(worlds, order):
    check(worlds(tuple(ORDERS), 2000), order)
