"""The messages of docs/comparison.md, the same bytes for everyone who reads them.

They are OMS Canal: Canal's envelope with bare numbers. The source is one table, items, and a case
is what was delivered of it, in batches: a run reads what one batch landed. `es` is the position.
"""

from dataclasses import dataclass
from pathlib import Path

TYPES = '{"id":"bigint","name":"varchar","quantity":"int","price":"decimal","due_on":"date"}'
DIGITS = "12345678901234.567891"


def item(number, name, quantity="1", price="1.50", due_on="2026-11-20"):
    """Return a row image: JSON text, as the tool writes it."""
    return (
        f'{{"id":{number},"name":"{name}","quantity":{quantity},"price":{price},'
        f'"due_on":"{due_on}"}}'
    )


def change(kind, second, row, old=None):
    """Return a message that says the row changed in that second of the source's clock."""
    milliseconds = (1_790_000_000 + second) * 1000
    olds = f"[{old}]" if old else "null"
    return (
        f'{{"database":"store","table":"items","type":"{kind}","es":{milliseconds},'
        f'"ts":{milliseconds},"isDdl":false,"sql":"","pkNames":["id"],"mysqlType":{TYPES},'
        f'"data":[{row}],"old":{olds}}}'
    ).encode()


@dataclass
class Case:
    """Batches of messages, and the rows that a right table has after each of them.

    Rows are (id, name, quantity, price, due_on), decimals and dates as text. A message that cannot
    be a row has none, and a value that does not fit its type is None; where they went instead is
    asked by the tests.
    """

    batches: list[list[bytes]]
    rows: list[list[tuple]]

    @property
    def messages(self):
        return sum(len(batch) for batch in self.batches)

    def write(self, batch, folder: Path):
        """Write a batch, if the case has it, as a file of the folder, one message a line."""
        if batch < len(self.batches):
            folder.mkdir(parents=True, exist_ok=True)
            lines = b"".join(message + b"\n" for message in self.batches[batch])
            (folder / f"batch{batch}.json").write_bytes(lines)


def row(number, name, quantity=1, price="1.500000", due_on="2026-11-20"):
    return (number, name, quantity, price, due_on)


INSERT = change("INSERT", 10, item(21, "first"))
UPDATE = change("UPDATE", 30, item(21, "third"), '{"name":"first"}')

CASES = {
    "malformed_text": Case(
        [
            [
                change("INSERT", 10, item(1, "before")),
                change("INSERT", 20, item(2, "cut off"))[:150],
                change("INSERT", 30, item(3, "after")),
            ],
            [change("INSERT", 40, item(4, "next run"))],
        ],
        [
            [row(1, "before"), row(3, "after")],
            [row(1, "before"), row(3, "after"), row(4, "next run")],
        ],
    ),
    "without_key": Case(
        [
            [
                change("INSERT", 10, item(11, "before")),
                change("INSERT", 20, '{"name":"nobody","quantity":1,"price":1.50}'),
            ],
            [change("INSERT", 30, item(12, "next run"))],
        ],
        [[row(11, "before")], [row(11, "before"), row(12, "next run")]],
    ),
    "bad_number": Case(
        [
            [
                change("INSERT", 10, item(31, "before")),
                change("INSERT", 20, item(32, "no number", quantity='"abc"')),
            ],
            [change("INSERT", 30, item(33, "next run"))],
        ],
        [
            [row(31, "before"), row(32, "no number", quantity=None)],
            [row(31, "before"), row(32, "no number", quantity=None), row(33, "next run")],
        ],
    ),
    "zero_date": Case(
        [
            [
                change("INSERT", 10, item(41, "before")),
                change("INSERT", 20, item(42, "no day", due_on="0000-00-00")),
            ],
            [change("INSERT", 30, item(43, "next run"))],
        ],
        [
            [row(41, "before"), row(42, "no day", due_on=None)],
            [row(41, "before"), row(42, "no day", due_on=None), row(43, "next run")],
        ],
    ),
    "redelivered": Case(
        [[INSERT, UPDATE], [INSERT]],
        [[row(21, "third")], [row(21, "third")]],
    ),
    "out_of_order": Case(
        [
            [
                change("UPDATE", 30, item(51, "third"), '{"name":"second"}'),
                change("INSERT", 10, item(51, "first")),
                change("UPDATE", 20, item(51, "second"), '{"name":"first"}'),
            ]
        ],
        [[row(51, "third")]],
    ),
    "late_after_delete": Case(
        [
            [
                change("INSERT", 10, item(61, "first")),
                change("DELETE", 30, item(61, "second")),
            ],
            [change("UPDATE", 20, item(61, "second"), '{"name":"first"}')],
        ],
        [[], []],
    ),
    "late_update": Case(
        [
            [
                change("INSERT", 10, item(71, "first")),
                change("UPDATE", 30, item(71, "third"), '{"name":"second"}'),
            ],
            [change("UPDATE", 20, item(71, "second"), '{"name":"first"}')],
        ],
        [[row(71, "third")], [row(71, "third")]],
    ),
    "many_digits": Case(
        [[change("INSERT", 10, item(81, "exact", price=DIGITS))]],
        [[row(81, "exact", price=DIGITS)]],
    ),
    "key_change": Case(
        [
            [change("INSERT", 10, item(91, "moves"))],
            [change("UPDATE", 20, item(92, "moves"), '{"id":91}')],
        ],
        [[row(91, "moves")], [row(92, "moves")]],
    ),
}
