"""Writes samples/landing, the landing folder that a first `lakehouse ingest files` reads.

    python samples/build.py

One folder a topic: line files (*.jsonl, one message a line) for the JSON formats, Parquet files in
the shape of Spark's Kafka source for the Avro ones. What it writes:

    vendor.dts_canal     copies of samples/vendor/dts_canal.jsonl and canal-data-with-init.jsonl
    vendor.oms_default   a copy of samples/vendor/oms_default.jsonl
    vendor.dts_avro      VENDOR_DTS below, encoded
    vendor.debezium_postgresql  POSTGRESQL_HISTORY as Debezium's connector for PostgreSQL sends it
    shop.orders          SHOP_HISTORY as DTS Canal messages, delivered as SHOP_DELIVERY says
    crm.customers        CRM_HISTORY as OMS Default messages, delivered as CRM_DELIVERY says
    shop.payments        PAYMENTS_HISTORY as DTS Avro records, delivered as PAYMENTS_DELIVERY says
    legacy.audit         LEGACY_AUDIT as it stands

A history is what happened in the source database, step by step in the source's order. A delivery is
the order in which the messages of these steps arrive: late, repeated and torn ones included.
Everything is fixed: no randomness, no clock, so a second run writes the same bytes. The tables that
must come out of it are in samples/expected; they were worked out by hand, not by this script.
"""

import base64
import io
import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

SAMPLES = Path(__file__).resolve().parent
LANDING = SAMPLES / "landing"
DTS_SCHEMA = SAMPLES.parent / "avro" / "dts_avro.avsc"

# ---------------------------------------------------------------------------------------------
# shop.orders: DTS Canal. Database shop, tables orders and order_items.
# DTS words MySQL types without their lengths; the lengths stand here for the reader.

SHOP_COLUMNS = {
    "orders": {
        "id": "bigint",
        "customer_id": "bigint",
        "status": "varchar",  # varchar(20)
        "total": "decimal",  # decimal(10,2)
        "currency": "char",  # char(3)
        "shipping_address": "varchar",  # varchar(200)
        "ordered_at": "datetime",
        "shipped_at": "datetime",
        "updated_at": "timestamp",  # on update current_timestamp
    },
    "order_items": {
        "order_id": "bigint",
        "line_no": "int",
        "sku": "varchar",  # varchar(40)
        "title": "varchar",  # varchar(100)
        "quantity": "int",
        "unit_price": "decimal",  # decimal(10,2)
    },
}
SHOP_KEYS = {"orders": ["id"], "order_items": ["order_id", "line_no"]}

