"""A random source table with its log, and what gold has to hold of it: a table that is changed.

`random_log` is a source: it changes a table of its own at random and writes a log of it. `Model`
reads a log from its beginning to its end and does to a plain table what each change says. It knows
nothing of messages, of their order and copies, nor of merging: whatever way a log is delivered,
gold has to end as the model does.

A value is the canonical text of silver, None for NULL. A position is (statement, row): the place of
a change in the source. A time is in seconds since 1970, None where the source does not know it.
"""

from dataclasses import dataclass, field

# The operations of a log, as gold names them.
SNAPSHOT, INSERT, UPDATE, DELETE = "snapshot", "insert", "update", "delete"
TRUNCATE, DROP = "truncate", "drop"


@dataclass(frozen=True)
class Column:
    """A column that is not of the key: few values, so that a row often becomes what it was.

    `misfits` are texts that are no value of its gold type, with the code of the problem.
    """

    name: str
    data_type: str
    values: tuple
    misfits: dict = field(default_factory=dict)


COLUMNS = (
    Column("name", "string", ("", "a", "b")),
    Column(
        "price",
        "decimal(6, 2)",
        ("1.00", "-2.50"),
        {"12.345": "loses_digits", "12345.00": "out_of_range", "many": "invalid"},
    ),
    Column("quantity", "int", ("0", "7"), {"3000000000": "out_of_range", "few": "invalid"}),
    Column(
        "seen_at",
        "timestamp_ntz",
        ("2026-01-02 03:04:05", "2026-01-02 03:04:05.5"),
        {
            "0000-00-00 00:00:00": "zero_date",
            "2026-02-30 00:00:00": "invalid",
            "10000-01-01 00:00:00": "out_of_range",
            "1234": "invalid",
        },
    ),
    Column("photo", "binary", ("", "00ff")),
)
NAMES = [column.name for column in COLUMNS]
MISFITS = {column.name: column.misfits for column in COLUMNS}

ID = ("id",)
REGION_AND_NUMBER = ("region", "number")
REGIONS = ("north", "O'Hare", "a.b", " süd")


