"""Tables that were restored, copied back or made again between runs, by their logs alone.

The logs are files as Delta writes them; what a run decides are the functions that it calls. What a
run then writes is played here, so that hundreds of histories take seconds.
"""

import json
import os
import random
import shutil
from collections import Counter
from itertools import count
from types import SimpleNamespace
from uuid import uuid4

import pytest

from cdc_lakehouse.bronze.ledger import (
    APPLICATION,
    note_of_record,
    recorded_batch,
    refuse_other_ledger,
    unlanded,
)
from cdc_lakehouse.delta.high_water_mark import EPOCH, mark_of
from cdc_lakehouse.delta.log import last_checksum, last_commit
from cdc_lakehouse.delta.past import (
    Mark,
    identifier_of,
    keeps_rows_since,
    mark_of_rows,
    note_again,
    note_of,
    read_note,
    why_not_of_past,
)
from cdc_lakehouse.engine import rebuilds
from cdc_lakehouse.engine.window import refuse_restored
from cdc_lakehouse.errors import LakehouseError

MESSAGES = "bronze.messages"


class Table:
    """A Delta table whose files are named for its rows."""

    def __init__(self, path):
        self.path, self.log = path, path / "_delta_log"
        if not self.log.exists():
            self.make()

    def make(self):
        self.log.mkdir(parents=True)
        self.commit("CREATE TABLE")

    def commit(self, operation="WRITE", rows=(), txn=None, note=None, parameters=None, gone=()):
        info = {
            "timestamp": 1000 * (self.version + 1),
            "operation": operation,
            "txnId": uuid4().hex,
        }
        info |= {"operationParameters": parameters or {}} | ({"userMetadata": note} if note else {})
        actions = [{"commitInfo": info}]
        if txn:
            if txn[1] <= self.newest(txn[0]):
                return  # as Delta does: it has it already
            actions.append({"txn": {"appId": txn[0], "version": txn[1]}})
        actions += [{"add": {"path": row, "dataChange": True}} for row in rows]
        actions += [{"remove": {"path": row, "dataChange": True}} for row in gone]
        text = "\n".join(json.dumps(action, separators=(",", ":")) for action in actions)
        (self.log / f"{self.version + 1:020}.json").write_text(text)

    def restore(self, version):
        self.commit("RESTORE", parameters={"version": version, "timestamp": None})

    @property
    def version(self):
        last = last_commit(self.path)
        return -1 if last is None else last

    def actions(self, version):
        text = (self.log / f"{version:020}.json").read_text()
        return list(map(json.loads, text.split("\n")))

    def newest(self, name):
        """The transaction that Delta knows, whatever was restored."""
        found = (a["txn"] for v in range(self.version + 1) for a in self.actions(v) if "txn" in a)
        return max((txn["version"] for txn in found if txn["appId"] == name), default=-1)

    def mark(self, name):
        return mark_of_rows(self.path, name, self.newest(name))

    def rows(self):
        """The rows of each version, worked out forwards."""
        states = []
        for version in range(self.version + 1):
            rows = list(states[-1]) if states else []
            info, *actions = self.actions(version)
            if info["commitInfo"]["operation"] == "RESTORE":
                rows = list(states[info["commitInfo"]["operationParameters"]["version"]])
            elif info["commitInfo"]["operation"] == "REPLACE":
                rows = []
            gone = {action["remove"]["path"] for action in actions if "remove" in action}
            rows = [row for row in rows if row not in gone]
            states.append(rows + [action["add"]["path"] for action in actions if "add" in action])
        return states[-1]

    def came(self, after, last):
        """The rows that commits have brought, as the change feed tells them."""
        versions = range(after + 1, last + 1)
        return [a["add"]["path"] for v in versions for a in self.actions(v) if "add" in a]