# (time, what, table, rows or keys or statement, changed columns of an update).
# An update of a table with updated_at also sets that column to the time of the step.
# fmt: off
SHOP_HISTORY: list[tuple] = [
    # 1 to 6: the full load; 7: the first new order
    ("2026-11-01 00:00:00", "INIT", "orders", [
        ("1001", "1", "delivered", "1299.90", "EUR", "12 rue des Lilas, Lyon",
         "2026-10-20 09:15:00", "2026-10-22 07:40:00", "2026-10-24 11:05:00"),
        ("1002", "2", "shipped", "49.00", "SEK", "Storgatan 5, Göteborg",
         "2026-10-25 14:02:31", "2026-10-28 06:00:00", "2026-10-28 06:00:00"),
    ]),
    ("2026-11-01 00:00:00", "INIT", "orders", [
        ("1003", "3", "paid", "310.25", "CNY", "北京市海淀区 7号",
         "2026-10-30 22:47:09", None, "2026-10-30 22:49:00"),
        ("1004", "4", "new", "8.50", "EUR", "Kanalstraße 3, Köln",
         "2026-10-31 18:20:00", None, "2026-10-31 18:20:00"),
    ]),
    ("2026-11-01 00:00:00", "INIT", "orders", [
        ("1005", "5", "new", "0.10", "USD", "\"The Cottage\", Cork",
         "2026-10-31 23:59:59", None, "2026-10-31 23:59:59"),
    ]),
    ("2026-11-01 00:00:01", "INIT", "order_items", [
        ("1001", "1", "LAP-15", "Laptop 15\"", "1", "1249.90"),
        ("1001", "2", "BAG-15", "Laptop bag", "1", "50.00"),
        ("1002", "1", "MUG-01", "Mug, blå", "2", "24.50"),
    ]),
    ("2026-11-01 00:00:01", "INIT", "order_items", [
        ("1003", "1", "TEA-100", "乌龙茶 100 g", "5", "50.05"),
        ("1003", "2", "POT-02", "Tea pot", "1", "60.00"),
        ("1004", "1", "PEN-07", "Pen", "5", "1.70"),
    ]),
    ("2026-11-01 00:00:01", "INIT", "order_items", [
        ("1005", "1", "STK-01", "Sticker", "1", "0.10"),
    ]),
    ("2026-11-02 09:00:05", "INSERT", "orders", [
        ("1006", "1", "new", "79.80", "EUR", "12 rue des Lilas, Lyon",
         "2026-11-02 09:00:05", None, "2026-11-02 09:00:05"),
    ]),
    # 8
    ("2026-11-02 09:00:05", "INSERT", "order_items", [
        ("1006", "1", "CAP-03", "Cap", "1", "19.90"),
        ("1006", "2", "SOC-09", "Socks", "2", "29.95"),
    ]),
    ("2026-11-02 09:10:00", "UPDATE", "orders", [("1004",)], {"status": "paid"}),
    ("2026-11-02 10:30:00", "UPDATE", "orders", [("1003",)],
     {"status": "shipped", "shipped_at": "2026-11-02 10:29:41"}),
    ("2026-11-02 11:45:12", "INSERT", "orders", [
        ("1007", "9", "new", "15.00", "EUR", "Via Roma 1, Torino",
         "2026-11-02 11:45:12", None, "2026-11-02 11:45:12"),
    ]),
    ("2026-11-02 11:45:12", "INSERT", "order_items", [
        ("1007", "1", "MAG-11", "Fridge magnet", "3", "5.00"),
    ]),
    # 13: one statement, two rows; their old values differ
    ("2026-11-03 08:00:00", "UPDATE", "orders", [("1004",), ("1005",)], {"status": "packed"}),
    ("2026-11-03 08:15:00", "UPDATE", "order_items", [("1006", "2")], {"quantity": "3"}),
    ("2026-11-03 08:15:00", "UPDATE", "orders", [("1006",)], {"total": "109.75"}),
    ("2026-11-03 08:20:00", "DELETE", "order_items", [("1006", "1")]),
    # 17: a zero date, as MySQL stores it without NO_ZERO_DATE
    ("2026-11-03 12:00:00", "INSERT", "orders", [
        ("1008", "10", "new", "1000.00", "USD", "1 Main St, Springfield",
         "2026-11-03 12:00:00", "0000-00-00 00:00:00", "2026-11-03 12:00:00"),
    ]),
    ("2026-11-03 12:00:00", "INSERT", "order_items", [
        ("1008", "1", "DSK-01", "Desk", "1", "1000.00"),
    ]),
    ("2026-11-04 07:00:00", "UPDATE", "orders", [("1005",)],
     {"shipping_address": "\"The Cottage\", Galway"}),
    # 20: the key of an order changes
    ("2026-11-04 07:30:00", "UPDATE", "orders", [("1005",)], {"id": "2005"}),
    ("2026-11-04 09:00:00", "UPDATE", "orders", [("1007",)], {"status": "paid"}),
    ("2026-11-04 09:05:00", "UPDATE", "orders", [("1007",)],
     {"status": "shipped", "shipped_at": "2026-11-04 09:04:30"}),
    ("2026-11-05 10:00:00", "DELETE", "orders", [("1002",)]),
    ("2026-11-05 10:00:00", "DELETE", "order_items", [("1002", "1")]),
    # 25: rows carry `note` from here on
    ("2026-11-06 06:00:00", "DDL", "orders", "ALTER TABLE orders ADD COLUMN note varchar(200)"),
    ("2026-11-06 08:11:00", "INSERT", "orders", [
        ("1009", "11", "new", "64.00", "EUR", "Calle Sol 8, Málaga",
         "2026-11-06 08:11:00", None, "2026-11-06 08:11:00", "leave at the door"),
    ]),
    ("2026-11-06 08:30:00", "UPDATE", "orders", [("1001",)], {"note": "gift 🎁"}),
    ("2026-11-06 08:45:00", "UPDATE", "orders", [("2005",)],
     {"status": "cancelled", "note": "asked by customer"}),
    ("2026-11-06 08:50:00", "INSERT", "order_items", [
        ("1009", "1", "CUP-02", "Cup", "4", "8.00"),
        ("1009", "2", "CUP-03", "Saucer", "4", "8.00"),
    ]),
    ("2026-11-06 09:00:00", "UPDATE", "order_items", [("1004", "1")], {"quantity": "6"}),
    # 31: every item goes; the shop writes the open ones again
    ("2026-11-07 02:00:00", "DDL", "order_items", "TRUNCATE TABLE order_items"),
    ("2026-11-07 02:05:00", "INSERT", "order_items", [
        ("1006", "1", "SOC-09", "Socks", "3", "29.95"),
        ("1006", "2", "CAP-03", "Cap", "1", "19.90"),
    ]),
    ("2026-11-07 02:05:01", "INSERT", "order_items", [
        ("1007", "1", "MAG-11", "Fridge magnet", "3", "5.00"),
    ]),
    # 34: a quantity that is no number
    ("2026-11-07 02:05:02", "INSERT", "order_items", [
        ("1009", "1", "CUP-02", "Cup", "4", "8.00"),
        ("1009", "2", "CUP-03", "Saucer", "many", "8.00"),
    ]),
    ("2026-11-08 13:00:00", "INSERT", "orders", [
        ("1010", "6", "paid", "99999999.99", "NGN", "14 Marina Rd, Lagos",
         "2026-11-08 13:00:00", None, "2026-11-08 13:00:00", None),
    ]),
    ("2026-11-08 13:00:00", "INSERT", "order_items", [
        ("1010", "1", "GEN-90", "Generator", "1", "99999999.99"),
    ]),
    ("2026-11-09 07:30:00", "UPDATE", "order_items", [("1007", "1")], {"unit_price": "4.50"}),
    ("2026-11-09 15:00:00", "INSERT", "orders", [
        ("1011", "4", "new", "3.40", "EUR", "Kanalstraße 3, Köln",
         "2026-11-09 15:00:00", None, "2026-11-09 15:00:00", ""),
    ]),
    ("2026-11-09 15:00:00", "INSERT", "order_items", [("1011", "1", "PEN-07", "Pen", "2", "1.70")]),
    ("2026-11-09 15:20:00", "DELETE", "orders", [("1011",)]),
    ("2026-11-09 15:20:00", "DELETE", "order_items", [("1011", "1")]),
    # 42: the deleted order comes back under its old key
    ("2026-11-10 09:00:00", "INSERT", "orders", [
        ("1002", "2", "new", "24.50", "SEK", "Storgatan 5, Göteborg",
         "2026-11-10 09:00:00", None, "2026-11-10 09:00:00", "second try"),
    ]),
    ("2026-11-10 16:00:00", "UPDATE", "orders", [("1009",), ("1010",)],
     {"status": "shipped", "shipped_at": "2026-11-10 15:58:00"}),
    ("2026-11-11 01:00:00", "DDL", "orders", "CREATE INDEX by_customer ON orders (customer_id)"),
    ("2026-11-11 08:00:00", "UPDATE", "orders", [("1006",)], {"note": "line one\nline two"}),
]
# fmt: on

