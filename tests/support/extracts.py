"""A random source table, its feed with losses, and extracts of it: what gold has to hold.

`random_world` changes a table of its own at random. Its feed loses some changes; extracts of it are
taken at random moments, some while it changes. `Model` puts what has come so far into one order and
does to a plain dictionary what it says. It knows nothing of messages, batches and merging.
"""

from dataclasses import dataclass, field

START = 1_790_000_000  # seconds since 1970
NAMES = ("", "a", "b")


@dataclass(frozen=True)
class Change:
    """A row change: its place in the source, its second, and the rows before and after."""

    place: int
    second: int
    operation: str  # insert, update, delete, truncate
    before: tuple | None = None  # id, name, price
    after: tuple | None = None


@dataclass(frozen=True)
class Extract:
    """The rows of a table, read at a second or after it."""

    number: int
    second: int
    rows: tuple


@dataclass
class World:
    """What happened in the source, what of it the feed has, and the extracts."""

    feed: list = field(default_factory=list)
    extracts: list = field(default_factory=list)
    rows: dict = field(default_factory=dict)


def random_world(generator, events=40, keys=6, extracts=3):
    """Return a random world whose feed loses some changes before the last extract was begun."""
    world, log, states = World(), [], [{}]
    second, place = START, 0
    while len(log) < events:
        second += generator.choice((0, 0, 1, 1, 3))
        place += generator.choice((1, 1, 2))
        log.append(_act(generator, states[-1], keys, place, second))
        states.append(_after(states[-1], log[-1]))
    begun = sorted(generator.sample(range(3, events), extracts))
    for number, position in enumerate(begun):
        moment = log[position].second + generator.choice((0, 0, 1))
        # Whatever was committed before the moment is in it; the reading may see later changes.
        first = sum(change.second < moment for change in log)
        read = generator.randint(first, min(first + 4, len(log)))
        world.extracts.append(Extract(number, moment, tuple(sorted(states[read].values()))))
    last = world.extracts[-1].second
    for change in log:
        is_lost = change.second < last and generator.random() < 0.15
        if not is_lost:
            world.feed.append(change)
    world.rows = states[-1]
    return world


def _act(generator, rows, keys, place, second):
    drawn = generator.random()
    if drawn < 0.03 and rows:
        return Change(place, second, "truncate")
    key = generator.randrange(keys)
    new = (key, generator.choice(NAMES), generator.choice(("1.00", "2.50")))
    if key not in rows:
        return Change(place, second, "insert", after=new)
    if drawn < 0.3:
        return Change(place, second, "delete", before=rows[key])
    free = [k for k in range(keys) if k not in rows]
    if drawn < 0.4 and free:
        new = (generator.choice(free), *new[1:])
    return Change(place, second, "update", before=rows[key], after=new)


def _after(rows, change):
    if change.operation == "truncate":
        return {}
    rows = dict(rows)
    if change.before:
        del rows[change.before[0]]
    if change.after:
        rows[change.after[0]] = change.after
    return rows


class Model:
    """What gold holds of a table, by the changes and extracts that have come."""

    def __init__(self, changes, extracts):
        self.rows = {}  # id to (row, begin)
        self.seen = {}  # id to the latest second of its changes
        self.versions = []  # id, name, price, valid_from, valid_to
        for one in self._in_order(changes, extracts):
            if isinstance(one, Extract):
                self._reconcile(one)
            else:
                self._apply(one)
        self.versions += [(*row, begin, None) for row, begin in self.rows.values()]
        self.current = sorted(row for row, _ in self.rows.values())

    @staticmethod
    def _in_order(changes, extracts):
        ordered = sorted(changes, key=lambda change: change.place)
        placed = []
        for extract in extracts:
            since = [c.place for c in ordered if c.second >= extract.second]
            before = [
                c.place
                for c in ordered
                if c.second < extract.second and (not since or c.place < min(since))
            ]
            place = max(before, default=-1)
            placed.append(((place, 1, extract.second, extract.number), extract))
        placed += [((change.place, 0, 0, 0), change) for change in ordered]
        return [one for _, one in sorted(placed, key=lambda pair: pair[0])]

    def _apply(self, change):
        if change.operation == "truncate":
            for key in list(self.rows):
                self._end(key, change.second)
            return
        if change.before and (change.after is None or change.before[0] != change.after[0]):
            self._remove(change.before[0], change.second)
        if change.after:
            self._put(change.after, change.second)

    def _reconcile(self, extract):
        there = {row[0] for row in extract.rows}
        for key in list(self.rows):
            if key not in there:
                self._end(key, extract.second)
        for row in extract.rows:
            self._put(row, extract.second)

    def _put(self, row, second):
        key = row[0]
        self.seen[key] = second = max(second, self.seen.get(key, 0))
        if key in self.rows:
            if self.rows[key][0] == row:
                return
            self._end(key, second)
        self.rows[key] = row, second

    def _remove(self, key, second):
        self.seen[key] = max(second, self.seen.get(key, 0))
        if key in self.rows:
            self._end(key, self.seen[key])

    def _end(self, key, second):
        row, begin = self.rows.pop(key)
        self.versions.append((*row, begin, max(second, self.seen[key])))
