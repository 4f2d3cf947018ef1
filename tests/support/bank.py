"""A bank and its log: transactions over several tables, as four kinds of capture write them.

Each transaction moves an amount between two accounts, and is a row of transfers, so that the
number of these tells how many transactions a reader sees; `state(number)` is what all tables hold
then. Partitions get a row's changes by its key, as Kafka does.
"""

import json
import random
import zlib
from dataclasses import dataclass, field

from shop import Keyed

ACCOUNTS, AMOUNT = 6, 100
SECOND = 1_790_000_000
# How each format is routed, and what its tables are called in the source.
FORMATS = {
    "debezium_json": "bank_debezium_json.public",
    "maxwell": "bank_maxwell",
    "dts_canal": "bank_dts_canal",
    "canal": "bank_canal",
}
TABLES = ("accounts", "transfers", "sessions")


@dataclass(frozen=True)
class Change:
    """One change: where in the log, in which transaction, and which is the last of it."""

    table: str
    operation: str  # insert, update, delete, truncate or alter
    row: dict
    before: dict | None
    place: int
    transaction: int
    index: int
    is_last: bool = False


@dataclass
class Bank:
    """The log of a bank, `transactions`, each the list of its changes."""

    seed: int
    count: int
    statements: bool = False  # whether tables are emptied and altered
    transactions: list = field(default_factory=list)
    states: list = field(default_factory=list)

    def __post_init__(self):
        self.random, self.place = random.Random(self.seed), 1000
        self.tables = {name: {} for name in TABLES}
        opened = [
            ("accounts", "insert", {"id": n, "value": AMOUNT}) for n in range(1, ACCOUNTS + 1)
        ]
        self._commit([*opened, ("transfers", "insert", {"id": 1, "value": 0})])
        for number in range(2, self.count + 1):
            self._commit(self._transaction(number))

    def _transaction(self, number):
        giver, taker = self.random.sample(range(1, ACCOUNTS + 1), 2)
        amount, accounts = self.random.randint(1, 20), self.tables["accounts"]
        changes = [
            ("accounts", "update", {"id": giver, "value": accounts[giver] - amount}),
            ("accounts", "update", {"id": taker, "value": accounts[taker] + amount}),
            ("transfers", "insert", {"id": number, "value": amount}),
        ]
        sessions = self.tables["sessions"]
        if self.statements and number % 9 == 0:
            changes.append(("sessions", "truncate", {}))
        elif self.statements and number % 9 == 4:
            changes.append(("sessions", "alter", {}))
        elif sessions and self.random.random() < 0.4:
            gone = self.random.choice(sorted(sessions))
            changes.append(("sessions", "delete", {"id": gone, "value": sessions[gone]}))
        else:
            new = self.random.choice([n for n in range(1, 30) if n not in sessions])
            changes.append(("sessions", "insert", {"id": new, "value": number}))
        self.random.shuffle(changes)
        return changes

    def _commit(self, changes):
        number, written = len(self.transactions) + 1, []
        for index, (table, operation, row) in enumerate(changes):
            rows, self.place = self.tables[table], self.place + self.random.randint(1, 9)
            before = {"id": row["id"], "value": rows[row["id"]]} if operation == "update" else None
            is_last = index == len(changes) - 1
            written.append(
                Change(table, operation, row, before, self.place, number, index, is_last)
            )
            if operation == "truncate":
                rows.clear()
            elif operation == "delete":
                del rows[row["id"]]
            elif operation != "alter":
                rows[row["id"]] = row["value"]
        self.transactions.append(written)
        self.states.append({table: dict(rows) for table, rows in self.tables.items()})

    def state(self, number):
        """Return what the tables hold after so many transactions, as a reader's rows."""
        tables = self.states[number - 1] if number else {table: {} for table in TABLES}
        return {
            (table, key, value) for table, rows in tables.items() for key, value in rows.items()
        }

    def messages(self, kind, partitions):
        """Return messages, as (partition, offset, value, change), in the order of the log."""
        offsets, found = [0] * partitions, []
        for change in (change for changes in self.transactions for change in changes):
            key = f"{change.table}.{change.row.get('id')}".encode()
            partition = zlib.crc32(key) % partitions
            value = WRITERS[kind](change, FORMATS[kind].split(".")[0])
            if value is None:
                continue
            found.append((partition, offsets[partition], value, change))
            offsets[partition] += 1
        return found


def complete_transactions(delivered, partitions):
    """Return how many transactions are complete in what was delivered: (partition, offset, change).

    Each partition is as far as its offsets have come without a gap; what every partition has come
    to, less the transaction that is open there, is complete.
    """
    reached = []
    for number in range(partitions):
        changes = {offset: change for partition, offset, change in delivered if partition == number}
        offset = 0
        while offset in changes:
            offset += 1
        if not offset:
            return 0
        reached.append(changes[offset - 1].transaction)
    return min(reached) - 1


STATEMENTS = {
    "truncate": "truncate table {}",
    "alter": "alter table {} add column note varchar(20)",
}


def _canal(change, database, **own):
    text = {name: str(value) for name, value in change.row.items()}
    old = [{"value": str(change.before["value"])}] if change.before else None
    is_ddl = change.operation in STATEMENTS
    return json.dumps(
        {
            "data": None if is_ddl else [text],
            "old": old,
            "database": database,
            "table": change.table,
            "type": change.operation.upper(),
            "es": (SECOND + change.transaction) * 1000,
            "ts": (SECOND + change.transaction) * 1000 + 300,
            "isDdl": is_ddl,
            "sql": STATEMENTS[change.operation].format(change.table) if is_ddl else "",
            "pkNames": ["id"],
            "mysqlType": {"id": "bigint", "value": "bigint"},
            **own,
        }
    ).encode()


def dts_canal(change, database):
    return _canal(change, database, id=change.place, gtid=f"server:{change.transaction}")


def canal(change, database):
    return _canal(change, database, id=change.transaction)


def maxwell(change, database):
    message = {
        "database": database,
        "table": change.table,
        "type": change.operation,
        "ts": SECOND + change.transaction,
        "xid": change.transaction,
        "position": f"mysql-bin.000001:{change.place}",
        "primary_key_columns": ["id"],
        "data": change.row,
    }
    if change.operation in STATEMENTS:
        # It tells of no TRUNCATE, and a statement has no place among the rows.
        return None
    message |= {"commit": True} if change.is_last else {"xoffset": change.index}
    if change.before:
        message["old"] = {"value": change.before["value"]}
    return json.dumps(message).encode()


def debezium_json(change, database):
    codes = {"insert": "c", "update": "u", "delete": "d", "truncate": "t"}
    if change.operation == "alter":  # PostgreSQL's log has no statements
        return None
    is_row = change.operation != "truncate"
    message = {
        "before": change.row if change.operation == "delete" else change.before,
        "after": change.row if change.operation in ("insert", "update") else None,
        "op": codes[change.operation],
        "ts_ms": (SECOND + change.transaction) * 1000 + 300,
        "source": {
            "connector": "postgresql",
            "db": database,
            "schema": "public",
            "table": change.table,
            "ts_ms": (SECOND + change.transaction) * 1000,
            "txId": 700 + change.transaction,
            "lsn": change.place,
            # The last commit before: the same for all changes of a transaction.
            "sequence": json.dumps([str(change.transaction * 5), str(change.place)]),
        },
    }
    value = json.dumps(message).encode()
    return Keyed(value, json.dumps({"id": change.row["id"]}).encode()) if is_row else value


WRITERS = {
    "dts_canal": dts_canal,
    "canal": canal,
    "maxwell": maxwell,
    "debezium_json": debezium_json,
}