# The numbers are steps of SHOP_HISTORY; a negative one is the first half of that step's message.
# 7 arrives twice; 19 (the old key's last update) after 20; 21 after 22, its torn copy before;
# 30 (before the TRUNCATE) after 31; and after 42 a restarted task sends 20, 23 and 26-29 again.
SHOP_DELIVERY = [
    *range(1, 16), 7, 16, 17, 18, 20, 19, -21, 22, 21, *range(23, 30), 31, 32, 30, *range(33, 43),
    20, 23, *range(26, 30), *range(43, 46),
]  # fmt: skip

# ---------------------------------------------------------------------------------------------
# crm.customers: OMS Default. Database crm of tenant1, table customers.
# The values stand as JSON shows them: numbers bare, with every digit that the source has.

CRM_COLUMNS = [
    "id",  # bigint
    "name",  # varchar(100)
    "email",  # varchar(255)
    "loyalty_number",  # bigint unsigned
    "credit_limit",  # decimal(12,2)
    "discount_rate",  # double
    "birth_date",  # date
    "is_active",  # tinyint(1)
    "created_at",  # datetime
    "last_seen_at",  # timestamp(6), sent as seconds since 1970 with a fraction
]

# fmt: off
CRM_FULL_LOAD = [
    '1, "Ada Moreau", "ada.moreau@example.com", 10000000000000000001, 2500.10, 0.05,'
    ' "1985-03-14", 1, "2019-05-20 08:30:00", "1793486512.25"',
    '2, "Björn Ångström", "bjorn@example.com", 10000000000000000002, 1000.00, 0.025,'
    ' "1990-12-01", 1, "2020-01-02 10:00:00", "1793400000"',
    '3, "李小龙", null, 9007199254740993, 99.90, 0.1,'
    ' "1973-07-20", 1, "2020-02-29 23:59:59.5", "1793313600.000001"',
    '4, "Zoë Quinn 🚀", "zoe@example.com", 18446744073709551615, 2500.10, 0.075,'
    ' null, 1, "2021-06-15 12:00:00", null',
    '5, "Robert \\"Bob\\" O\'Brien", "bob@example.com", 10000000000000000005, 0.00, 0.2,'
    ' "1968-01-31", 0, "2018-11-11 11:11:11", "1793200000.5"',
    '6, "Chidi Okafor", "chidi@example.com", 10000000000000000006, 750.50, 0.05,'
    ' "1995-09-09", 1, "2022-03-03 03:03:03", "1793300000.75"',
    '7, "Lou Gone", "lou@example.com", 10000000000000000007, 10.00, 0.05,'
    ' "1980-08-08", 1, "2022-04-04 04:04:04", "1793310000"',
    '8, "Nadia Haddad", "nadia@example.com", 10000000000000000008, 123456789.01, 0.05,'
    ' "2000-02-29", 1, "2023-05-05 05:05:05", "1793320000"',
]

# (time, record type, key or row or statement, changed columns). CRM_HISTORY is numbered from 1.
CRM_HISTORY: list[tuple] = [
    ("2026-11-01 00:00:10", "HEARTBEAT"),
    ("2026-11-01 08:12:03", "INSERT",
     '9, "Mia Rossi", null, 10000000000000000009, 500.00, 0.05,'
     ' "1999-04-30", 1, "2026-11-01 08:12:03", "1793520723.125"'),
    ("2026-11-01 09:00:00", "UPDATE", "1",
     {"credit_limit": "3000.00", "last_seen_at": '"1793523600.5"'}),
    ("2026-11-01 09:30:00", "UPDATE", "2", {"email": '"bjorn.angstrom@example.com"'}),
    ("2026-11-02 07:00:00", "INSERT",
     '10, "Jane Doe", "jane@example.com", 10000000000000000010, 1.10, 0.3,'
     ' "2001-10-10", 1, "2026-11-02 07:00:00", null'),
    ("2026-11-02 08:00:00", "UPDATE", "3", {"email": '"li@example.com"'}),
    ("2026-11-02 08:30:00", "UPDATE", "7", {"credit_limit": "20.00"}),
    # 8
    ("2026-11-02 09:00:00", "DELETE", "7"),
    ("2026-11-03 00:00:10", "HEARTBEAT"),
    ("2026-11-03 10:10:10", "INSERT",
     '11, "Lucía Fernández", "lucia@example.com", 10000000000000000011, 2500.10, 0.05,'
     ' "1988-02-28", 1, "2026-11-03 10:10:10", "1793700610.999999"'),
    # 11 to 14: four changes in one second; only the counter tells their order
    ("2026-11-03 11:00:00", "UPDATE", "5", {"is_active": "1"}),
    ("2026-11-03 11:00:00", "UPDATE", "5", {"credit_limit": "100.00"}),
    ("2026-11-03 11:00:00", "UPDATE", "5", {"credit_limit": "200.00"}),
    ("2026-11-03 11:00:00", "UPDATE", "2", {"credit_limit": "1000.50"}),
    # 15: rows carry `phone` from here on
    ("2026-11-04 05:00:00", "DDL", "ALTER TABLE `customers` ADD COLUMN `phone` varchar(30) NULL"),
    ("2026-11-04 06:00:00", "UPDATE", "4",
     {"phone": '"+49 221 5550100"', "last_seen_at": '"1793772000"'}),
    ("2026-11-04 12:00:00", "DELETE", "6"),
    ("2026-11-05 12:00:00", "INSERT",
     '6, "Chidi Okafor", "chidi.o@example.com", 10000000000000000066, 0.01, 0.05,'
     ' "1995-09-09", 1, "2026-11-05 12:00:00", null, "+234 1 5550123"'),
    ("2026-11-05 13:00:00", "UPDATE", "10", {"email": "null"}),
    ("2026-11-06 13:00:00", "UPDATE", "11", {"discount_rate": "0.15", "birth_date": "null"}),
    # 21: born and gone
    ("2026-11-07 07:00:00", "INSERT",
     '12, "Test Test", "test@example.com", 1, 0.00, 0.5,'
     ' null, 0, "2026-11-07 07:00:00", null, null'),
    ("2026-11-07 07:01:00", "DELETE", "12"),
    ("2026-11-08 00:00:10", "HEARTBEAT"),
    ("2026-11-09 18:00:00", "UPDATE", "9",
     {"email": '"mia@example.com"', "phone": '""', "credit_limit": "99999999999999999.99"}),
    ("2026-11-09 18:30:00", "UPDATE", "9", {"credit_limit": "9999999999.99"}),
    ("2026-11-10 06:30:00", "UPDATE", "1",
     {"name": '"Ada Moreau-Li"', "last_seen_at": '"1794292200.000100"'}),
]
# fmt: on

