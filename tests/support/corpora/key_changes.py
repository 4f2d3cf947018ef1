"""Statements that change the keys of rows along, where the rows of one commit share its place.

Maxwell's rows of one event share their position, and the last of a transaction has no number.
TiCDC's raw UPDATEs of one commit share its timestamp. Each log comes shuffled and in two parts.
"""

import json
import random
from datetime import datetime, timedelta

from corpora.mysql_logs import route

START = datetime(2023, 11, 14, 22, 13, 20)
SECONDS = 1_700_000_000
VALUES = "abcdef"


def at(commit):
    """When a commit happened; each is a minute after the one before."""
    return START + timedelta(minutes=commit)


# Commits: the key and the value of each row before and after. First six rows are written, then
# each takes the key above it, twice; then two rows change places.
WRITTEN = [(None, (n, VALUES[n - 1])) for n in range(1, 7)]
SHIFTS = [
    [((n + by, VALUES[n - 1]), (n + by + 1, VALUES[n - 1])) for n in range(6, 0, -1)]
    for by in (0, 1)
]
SWAP = [((3, "a"), (4, "a")), ((4, "b"), (3, "b"))]
# MySQL checks a key with each row: two rows change places by a third key there.
KEY_CHANGES = {"maxwell": [WRITTEN, *SHIFTS], "tidb_canal": [WRITTEN, *SHIFTS, SWAP]}
KEY_CHANGES["ticdc_simple"] = KEY_CHANGES["tidb_canal"]


def rows_after(commits):
    """The rows of the table, {key: value}, after each commit."""
    rows, states = {}, []
    for commit in commits:
        rows = dict(rows)
        for before, _ in commit:
            if before:
                del rows[before[0]]
        rows |= dict(after for _, after in commit)
        states.append(rows)
    return states


def versions(commits):
    """The history of the table: (key, value, since when, until when)."""
    states = rows_after(commits)
    found = []
    for key in sorted({key for rows in states for key in rows}):
        since = None
        for number, rows in enumerate([*states, None]):
            before = states[number - 1].get(key) if number else None
            now = rows.get(key) if rows is not None else None
            if before != now or rows is None:
                if before is not None:
                    found.append((key, before, since, at(number) if rows is not None else None))
                since = at(number)
    return found


def image(row):
    return {"id": row[0], "v": row[1]} if row else None


def texts(row):
    return {name: str(value) for name, value in image(row).items()}


def maxwell(table, commit, number, before, after, is_last):
    said = {"database": "shop", "table": table, "type": "update" if before else "insert"}
    said |= {"ts": SECONDS + 60 * commit, "xid": 940 + commit}
    said |= {"commit": True} if is_last else {"xoffset": number}
    said |= {"position": f"m.000006:{800 + commit}", "data": image(after)}
    return said | ({"old": {"id": before[0]}} if before else {})


def commit_ts(commit):
    return (SECONDS + 60 * commit) * 1000 << 18


def tidb_canal(table, commit, number, before, after, is_last):
    said = {"id": 0, "database": "shop", "table": table, "pkNames": ["id"], "isDdl": False}
    said |= {"type": "UPDATE" if before else "INSERT", "sql": "", "ts": 1_700_000_000_451}
    said |= {"es": (SECONDS + 60 * commit) * 1000, "mysqlType": {"id": "int", "v": "varchar(9)"}}
    said |= {"old": [texts(before)] if before else None, "data": [texts(after)]}
    return said | {"_tidb": {"commitTs": commit_ts(commit)}}


def ticdc_simple(table, commit, number, before, after, is_last):
    said = {"version": 1, "database": "shop", "table": table, "data": texts(after)}
    said |= {"type": "UPDATE" if before else "INSERT", "buildTs": 1_700_000_000_451}
    said |= {"commitTs": commit_ts(commit)}
    return said | ({"old": texts(before)} if before else {})


WRITERS = {"maxwell": maxwell, "tidb_canal": tidb_canal, "ticdc_simple": ticdc_simple}
NAMES = {name: f"key_changes_of_{name}" for name in WRITERS}
ROUTES = {NAMES[name]: route(name, key="" if name == "tidb_canal" else "ID") for name in WRITERS}


def parts(format_name):
    """The messages of a log in a random order, in two parts: each with some of every commit."""
    name, commits = NAMES[format_name], KEY_CHANGES[format_name]
    messages = [
        json.dumps(
            WRITERS[format_name](name, commit, n, before, after, n == len(rows) - 1),
            separators=(",", ":"),
        )
        for commit, rows in enumerate(commits)
        for n, (before, after) in enumerate(rows)
    ]
    random.Random(f"{format_name} 1").shuffle(messages)
    return messages[::2], messages[1::2]