class Lake:
    """Files, the ledger, bronze, silver and gold; a row is `PARTITION/FILE`, a message a file."""

    def __init__(self, folder):
        self.folder, self.files, self.backups = folder, [], []
        self.names = ("ledger", "messages", "events", "gold")

    def __getattr__(self, name):
        if name not in ("ledger", "messages", "events", "gold"):
            raise AttributeError(name)
        return Table(self.folder / name)

    # What a run does.

    def ingest(self):
        ledger, messages = self.ledger, self.messages
        mark = messages.mark(APPLICATION)
        refuse_other_ledger(mark, ledger.path)
        known = [Recorded(row) for row in ledger.rows()]
        later = [row for row in known if row.batch > mark.number]
        free = 1 + max([mark.newest, *(row.batch for row in later)])
        for rows in unlanded(later, mark):
            batch = free if mark.went_back else rows[0].batch
            if mark.went_back:
                self.record([(row.path, row.partition) for row in rows], batch)
                free += 1
            self.land([f"{row.partition}/{row.path}" for row in rows], batch)
        paths = {row.path for row in known}
        taken = {row.partition for row in known}
        taken |= {int(row.partition("/")[0]) for row in messages.rows()}
        number = count(1 + max(taken, default=-1))
        new = sorted(path for path in self.files if path not in paths)
        random.shuffle(new)
        if new:
            placed = [(path, next(number)) for path in new]
            self.record(placed, free)
            self.land([f"{partition}/{path}" for path, partition in placed], free)

    def record(self, placed, batch):
        rows = [f"{path} {partition} {batch}" for path, partition in placed]
        self.ledger.commit(rows=rows, note=note_of_record(batch))

    def land(self, rows, batch):
        commit = recorded_batch(self.ledger.path, batch)[1]
        note = "each once " + note_of({APPLICATION: (batch, commit)})
        self.messages.commit(rows=rows, txn=(APPLICATION, batch), note=note)

    def silver(self, rebuild=False):
        messages, events = self.messages, self.events
        mark = events.mark(MESSAGES)
        if not rebuild:
            refuse_restored("silver.events", mark, self.found(mark))
        read, last = None if rebuild else mark.version, messages.version
        if read == last:
            return
        rows = messages.rows() if read is None else messages.came(read, last)
        known = {} if rebuild else {row.partition("/")[0]: row for row in events.rows()}
        new = {}
        for row in rows:
            identity = row.partition("/")[0]
            if identity not in known:
                new.setdefault(identity, row)
        self.write(events, MESSAGES, new.values(), mark, last, rebuild)

    def merge(self):
        events, gold = self.events, self.gold
        at, mark = events.mark(MESSAGES), gold.mark("silver.events")
        why = rebuilds.why_not_of_past(mark, at)
        if why is None and mark.version is not None and not mark.is_at(at):
            why = self.found(mark)
        read, last = mark.version, at.version
        if why is None and read is not None and read >= last:
            return
        rows = events.rows() if why else [r for r in events.rows() if r not in set(gold.rows())]
        self.write(gold, "silver.events", rows, mark, last, bool(why), at.source)

    def found(self, mark):
        if mark.version is None:
            return None
        return why_not_of_past(self.messages.path, mark.version, mark.source)

    def write(self, table, source, rows, mark, last, rebuild, commit=None):
        number = mark_of(last, mark.newest, rebuild or mark.went_back)
        commit = commit or identifier_of(self.messages.path, last)
        operation = "REPLACE" if rebuild else "WRITE"
        table.commit(operation, rows, (source, number), note_of({source: (number, commit)}))

    def run(self):
        """Run everything; return the sentence of what was refused."""
        try:
            self.ingest()
            self.silver()
        except LakehouseError as error:
            return str(error)
        self.merge()
        return None

    # What somebody does between runs.

    def save(self):
        number = len(self.backups)
        for name in self.names:
            _ = getattr(self, name)
            shutil.copytree(self.folder / name, self.folder / f"backup{number}" / name)
        self.backups.append(number)

    def copy_back(self, names, number):
        for name in names:
            shutil.rmtree(self.folder / name, ignore_errors=True)
            shutil.copytree(self.folder / f"backup{number}" / name, self.folder / name)

    def harm(self, draw):
        names = draw.choice([*([name] for name in self.names), ["ledger", "messages"]])
        kind = draw.choice(["restore", "copy", "drop", "cut"])
        if kind == "copy":
            self.copy_back(names, draw.choice(self.backups))
        for name in names if kind != "copy" else ():
            table = getattr(self, name)
            if kind == "restore":
                table.restore(draw.randrange(table.version + 1))
            elif kind == "drop":
                shutil.rmtree(table.path)
            elif table.version > 0:
                # The product's advice on a damaged commit: move it away.
                (table.log / f"{table.version:020}.json").unlink()
        return f"{kind} {' '.join(names)}"

    def contents(self, name):
        return Counter(row.partition("/")[2] for row in getattr(self, name).rows())


class Recorded(SimpleNamespace):
    """A row of the ledger."""

    def __init__(self, text):
        path, partition, batch = text.split()
        super().__init__(path=path, partition=int(partition), batch=int(batch), messages=1)


def play(folder, seed):
    """Play a history, and tell whether each run reads what is missing, or refuses with a remedy."""
    draw = random.Random(seed)
    random.seed(seed)
    lake, said, refused = Lake(folder), [], 0
    for step in range(draw.randint(3, 9)):
        lake.files += [f"f{step}.{n}" for n in range(draw.randint(0, 2))]
        lake.save()
        for _ in range(draw.choice([0, 0, 1, 1, 2])):
            said.append(lake.harm(draw))
        error = lake.run()
        said.append(f"run: {error or 'done'}")
        if error and "bronze.landed_files" in error:
            lake.copy_back(["ledger", "messages"], draw.choice(lake.backups[:1]))
            error = lake.run()
        if error:
            refused += 1
            assert "--full-refresh" in error, said
            lake.silver(rebuild=True)
            lake.merge()
        assert lake.run() is None, said
        expected = Counter(lake.files)
        assert lake.contents("events") == expected, (seed, "silver", said)
        assert lake.contents("gold") == expected, (seed, "gold", said)
    return refused