# "load 1" is a row of the full load, a number a step of CRM_HISTORY. The full load of customer 1 is
# sent again after its update 3; 7 arrives after the delete 8; 13 before 12; 2 and 17 twice.
CRM_DELIVERY: list[str | int] = [
    *(f"load {number}" for number in range(1, 9)),
    1, 2, 3, 4, 5, "load 1", 6, 8, 7, 9, 10, 11, 13, 12, 14, 2, *range(15, 19), 17,
    *range(19, 27),
]  # fmt: skip

# ---------------------------------------------------------------------------------------------
# shop.payments: DTS Avro. Database shop, table payments. Values as text, typed by their column.

# name: (dataTypeNumber of MySQL, kind of the value)
PAYMENTS_COLUMNS = {
    "id": (8, "Integer"),  # bigint
    "order_id": (8, "Integer"),  # bigint
    "amount": (246, "Decimal"),  # decimal(12,2)
    "currency": (254, "Character"),  # char(3)
    "method": (247, "TextObject"),  # enum('card','paypal','transfer')
    "payer": (253, "Character"),  # varchar(100) character set utf8mb4
    "fee_rate": (5, "Float"),  # double
    "value_date": (10, "Date"),  # date
    "paid_at": (18, "DateTime"),  # datetime(6)
    "captured_at": (17, "Timestamp"),  # timestamp(6)
    "receipt": (252, "BinaryObject"),  # blob, here in hex
    "note": (252, "Character"),  # text: shares its number with blob, the value is a Character
}
ABSENT = "(absent)"  # sent as EmptyObject NONE: the log does not carry the value, it is not null