@dataclass(frozen=True)
class Table:
    """What a source table is like, and the options of its gold models."""

    key: tuple = ID
    # Whether updates and deletes carry some of the columns only; and updates that move a key.
    partial: bool = False
    partial_key_changes: bool = False
    # How rows move to another key.
    moves: tuple = ("away", "to and fro", "follow", "swap")
    # Whether the types of a message are those of its images only, as Canal fills them.
    types_of_image: bool = False
    # Whether some values do not fit their gold type.
    misfits: bool = False
    # Whether the format has rows of a full load with a place in the source.
    snapshots: bool = True
    on_truncate: str = "apply"
    # What gold does when the source drops the table and makes it again; None if it never does.
    on_drop: str | None = None
    on_delete: str = "hide"
    track_columns: tuple = tuple(NAMES)

    def free_keys(self, count):
        """Return the keys that rows can have."""
        if self.key == ID:
            return [(str(number),) for number in range(count)]
        return [(REGIONS[n % len(REGIONS)], str(n // len(REGIONS))) for n in range(count)]


@dataclass(frozen=True)
class Change:
    """What a log says of one row: `carried` are the columns that it knows, without the key."""

    operation: str
    position: tuple
    committed_at: int | None
    old_key: tuple | None = None  # of an update or delete
    new_key: tuple | None = None  # of all but a delete
    carried: dict = field(default_factory=dict)
    before: dict = field(default_factory=dict)  # what the carried columns of an update held

    @property
    def changes_key(self):
        return self.operation == UPDATE and self.old_key != self.new_key

    def concerns(self, key):
        return self.operation in (TRUNCATE, DROP) or key in (self.old_key, self.new_key)


def random_log(table, generator, keys, events):
    """Return a random log of at least `events` changes, statement by statement.

    Args:
        table: The table.
        generator: The random.Random to draw from.
        keys: The number of keys that rows can have.
        events: The number of changes.

    Returns:
        A list of statements, each the list of its changes, and the rows that the source ends with:
        {key: {column: text}}.
    """
    source = _Source(table, generator, keys)
    source.fill()
    # A TRUNCATE must not be the last thing that happens, nor happen to an empty table only.
    emptied = [(30, TRUNCATE), (31, TRUNCATE), (60, TRUNCATE), (85, TRUNCATE)]
    if table.on_drop:
        emptied = sorted([*emptied, (45, DROP), (62, DROP), (86, DROP)])
    while source.changes < events:
        if emptied and source.changes >= events * emptied[0][0] // 100:
            source.empty(emptied.pop(0)[1])
        else:
            source.act()
    return source.log, source.rows


class _Source:
    def __init__(self, table, generator, keys):
        self.table, self.generator = table, generator
        self.keys = table.free_keys(keys)
        self.rows, self.log, self.changes = {}, [], 0
        # The keys of rows that the log has told as a whole.
        self.told = set()
        self.statement, self.time = 1000, 1_790_000_000

    def fill(self):
        """Half of the keys have rows; of some of them the log knows nothing yet."""
        for key in self.generator.sample(self.keys, len(self.keys) // 2):
            self.rows[key] = self._row()
        known = [key for key in self.rows if self.generator.random() < 0.8]
        self.told.update(known)
        for start in range(0, len(known), 4):
            operation = SNAPSHOT if self.table.snapshots else INSERT
            self._write(*(self._whole(operation, key) for key in known[start : start + 4]))

    def act(self):
        """A statement on one to three rows, or on what a key or two keys do."""
        actions = (self._insert, self._update, self._delete, self._move, self._again)
        action = self.generator.choices(actions, (30, 45, 24, 10, 3))[0]
        action(self.generator.choice((1, 1, 2, 3)))

    def empty(self, operation):
        self.rows.clear()
        self.told.clear()
        self._write({"operation": operation})

    def _insert(self, count):
        changes = []
        for key in self._free(count):
            self.rows[key] = self._row()
            self.told.add(key)
            changes.append(self._whole(INSERT, key))
        self._write(*changes)

    def _again(self, count):
        """A full load reads rows that the log has told before."""
        if self.table.snapshots:
            self._write(*(self._whole(SNAPSHOT, key) for key in self._active(count)))

    def _update(self, count):
        changes = []
        for key in self._active(count):
            before, after = self.rows[key], dict(self.rows[key])
            # Of none: a row is often written as it was.
            for name in self.generator.sample(NAMES, self.generator.choice((0, 1, 1, 2))):
                after[name] = self._value(name)
            changed = [name for name in NAMES if after[name] != before[name]]
            changes.append(self._updated(key, key, before, after, self._carried(changed)))
            self.rows[key] = after
        self._write(*changes)

    def _delete(self, count):
        changes = []
        for key in self._active(count):
            row = self.rows.pop(key)
            self.told.discard(key)
            carried = {name: row[name] for name in self._carried(())}
            changes.append({"operation": DELETE, "old_key": key, "carried": carried})
        self._write(*changes)

    def _move(self, count):
        """Move a row to a free key; often to and fro, or its old key becomes that of another."""
        active, free = self._active(2), self._free(1)
        if len(active) < 2 or not free:
            return
        first, second, spare = *active, *free
        can_trade = self.table.partial_key_changes and self.told >= {first, second}
        if can_trade and self.generator.random() < 0.2:
            self._trade(first, second)
            return
        kind = self.generator.choice(self.table.moves)
        moves = {
            "away": [(first, spare)],
            "to and fro": [(first, spare), (spare, first)],
            "follow": [(first, spare), (second, first)],
            # MySQL checks each row by itself, so two keys are swapped by way of a third.
            "swap": [(first, spare), (second, first), (spare, second)],
        }[kind]
        changes = [self._moved(old, new) for old, new in moves]
        if count == 1:
            for change in changes:
                self._write(change)
        else:
            self._write(*changes)

    def _trade(self, first, second):
        """Swap two keys in one statement, as where keys are checked at its end, as in Oracle."""
        moves = [(first, second, self.rows[first]), (second, first, self.rows[second])]
        changes = []
        for old, new, before in moves:
            name = self.generator.choice(NAMES)
            after = before | {name: self._value(name)}
            changes.append(self._updated(old, new, before, after, [name]))
            self.rows[new] = after
        self._write(*changes)

    def _moved(self, old, new):
        before = self.rows.pop(old)
        if old in self.told:
            self.told.remove(old)
            self.told.add(new)
        after = dict(before)
        if self.generator.random() < 0.3:
            name = self.generator.choice(NAMES)
            after[name] = self._value(name)
        changed = [name for name in NAMES if after[name] != before[name]]
        is_partial = self.table.partial_key_changes and self.generator.random() < 0.5
        self.rows[new] = after
        return self._updated(
            old, new, before, after, self._carried(changed) if is_partial else NAMES
        )

    def _carried(self, changed):
        """The columns that a change carries: all, or those that it changes and some others."""
        if not self.table.partial or self.generator.random() < 0.2:
            return NAMES
        carried = [n for n in NAMES if n in changed or self.generator.random() < 0.25]
        return carried or [self.generator.choice(NAMES)]

    def _updated(self, old, new, before, after, carried):
        return {
            "operation": UPDATE,
            "old_key": old,
            "new_key": new,
            "carried": {name: after[name] for name in carried},
            "before": {name: before[name] for name in carried},
        }

    def _whole(self, operation, key):
        return {"operation": operation, "new_key": key, "carried": dict(self.rows[key])}

    def _active(self, count):
        return self.generator.sample(list(self.rows), min(count, len(self.rows)))

    def _free(self, count):
        free = [key for key in self.keys if key not in self.rows]
        return self.generator.sample(free, min(count, len(free)))

    def _row(self):
        return {name: self._value(name) for name in NAMES}

    def _value(self, name):
        column = COLUMNS[NAMES.index(name)]
        chance = self.generator.random()
        if chance < 0.15:
            return None
        if chance < 0.30 and self.table.misfits and column.misfits:
            return self.generator.choice(list(column.misfits))
        return self.generator.choice(column.values)

    def _write(self, *changes):
        """Write one statement. Clocks stand still in a transaction, go back, or are not known."""
        if not changes:
            return
        generator = self.generator
        self.statement += generator.choice((1, 1, 10, 1000))
        self.time += generator.choice((0, 0, 1, 3))
        chance = generator.random()
        committed_at = self.time
        if chance < 0.05:
            committed_at = None
        elif chance < 0.12:
            committed_at -= generator.randrange(1, 60)
        self.log.append(
            [
                Change(position=(self.statement, row), committed_at=committed_at, **change)
                for row, change in enumerate(changes)
            ]
        )
        self.changes += len(changes)


@dataclass(frozen=True)
class Cell:
    """A value as gold shows it: null where there is none that fits, and then the problem."""

    text: str | None
    problem: tuple | None = None


NOTHING = Cell(None)


def cell(name, text):
    """Return what gold shows of a text that the source sent."""
    code = MISFITS[name].get(text)
    return Cell(None, (name, code, text)) if code else Cell(text)


@dataclass(frozen=True)
class Row:
    """The last that is known of a key: its row, or that it was deleted.

    `written` says of each column which change carried it last, None if none has.
    """

    key: tuple
    operation: str
    position: tuple
    committed_at: int | None
    cells: dict
    written: dict

    @property
    def is_deleted(self):
        return self.operation == DELETE

    @property
    def problems(self):
        return [self.cells[name].problem for name in NAMES if self.cells[name].problem]

    @property
    def older_columns(self):
        """The columns that the row's last change did not carry, with the change that did."""
        return {name: at for name, at in self.written.items() if at != self.position}


@dataclass
class Version:
    """What a row was from one time to another. While it is current nothing has ended it."""

    row: Row
    valid_from: int | None
    valid_to: int | None = None
    is_current: bool = True
    is_truncated: bool = False


class Model:
    """A table without rows, to which a log is applied in its order.

    Attributes:
        rows: The rows that are there: {key: Row}.
        last: The last of every key that was ever seen, deleted or not: {key: Row}.
        versions: What the row of each key was, in order: {key: [Version]}.
        emptied: The last TRUNCATE and the last DROP that gold stores: {operation: Change}.
    """

    def __init__(self, table):
        self.table = table
        self.rows, self.last, self.versions, self.emptied = {}, {}, {}, {}
        self.clocks = {}
        # Rows whose key a moved row has taken, and when: one statement may change places of rows.
        self.displaced = {}
        # The keys of rows that a TRUNCATE or DROP has removed in the source, and not in gold.
        self.doubted = set()

    def apply(self, change):
        """Do to the table what a change of the log says."""
        if change.operation in (TRUNCATE, DROP):
            self._empty(change)
        elif change.operation == DELETE:
            self._delete(change.old_key, change)
        elif change.changes_key:
            self._move(change)
        else:
            carried = {name: cell(name, text) for name, text in change.carried.items()}
            self._put(change.new_key, change, carried)

    def _move(self, change):
        """A row under a new key has what its change carries, and the rest from the row that moved.

        If there was none, nothing is known of the rest. Where rows change places in one statement,
        it is not the row that has just come to the old key, but the one that was there before.
        """
        old, new = change.old_key, change.new_key
        cells = {name: Cell(None, (name, "not_carried", None)) for name in NAMES}
        time, displaced = self.displaced.get(old, (None, None))
        if displaced and time == change.committed_at and len(change.carried) < len(NAMES):
            cells = displaced.cells
            del self.displaced[old]
        else:
            if old in self.rows:
                cells = self.rows[old].cells
            self._delete(old, change)
        there = None if new in self.doubted else self.rows.get(new)
        self._put(new, change, cells | {n: cell(n, text) for n, text in change.carried.items()})
        if there:
            self.displaced[new] = (change.committed_at, there)

    def _put(self, key, change, cells):
        known, written = dict.fromkeys(NAMES, NOTHING), dict.fromkeys(NAMES)
        if key in self.last:
            known, written = self.last[key].cells, self.last[key].written
        if key in self.last and self.last[key].is_deleted:
            known = dict.fromkeys(NAMES, NOTHING)
        written = written | dict.fromkeys(cells, change.position)
        row = self._row(key, change.operation, change, known | cells, written)
        self.rows[key] = self.last[key] = row
        self.displaced.pop(key, None)
        self.doubted.discard(key)
        self._begin_version(row)

    def _delete(self, key, change):
        cells = dict.fromkeys(NAMES, NOTHING)
        if self.table.on_delete == "flag":
            # Its last content, of which the change may say more than was known.
            known = self.last[key].cells if key in self.last else cells
            image = change.before if change.changes_key else change.carried
            cells = known | {name: cell(name, text) for name, text in image.items()}
        row = self._row(key, DELETE, change, cells, dict.fromkeys(NAMES, change.position))
        self.rows.pop(key, None)
        self.last[key] = row
        self.displaced.pop(key, None)
        self._end_version(row)

    def _empty(self, change):
        self.displaced.clear()
        is_dropped = change.operation == DROP
        if not is_dropped or self.table.on_drop != "keep":
            self.emptied[change.operation] = change
        if (self.table.on_drop if is_dropped else self.table.on_truncate) in ("keep", "ignore"):
            self.doubted.update(self.rows)
            return
        for key in self.rows:
            version = self.versions[key][-1]
            version.is_current, version.is_truncated = False, True
            version.valid_to = latest(self.clocks[key], change.committed_at)
        self.rows.clear()

    def _row(self, key, operation, change, cells, written):
        return Row(key, operation, change.position, change.committed_at, cells, written)

    def _begin_version(self, row):
        versions = self.versions.setdefault(row.key, [])
        if versions and versions[-1].is_current and self._is_same(versions[-1].row, row):
            self._tick(row)
            versions[-1].row = row
        else:
            versions.append(Version(row, self._end_version(row)))

    def _end_version(self, row):
        """End the version that the row's key has; return the time of this change of it."""
        time = self._tick(row)
        if self.versions.get(row.key):
            version = self.versions[row.key][-1]
            if version.is_current:
                version.is_current, version.valid_to = False, time
            elif version.is_truncated:
                version.valid_to = earliest(version.valid_to, time)
        return time

    def _tick(self, row):
        """The time of a change of a key: it never goes back, whatever the source's clock says."""
        time = self.clocks[row.key] = latest(self.clocks.get(row.key), row.committed_at)
        return time

    def _is_same(self, row, other):
        return all(row.cells[name] == other.cells[name] for name in self.table.track_columns)


def latest(*times):
    """Return the greatest of the times that are known, None if none is."""
    return max((time for time in times if time is not None), default=None)


def earliest(*times):
    """Return the least of the times that are known, None if none is."""
    return min((time for time in times if time is not None), default=None)


def model_of(table, log):
    """Return the model after all statements of a log."""
    model = Model(table)
    for statement in log:
        for change in statement:
            model.apply(change)
    return model