@pytest.mark.parametrize("seed", range(3))
def test_whatever_goes_back_nothing_is_lost_and_nothing_comes_twice(tmp_path, seed):
    for history in range(10):
        play(tmp_path / str(history), seed * 10 + history)


@pytest.mark.long
def test_so_it_is_in_many_histories(tmp_path):
    first = int(os.environ.get("SEED") or random.randrange(10**6))
    rounds = int(os.environ.get("RESTORE_HISTORIES") or 200)
    for seed in range(first, first + rounds):
        play(tmp_path / str(seed), seed)
        shutil.rmtree(tmp_path / str(seed))


# What the log tells.


@pytest.fixture
def events(tmp_path):
    """A table that has read its source up to 1 and up to 4, each in a commit; then compacted."""
    table = Table(tmp_path / "events")
    for number in (1, 4):
        note = note_of({MESSAGES: (number, f"commit{number}")})
        table.commit(rows=[f"row{number}"], txn=(MESSAGES, number), note=note)
    table.commit("OPTIMIZE")
    return table


def test_a_table_has_read_what_its_rows_came_with(events):
    assert events.mark(MESSAGES) == Mark(4, 4, "commit4", identifier_of(events.path, 2))
    assert not events.mark(MESSAGES).went_back
    assert events.mark("another") == Mark(-1, -1)


def test_a_restored_table_has_read_what_it_had_then(events):
    events.restore(1)
    mark = events.mark(MESSAGES)
    assert (mark.version, mark.newest, mark.source, mark.went_back) == (1, 4, "commit1", True)
    events.restore(3)
    assert (events.mark(MESSAGES).version, events.mark(MESSAGES).went_back) == (4, False)
    events.restore(4)  # a RESTORE is a version as any other
    assert events.mark(MESSAGES).version == 1
    events.restore(0)
    assert (events.mark(MESSAGES).version, events.mark(MESSAGES).newest) == (None, 4)


@pytest.mark.parametrize(
    ("moment", "version"),
    [
        ("1970-01-01 00:00:01.5", 1),
        ("1970-01-01T00:00:02Z", 4),
        ("1970-01-01T02:00:02+02:00", 4),
    ],
)
def test_a_table_may_be_restored_to_a_moment(events, moment, version):
    events.commit("RESTORE", parameters={"version": None, "timestamp": moment})
    assert events.mark(MESSAGES).version == version


@pytest.mark.parametrize("moment", ["last summer", "1960-01-01"])
def test_a_moment_that_the_log_does_not_tell_leaves_unknown_what_was_read(events, moment):
    events.commit("RESTORE", parameters={"version": None, "timestamp": moment})
    assert events.mark(MESSAGES) == Mark(-1, 4, is_lost=True)
    assert "no longer tells" in why_not_of_past(events.path, 2, None)


def clean(table, up_to):
    """Delete what Delta no longer keeps of a log."""
    for version in range(up_to):
        (table.log / f"{version:020}.json").unlink(missing_ok=True)


def test_what_the_log_no_longer_tells_is_believed_unless_it_was_restored(events):
    clean(events, 3)
    assert mark_of_rows(events.path, MESSAGES, 4) == Mark(4, 4)
    assert why_not_of_past(events.path, 1, "anything") is None
    events.commit("RESTORE", parameters={"version": 1, "timestamp": None})
    assert mark_of_rows(events.path, MESSAGES, 4) == Mark(-1, 4, is_lost=True)
    assert why_not_of_past(events.path, 1, "anything") is None
    assert why_not_of_past(events.path, 2, None) == "was restored to its version 1"


@pytest.mark.parametrize("text", ["", "\0\0", '{"commitInfo":{"op', '{"txn":{"appId":"b'])
def test_a_damaged_commit_is_left_to_delta(events, text):
    (events.log / f"{3:020}.json").write_text(text)
    assert mark_of_rows(events.path, MESSAGES, 4).version == 4
    assert why_not_of_past(events.path, 3, "anything") is None


def test_a_mark_that_leaves_the_log_is_said_again(events):
    checksum = {"setTransactions": [{"appId": MESSAGES, "version": 4, "lastUpdated": 1}]}
    (events.log / f"{3:020}.crc").write_text(json.dumps(checksum))
    again = note_again(events.path)
    assert read_note(again) == {MESSAGES: (4, "commit4")}
    events.commit("OPTIMIZE", note=again)
    clean(events, 4)
    assert mark_of_rows(events.path, MESSAGES, 4) == Mark(4, 4, "commit4")
    # Somebody has read more while it was compacted.
    assert mark_of_rows(events.path, MESSAGES, 5) == Mark(5, 5)