# fmt: off
# (sourcePosition, time, operation, row or key, changed columns, columns the before image lacks)
PAYMENTS_HISTORY: list[tuple] = [
    ("154@9", "2026-11-01 00:00:02", "INIT",
     ("5001", "1001", "1299.90", "EUR", "card", "Ada Moreau", "0.0175", "2026-10-20",
      "2026-10-20 09:16:30.500000", "2026-10-20 09:16:31.000125", "00ff10a5", None)),
    ("154@9", "2026-11-01 00:00:02", "INIT",
     ("5002", "1002", "49.00", "SEK", "paypal", "Björn Ångström", "0.029", "2026-10-25",
      "2026-10-25 14:03:00.000000", "2026-10-25 14:03:02.250000", None, "")),
    ("154@9", "2026-11-01 00:00:02", "INIT",
     ("5003", "1003", "310.25", "CNY", "transfer", "李小龙", None, "2026-11-02",
      "2026-10-30 22:49:00.000000", None, "e69d8e", "发票已开")),
    # 4
    ("210@9", "2026-11-02 09:10:00", "BEGIN"),
    ("288@9", "2026-11-02 09:10:00", "INSERT",
     ("5004", "1004", "8.50", "EUR", "paypal", "Zoë Quinn 🚀", "0.029", "2026-11-02",
      "2026-11-02 09:09:58.000001", None, None, None)),
    ("402@9", "2026-11-02 09:10:00", "COMMIT"),
    ("450@9", "2026-11-02 10:00:00", "BEGIN"),
    ("512@9", "2026-11-02 10:00:00", "UPDATE", "5003",
     {"captured_at": "2026-11-02 09:59:59.999999", "fee_rate": "0.001"}),
    ("590@9", "2026-11-02 10:00:00", "COMMIT"),
    # 10
    ("590@9", "2026-11-02 11:00:00", "HEARTBEAT"),
    ("601@9", "2026-11-02 11:46:00", "BEGIN"),
    ("655@9", "2026-11-02 11:46:00", "INSERT",
     ("5005", "1007", "15.00", "EUR", "card", "Mia Rossi", "0.0175", "2026-11-02",
      "2026-11-02 11:46:00.000000", "2026-11-02 11:46:00.000000", "", "ristampa")),
    ("741@9", "2026-11-02 11:46:00", "INSERT",
     ("5006", "1006", "79.80", "EUR", "transfer", "Ada Moreau", None, "2026-11-04",
      "2026-11-02 11:46:00.123456", None, None, "invoice 7")),
    ("838@9", "2026-11-02 11:46:00", "COMMIT"),
    # 15
    ("912@9", "2026-11-03 08:00:00", "BEGIN"),
    ("999@9", "2026-11-03 08:00:00", "UPDATE", "5004",
     {"captured_at": "2026-11-03 07:59:58.000000", "note": "captured"}),
    ("1090@9", "2026-11-03 08:00:00", "COMMIT"),
    # 18: the next log file; "120@10" is later than "999@9", though not as text
    ("60@10", "2026-11-03 08:16:00", "BEGIN"),
    ("120@10", "2026-11-03 08:16:00", "UPDATE", "5004", {"note": "refund asked", "fee_rate": None}),
    ("133@10", "2026-11-03 08:16:00", "UPDATE", "5006", {"amount": "109.75"}, ["note"]),
    ("230@10", "2026-11-03 08:16:00", "COMMIT"),
    # 22
    ("230@10", "2026-11-03 09:00:00", "NOOP"),
    ("301@10", "2026-11-05 10:00:01", "BEGIN"),
    ("377@10", "2026-11-05 10:00:01", "DELETE", "5002"),
    ("433@10", "2026-11-05 10:00:01", "COMMIT"),
    ("433@10", "2026-11-05 11:00:00", "HEARTBEAT"),
    # 27
    ("500@10", "2026-11-08 13:00:30", "BEGIN"),
    ("580@10", "2026-11-08 13:00:30", "INSERT",
     ("5007", "1010", "99999999.99", "NGN", "transfer", "Chidi Okafor", "0.0125", "2026-11-09",
      "2026-11-08 13:00:30.000000", None, "deadbeef", None)),
    ("700@10", "2026-11-08 13:00:30", "COMMIT"),
    # 30
    ("760@10", "2026-11-09 09:00:00", "BEGIN"),
    ("840@10", "2026-11-09 09:00:00", "UPDATE", "5007",
     {"method": "card", "captured_at": "2026-11-09 08:59:00.500000"}),
    ("950@10", "2026-11-09 09:00:00", "COMMIT"),
    ("1010@10", "2026-11-10 10:00:00", "BEGIN"),
    ("1099@10", "2026-11-10 10:00:00", "UPDATE", "5001",
     {"payer": "Ada Moreau-Li", "receipt": "00ff10a5ffee", "note": "name changed"}),
    ("1201@10", "2026-11-10 10:00:00", "COMMIT"),
    ("1201@10", "2026-11-10 11:00:00", "HEARTBEAT"),
]
# fmt: on

# A negative number is that record with its last third cut off. 16 is sent again after 24.
PAYMENTS_DELIVERY = [
    [*range(1, 18)],  # the first Parquet file
    [*range(18, 25), 16, 25, 26, 27, -28, *range(28, 37)],  # the second
]

# ---------------------------------------------------------------------------------------------
# vendor.dts_avro: the vendor publishes the schema but no record. These have the shapes seen in
# practice: id and position growing, seconds for times, sourceTxid "0", the key in tags.pk_uk_info.

VENDOR_TIME = "2023-10-11 00:33:28"  # 1696984408
VENDOR_KEYS = '{"PRIMARY":["id"],"uk_item_code":["item_code"]}'
VENDOR_ITEM = [("Integer", "1"), ("Character", "A-100"), ("Decimal", "12.50")]
VENDOR_FIELDS = [("id", 3), ("item_code", 253), ("price", 246)]
VENDOR_DDL = (
    "create table t1 (id int primary key, item_code varchar(20) unique, price decimal(10,2))"
)

# ---------------------------------------------------------------------------------------------
# vendor.debezium_postgresql: the table customers of the page on Debezium's connector for
# PostgreSQL, with a number, a long text and a moment beside; JsonConverter with schemas, and keys.
# REPLICA IDENTITY DEFAULT: an update has no row before, a delete the key alone; a long text that an
# update leaves as it is is not sent. A change of the key is a delete, a tombstone and an insert.

UNAVAILABLE = "__debezium_unavailable_value"
POSTGRESQL_FIELDS = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": False, "field": "email"},
    {
        "type": "bytes",
        "optional": True,
        "name": "org.apache.kafka.connect.data.Decimal",
        "version": 1,
        "parameters": {"scale": "2", "connect.decimal.precision": "10"},
        "field": "credit",
    },
    {"type": "string", "optional": True, "field": "notes"},
    {
        "type": "string",
        "optional": True,
        "name": "io.debezium.time.ZonedTimestamp",
        "version": 1,
        "field": "updated_at",
    },
]
# Operation and row: id, email, credit in cents, notes, updated_at.
POSTGRESQL_HISTORY = [
    ("r", (1001, "sally@acme.com", 12550, "Prefers\nmail", "2026-11-01T09:00:00.123456Z")),
    ("c", (1002, "george@acme.com", 0, None, "2026-11-02T10:30:00Z")),
    ("u", (1001, "sally.thomas@acme.com", 9999, UNAVAILABLE, "2026-11-03T11:00:00Z")),
    ("u", (1002, "george@acme.com", -1250, "Pays late", "2026-11-04T08:15:00.5Z")),
    ("d", (1002, "", None, None, None)),
    ("", (1002, "", None, None, None)),
    ("c", (2002, "george@acme.com", -1250, "Pays late", "2026-11-05T08:15:00Z")),
]

