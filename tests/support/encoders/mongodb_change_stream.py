"""MongoDB 8.0: "Change Events", as the connector's DefaultJson writes them, with pre-images.

`change.stream.full.document` is updateLookup, `startup.mode` copy_existing. Tokens are as
`resume_token.cpp` of the server makes them: a key string of the time, the version, the type, the
number in the transaction, the collection and the document's key.
"""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from hashlib import md5

from history import DATABASE

from encoders.base import SCHEMA_CHANGE, Bare, to_json
from encoders.debezium_mongodb import KEY, DebeziumMongodb


class MongodbChangeStream(DebeziumMongodb):
    format = "mongodb_change_stream"
    cannot_say = {
        "statements": "events have no text, and MongoDB has no TRUNCATE",
        "full load": "its rows have no place",
        "transactions, heartbeats": "no marks",
    }
    marks = (SCHEMA_CHANGE,)
    has_position = True
    has_snapshot_position = False
    tells_copies = True

    def row(self, event, number, before, after):
        """An update of the key is a delete and an insert, which follow each other."""
        table = event.table
        word = "insert" if before is None else "update" if after else "delete"
        key = {KEY: self.id(table, after or before, is_key=False)}
        namespace = {"db": DATABASE, "coll": table.name}
        if event.kind == "snapshot":
            head = {"_id": {**key, "copyingData": True}, "operationType": word}
            documents = {"documentKey": key, "fullDocument": self.values(table, after)}
            return to_json({**head, **documents, "ns": namespace}).encode()
        said = self.head(event, word, 2 * number + (before is None), key)
        said |= {"txnNumber": {"$numberLong": str(event.transaction)}, "lsid": {"id": BINARY}}
        if before:
            said["fullDocumentBeforeChange"] = self.values(table, before)
        if after:
            said["fullDocument"] = self.values(table, after)
        said |= {"ns": namespace, "documentKey": key}
        if before and after:
            was, now = said["fullDocumentBeforeChange"], said["fullDocument"]
            updated = {name: value for name, value in now.items() if value != was[name]}
            rest = {"removedFields": [], "truncatedArrays": []}
            said["updateDescription"] = {"updatedFields": updated, **rest}
        return to_json(said).encode()

    def head(self, event, word, index, key):
        moment = {"t": Bare(event.seconds), "i": Bare(event.counter)}
        return {
            "_id": {"_data": token(event, index, key)},
            "operationType": word,
            "clusterTime": {"$timestamp": moment},
            "wallTime": {"$date": Bare(event.seconds * 1000)},
        }

    def key(self, table, row):
        return to_json({KEY: self.id(table, row, is_key=False)}).encode()

    def mark(self, event):
        namespace = {"ns": {"db": DATABASE, "coll": event.table.name}}
        changed = {"operationDescription": {"index": {"name": "a_1", "hidden": True}}}
        return to_json({**self.head(event, "modify", 0, {}), **namespace, **changed}).encode()


BINARY = {"$binary": "c//SZESzTGmQ6OfR38A11A==", "$type": "04"}


def token(event, index, key):
    """A key string has numbers with their sign and size before them, twice as great."""
    moment = f"{event.seconds:08X}{event.counter:08X}"
    number = f"2B{2 * index:02X}" if index else "29"
    collection = md5(event.table.name.encode()).hexdigest().upper()
    named = to_json(key).encode().hex().upper()
    return f"82{moment}2B042C0100{number}6E5A1004{collection}46{named}04"