def test_a_checksum_of_another_commit_of_the_same_number_does_not_count(events):
    checksum = events.log / f"{3:020}.crc"
    checksum.write_text(json.dumps({"txnId": identifier_of(events.path, 3), "numFiles": 2}))
    assert last_checksum(events.path)["numFiles"] == 2
    (events.log / f"{3:020}.json").unlink()
    events.commit("OPTIMIZE")
    assert last_checksum(events.path) is None


def test_a_source_is_the_one_that_was_read_if_its_rows_came_through_that_commit(events):
    path, read = events.path, identifier_of(events.path, 2)
    assert why_not_of_past(path, 2, read) is None
    assert why_not_of_past(path, 2, None) is None
    assert why_not_of_past(path, 3, identifier_of(path, 3)) is None
    assert why_not_of_past(path, 4, None) == "is now at version 3"
    assert why_not_of_past(path, 2, "other") == "has another commit 2 than it had then"
    assert why_not_of_past(path.parent / "none", 0, None) == "is now at version -1"
    events.restore(2)
    assert why_not_of_past(path, 2, read) is None
    assert why_not_of_past(path, 3, None) == "was restored to its version 2"
    assert why_not_of_past(path, 4, identifier_of(path, 4)) is None


def test_rows_are_kept_unless_some_were_taken_or_put_back(events):
    path = events.path
    assert keeps_rows_since(path, 2, identifier_of(path, 2))
    assert not keeps_rows_since(path, 2, "another")
    events.restore(3)  # which has only put rows back, if any were taken
    assert not keeps_rows_since(path, 2)
    assert keeps_rows_since(path, 4)


def test_a_gold_table_is_of_the_past_of_silver():
    at = Mark(7, 7, "a")
    assert rebuilds.why_not_of_past(Mark(7, 7, "a"), at) is None
    assert rebuilds.why_not_of_past(Mark(EPOCH + 7, EPOCH + 7, "a"), at) is None
    assert rebuilds.why_not_of_past(Mark(7, 7), at) is None
    assert rebuilds.why_not_of_past(Mark(6, 6, "b"), at) is None
    assert "was another one" in rebuilds.why_not_of_past(Mark(7, 7, "b"), at)
    assert "no longer tells" in rebuilds.why_not_of_past(Mark(-1, 7, is_lost=True), at)


# The ledger of files.


@pytest.fixture
def ledger(tmp_path):
    table = Table(tmp_path / "ledger")
    for batch in (0, 3):
        table.commit(rows=[f"f{batch} {batch} {batch}"], note=note_of_record(batch))
    return table


def test_a_ledger_has_recorded_what_bronze_has(ledger):
    path, commit = ledger.path, identifier_of(ledger.path, 2)
    assert recorded_batch(path, 3) == (3, commit)
    assert recorded_batch(path, 2) == (0, identifier_of(path, 1))
    for mark in (Mark(-1, -1), Mark(3, 3, commit), Mark(3, 3), Mark(0, 3)):
        refuse_other_ledger(mark, path)
    for mark, found in ((Mark(4, 4), "has recorded batch 3 before"), (Mark(3, 3, "x"), "other")):
        with pytest.raises(LakehouseError, match=f"{found}.* Put both back .* from one backup"):
            refuse_other_ledger(mark, path)
    ledger.restore(0)
    with pytest.raises(LakehouseError, match="has recorded none before"):
        refuse_other_ledger(Mark(0, 0), path)


def test_what_an_earlier_release_has_recorded_is_believed(tmp_path):
    table = Table(tmp_path / "ledger")
    table.commit(rows=["f0 0 0"])
    assert recorded_batch(table.path, 0) is None
    refuse_other_ledger(Mark(0, 0), table.path)
    table.commit(rows=["f1 1 1"], note=note_of_record(1))
    assert recorded_batch(table.path, 1) == (1, identifier_of(table.path, 2))
    refuse_other_ledger(Mark(0, 1), table.path)


def test_files_that_bronze_lacks_land_in_their_batches_or_in_one():
    rows = [Recorded(text) for text in ("a 0 4", "b 1 5", "a 0 6")]
    assert [[row.path for row in batch] for batch in unlanded(rows, Mark(3, 3))] == [["b"], ["a"]]
    (batch,) = unlanded(rows, Mark(3, 9))
    assert sorted((row.path, row.batch) for row in batch) == [("a", 6), ("b", 5)]
    for row in rows:
        row.messages = 0
    assert (
        unlanded(rows, Mark(3, 3)) == unlanded(rows, Mark(3, 9)) == unlanded([], Mark(3, 9)) == []
    )