LEGACY_AUDIT = """\
{"who": "admin", "what": "login", "when": "2026-11-02T08:00:00Z"}
{"who": "admin", "what": "export", "when": "2026-11-02T08:05:41Z", "rows": 1200}
"""


# ---------------------------------------------------------------------------------------------
# From here on: how the histories become messages.


def epoch_seconds(time: str) -> int:
    return int(datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp())


def compact(message: Any) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def write_lines(topic: str, name: str, lines: list[str]) -> None:
    path = LANDING / topic / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def copy_vendor_file(topic: str, name: str) -> None:
    target = LANDING / topic / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes((SAMPLES / "vendor" / name).read_bytes())


# DTS Canal

JDBC_TYPES = {"bigint": -5, "int": 4, "varchar": 12, "char": 1, "decimal": 3}
JDBC_TYPES |= {"datetime": 93, "timestamp": 93}


def shop_messages() -> dict[int, str]:
    """The message of every step of SHOP_HISTORY. Keeps the tables, to fill in whole rows."""
    columns = {table: dict(types) for table, types in SHOP_COLUMNS.items()}
    tables: dict[str, dict[tuple, dict]] = {"orders": {}, "order_items": {}}
    messages = {}
    for step, (time, what, table, content, *changes) in enumerate(SHOP_HISTORY, start=1):
        stored, keys = tables[table], SHOP_KEYS[table]
        envelope = {
            "database": "shop",
            "es": epoch_seconds(time) * 1000,
            "id": 1669000000000000000 + step,
            "isDdl": what == "DDL",
        }
        tail = {"table": table, "ts": epoch_seconds(time) * 1000 + 740, "type": what}
        if what == "DDL":
            if added := re.search(r"ADD COLUMN (\w+) (\w+)", content):
                columns[table][added[1]] = added[2]
                for row in stored.values():
                    row[added[1]] = None
            elif content.startswith("TRUNCATE"):
                stored.clear()
            messages[step] = compact({**envelope, "sql": content, **tail})
            continue

        old = None
        if what == "UPDATE":
            changed = dict(changes[0])
            if "updated_at" in columns[table]:
                changed["updated_at"] = time
            before = [stored.pop(key) for key in content]
            old = [{column: row[column] for column in changed} for row in before]
            data = [{**row, **changed} for row in before]
        elif what == "DELETE":
            data = [stored.pop(key) for key in content]
        else:
            data = [dict(zip(columns[table], values, strict=True)) for values in content]
        if what != "DELETE":
            stored.update({tuple(row[key] for key in keys): row for row in data})
        body = {
            "mysqlType": columns[table],
            "old": old,
            "pkNames": keys,
            "sql": "",
            "sqlType": {name: JDBC_TYPES[kind] for name, kind in columns[table].items()},
        }
        messages[step] = compact({"data": data, **envelope, **body, **tail})
    return messages


def write_shop_orders() -> None:
    messages = shop_messages()
    lines = [
        messages[step] if step > 0 else messages[-step][: len(messages[-step]) // 2]
        for step in SHOP_DELIVERY
    ]
    write_lines("shop.orders", "orders.jsonl", lines)


# OMS Default


def split_values(row: str) -> list[str]:
    """The JSON values of a row, each as it is written: 2500.10 must not become 2500.1."""
    return re.findall(r'"(?:[^"\\]|\\.)*"|[^,\s]+', row)


def oms_message(record: str, before: dict | None, after: dict | None, meta: dict) -> str:
    def image(row: dict | None) -> str:
        if row is None:
            return "null"
        return "{" + ",".join(f'"{column}":{value}' for column, value in row.items()) + "}"

    return (
        f'{{"prevStruct":{image(before)},"postStruct":{image(after)},'
        f'"allMetaData":{compact(meta)},"recordType":"{record}"}}'
    )


def crm_messages() -> dict[str | int, str]:
    """The message of every row of the full load and of every step of CRM_HISTORY."""
    columns = list(CRM_COLUMNS)
    stored: dict[str, dict[str, str]] = {}
    messages: dict[str | int, str] = {}
    names = {"dbType": "OB_MYSQL", "table_name": "customers", "db": "tenant1.crm"}

    for number, text in enumerate(CRM_FULL_LOAD, start=1):
        row = dict(zip(columns, split_values(text), strict=True))
        stored[row["id"]] = row
        key = {"record_primary_key": "id", "record_primary_value": row["id"]}
        # A full-load row has no time and no sequence; its checkpoint is the key.
        meta = {"checkpoint": row["id"], **key, "source_identity": "0", **names}
        messages[f"load {number}"] = oms_message("ROW", None, row, meta)

    counter: dict[int, int] = {}
    for step, (time, record, *content) in enumerate(CRM_HISTORY, start=1):
        seconds = epoch_seconds(time)
        meta: dict[str, Any] = {"checkpoint": str(seconds)}
        if record == "HEARTBEAT":
            meta |= {"source_identity": "crm-0", "dbType": "OB_MYSQL", "timestamp": str(seconds)}
            messages[step] = oms_message(record, None, None, meta)
            continue
        if record == "DDL":
            column = re.search(r"ADD COLUMN `(\w+)`", content[0])[1]
            columns.append(column)
            for row in stored.values():
                row[column] = "null"
            # A DDL has no key and no sequence, and names the database without the tenant.
            meta |= {"record_primary_key": None, "record_primary_value": None, **names}
            meta |= {"db": "crm", "source_identity": "crm-0", "ddlType": "ALTER_TABLE"}
            meta |= {"storeDataSequence": None, "timestamp": str(seconds)}
            messages[step] = oms_message(record, None, {"ddl": compact(content[0])}, meta)
            continue

        before = after = None
        if record == "INSERT":
            after = dict(zip(columns, split_values(content[0]), strict=True))
        else:
            before = stored.pop(content[0])
        if record == "UPDATE":
            after = {**before, **content[1]}
        if after:
            stored[after["id"]] = after
        counter[seconds] = counter.get(seconds, 0) + 1
        meta |= {"record_primary_key": "id", "record_primary_value": (before or after)["id"]}
        meta |= {"source_identity": "crm-0", **names}
        meta |= {"storeDataSequence": seconds * 100000 + counter[seconds]}
        meta |= {"timestamp": str(seconds), "uniqueId": str(7000 + step)}
        meta |= {"transId": f"1002_{336000 + step}", "clusterId": "1"}
        messages[step] = oms_message(record, before, after, meta)
    return messages


def write_crm_customers() -> None:
    messages = crm_messages()
    write_lines("crm.customers", "customers.jsonl", [messages[step] for step in CRM_DELIVERY])


# DTS Avro


def load_dts_schema() -> dict:
    schema = json.loads(DTS_SCHEMA.read_text(encoding="utf-8"))
    named: dict = {}
    # The vendor's file is a list of types, the record last.
    parts = schema if isinstance(schema, list) else [schema]
    return [fastavro.parse_schema(part, named_schemas=named) for part in parts][-1]


def dts_value(kind: str, text: str | None) -> Any:
    """A value as one branch of the vendor's union, chosen by its name."""
    if text is None:
        return None

    def branch(name: str, **content: Any) -> tuple[str, dict]:
        return f"com.alibaba.dts.formats.avro.{name}", content

    if text == ABSENT:
        return "com.alibaba.dts.formats.avro.EmptyObject", "NONE"
    if kind == "Integer":
        return branch(kind, precision=19, value=text)
    if kind == "Decimal":
        return branch(kind, precision=12, scale=2, value=text)
    if kind == "Float":
        return branch(kind, value=float(text), precision=22, scale=31)
    if kind == "Character":
        return branch(kind, charset="utf8mb4", value=text.encode())
    if kind == "TextObject":
        return branch(kind, type="ENUM", value=text)
    if kind == "BinaryObject":
        return branch(kind, type="BLOB", value=bytes.fromhex(text))
    moment = datetime.fromisoformat(text)
    if kind == "Timestamp":
        # `millis` holds microseconds.
        seconds = int(moment.replace(tzinfo=UTC, microsecond=0).timestamp())
        return branch(kind, timestamp=seconds, millis=moment.microsecond)
    parts = dict.fromkeys(("year", "month", "day", "hour", "minute", "second", "millis"))
    parts |= {"year": moment.year, "month": moment.month, "day": moment.day}
    if kind == "DateTime":
        parts |= {"hour": moment.hour, "minute": moment.minute, "second": moment.second}
        parts |= {"millis": moment.microsecond}
    return branch("DateTime", **parts)


def dts_record(number: int, position: str, safe: str, time: str, operation: str) -> dict:
    seconds = epoch_seconds(time)
    return {
        "version": 0,
        "id": number,
        "sourceTimestamp": seconds,
        "sourcePosition": position,
        "safeSourcePosition": safe,
        "sourceTxid": "0",
        "source": {"sourceType": "MySQL", "version": "8.0.36-log"},
        "operation": operation,
        "objectName": None,
        "processTimestamps": None,
        "tags": {},
        "fields": None,
        "beforeImages": None,
        "afterImages": None,
        # Documented as milliseconds; what is seen in practice is seconds.
        "bornTimestamp": seconds,
    }


def encode(schema: dict, record: dict) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema, record, strict=True)
    return buffer.getvalue()


def dts_fields(fields: list[tuple[str, int]]) -> list[dict]:
    return [{"name": name, "dataTypeNumber": number} for name, number in fields]


def payments_records() -> dict[int, dict]:
    """The record of every step of PAYMENTS_HISTORY. Keeps the table, to fill in whole rows."""
    stored: dict[str, dict] = {}
    records = {}
    safe = "154@9"
    for step, (position, time, operation, *content) in enumerate(PAYMENTS_HISTORY, start=1):
        if operation == "BEGIN":
            safe = position
        record = dts_record(880000 + step, position, safe, time, operation)
        records[step] = record
        if operation in ("BEGIN", "COMMIT"):
            gtid = f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{int(position.split('@')[1]) * 1000}"
            record["tags"] = {"GTID": gtid, "thread_id": "71"}
        if not content:
            continue

        before = after = None
        if operation in ("INIT", "INSERT"):
            after = dict(zip(PAYMENTS_COLUMNS, content[0], strict=True))
        else:
            before = stored.pop(content[0])
        if operation == "UPDATE":
            after = {**before, **content[1]}
            before = before | dict.fromkeys(content[2] if len(content) > 2 else [], ABSENT)
        if after:
            stored[after["id"]] = after
        record["objectName"] = "shop.payments"
        record["tags"] = {"pk_uk_info": '{"PRIMARY":["id"]}', "metaVersion": "31"}
        record["fields"] = dts_fields([(name, number) for name, (number, _) in
                                       PAYMENTS_COLUMNS.items()])  # fmt: skip
        for image, row in (("beforeImages", before), ("afterImages", after)):
            if row:
                record[image] = [
                    dts_value(PAYMENTS_COLUMNS[name][1], value) for name, value in row.items()
                ]
    return records


KAFKA_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)


def write_parquet(
    topic: str,
    name: str,
    first: int,
    values: list[tuple[bytes | None, int]],
    keys: list[bytes] | None = None,
) -> None:
    """Messages (bytes, seconds) of partition 0, as Spark's Kafka source shows them."""
    rows = [
        {
            "key": keys[offset - first] if keys else None,
            "value": value,
            "topic": topic,
            "partition": 0,
            "offset": offset,
            "timestamp": datetime.fromtimestamp(seconds, UTC) + timedelta(milliseconds=740),
            "timestampType": 0,
            "headers": None,
        }
        for offset, (value, seconds) in enumerate(values, start=first)
    ]
    path = LANDING / topic / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=KAFKA_SCHEMA), path, compression="snappy")


def write_shop_payments(schema: dict) -> None:
    records = payments_records()
    first = 0
    for number, delivery in enumerate(PAYMENTS_DELIVERY):
        values = []
        for step in delivery:
            body = encode(schema, records[abs(step)])
            if step < 0:
                body = body[: len(body) * 2 // 3]
            values.append((body, records[abs(step)]["sourceTimestamp"]))
        write_parquet("shop.payments", f"payments-{number}.parquet", first, values)
        first += len(values)


def write_vendor_dts_avro(schema: dict) -> None:
    item = [dts_value(kind, text) for kind, text in VENDOR_ITEM]
    cheaper = [*item[:2], dts_value("Decimal", "9.90")]
    row = {"objectName": "mydb.t1", "fields": dts_fields(VENDOR_FIELDS)}
    row["tags"] = {"pk_uk_info": VENDOR_KEYS, "metaVersion": "169698440", "thread_id": "29"}
    marker = {"tags": {"GTID": "6b0a3f5e-5c2b-11ee-8a3c-00163e0f1d2a:301", "thread_id": "29"}}
    ddl = {"objectName": "mydb", "afterImages": VENDOR_DDL, "tags": {"lowerCaseTableNames": "1"}}
    content = [
        ("72103@78", "DDL", ddl),
        ("72347@78", "BEGIN", marker),
        ("72469@78", "INSERT", {**row, "afterImages": item}),
        ("72581@78", "UPDATE", {**row, "beforeImages": item, "afterImages": cheaper}),
        ("72693@78", "COMMIT", marker),
        ("72693@78", "HEARTBEAT", {}),
    ]
    values = []
    for number, (position, operation, fields) in enumerate(content, start=1700380):
        safe = position if operation == "DDL" else "72347@78"  # the transaction's BEGIN
        record = dts_record(number, position, safe, VENDOR_TIME, operation) | fields
        values.append((encode(schema, record), record["sourceTimestamp"]))
    write_parquet("vendor.dts_avro", "records.parquet", 0, values)


# Debezium, PostgreSQL


def connect_json(fields: list[dict], payload: Any) -> bytes:
    schema = {"type": "struct", "fields": fields, "optional": False}
    return compact({"schema": schema, "payload": payload}).encode()


def postgresql_row(row: tuple) -> dict:
    values = dict(zip((field["field"] for field in POSTGRESQL_FIELDS), row, strict=True))
    if values["credit"] is not None:
        unscaled = values["credit"].to_bytes(3, "big", signed=True)
        values["credit"] = base64.b64encode(unscaled).decode()
    return values


def write_vendor_debezium_postgresql() -> None:
    images = [
        {"type": "struct", "fields": POSTGRESQL_FIELDS, "optional": True, "field": part}
        for part in ("before", "after")
    ]
    begin = epoch_seconds("2026-11-01 09:00:00")
    values: list[tuple[bytes | None, int]] = []
    keys = []
    for step, (operation, row) in enumerate(POSTGRESQL_HISTORY):
        seconds, lsn = begin + 3600 * step, 24023128 + 168 * step
        keys.append(connect_json(POSTGRESQL_FIELDS[:1], {"id": row[0]}))
        if not operation:
            values.append((None, seconds))
            continue
        image = postgresql_row(row)
        payload = {
            "before": image if operation == "d" else None,
            "after": None if operation == "d" else image,
            "source": {
                "version": "3.1.0.Final",
                "connector": "postgresql",
                "name": "shop",
                "ts_ms": seconds * 1000,
                "snapshot": "true" if operation == "r" else "false",
                "db": "postgres",
                "sequence": f'["{lsn - 40}","{lsn}"]',
                "schema": "inventory",
                "table": "customers",
                "txId": 555 + step,
                "lsn": lsn,
                "xmin": None,
            },
            "op": operation,
            "ts_ms": seconds * 1000 + 233,
            "transaction": None,
        }
        values.append((connect_json(images, payload), seconds))
    write_parquet("vendor.debezium_postgresql", "records.parquet", 0, values, keys)


def main() -> None:
    schema = load_dts_schema()
    shutil.rmtree(LANDING, ignore_errors=True)
    copy_vendor_file("vendor.canal", "canal.jsonl")
    copy_vendor_file("vendor.dts_canal", "dts_canal.jsonl")
    copy_vendor_file("vendor.dts_canal", "canal-data-with-init.jsonl")
    copy_vendor_file("vendor.oms_default", "oms_default.jsonl")
    write_vendor_dts_avro(schema)
    write_vendor_debezium_postgresql()
    write_shop_orders()
    write_crm_customers()
    write_shop_payments(schema)
    write_lines("legacy.audit", "audit.jsonl", LEGACY_AUDIT.splitlines())


if __name__ == "__main__":
    main()
