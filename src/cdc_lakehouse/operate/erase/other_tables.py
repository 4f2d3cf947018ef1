"""Erase rows in users' models, snapshots and unknown tables, or name those to clean by hand.

The metastore says which tables there are, and the project which models make them. A table that is
rebuilt from silver needs nothing else. If a table keeps from which message each row comes, or is a
snapshot of a gold table with its key, the rows are deleted. All other tables are named.
"""

import re
from functools import cached_property

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.delta.kept import kept_tables
from cdc_lakehouse.engine.complete_until import TABLE as COMPLETE_UNTIL
from cdc_lakehouse.engine.projection import text_under
from cdc_lakehouse.errors import short_message
from cdc_lakehouse.operate.erase.dbt_runs import read_manifest, run_dbt
from cdc_lakehouse.operate.erase.found import ROW, Found
from cdc_lakehouse.operate.erase.keys import names_a_subject
from cdc_lakehouse.operate.erase.project import UNKNOWN_REMEDY, Maker, Project
from cdc_lakehouse.operate.erase.stored import (
    Finder,
    identity_of,
    is_delta,
    key_hash,
    named,
    tables_of,
    text_of,
)
from cdc_lakehouse.operate.erase.subjects import Subjects

ROW_IMAGES = re.compile(r"`?silver`?\.`?row_images`?")


class OtherTables:
    """The tables other than silver.events and bronze, and what an erasure does to each."""

    def __init__(self, spark: SparkSession, subjects: Subjects, number: str):
        self.spark, self.subjects, self.number = spark, subjects, number

    @cached_property
    def project(self) -> Project:
        return Project(read_manifest())

    def look_at_all(self, found: Found) -> None:
        """Find out what becomes of each table that the metastore knows, and add it to `found`."""
        # Where silver has nothing of the subjects, any table may have kept something.
        is_new = bool(found.rows or found.messages)
        gold = self.rows_of_gold() if is_new else {}
        makers = self.project.makers(lambda name: name in gold or not is_new)
        own = {f"bronze.{name}" for name in bronze.TABLES} | {"silver.events"}
        own |= {COMPLETE_UNTIL, *kept_tables()}
        tables = set(tables_of(self.spark)) - own
        remade = [m for m in makers if m.table in tables and not m.is_kept]
        if is_new:
            models = [m for m in remade if m.kind in ("gold", "model")]
            found.models = sorted([m.name, m.table] for m in models)
            found.tests = sorted([m.name, m.table] for m in remade if m.kind == "test")
        keys = self.keys_of_snapshots(makers, gold, found)
        finder = Finder(self.spark, found.hashes, self.number)
        by_table = {m.table: m for m in makers}
        done = {table for _, table in (*found.models, *found.tests)}
        done |= {m.table for m in makers if m.kind == "gold"}
        seeds, known = self.project.seeds(), self.project.known_tables()
        for table in sorted(tables - done):
            maker = by_table.get(table)
            if maker or table not in known:
                self.look_at(table, maker, keys, finder, found)
            elif table in seeds and self.names_of(self.spark.table(named(table))):
                found.seeds.append(seeds[table])

    def rows_of_gold(self) -> dict[str, str | None]:
        """Return the gold models that take rows of the subjects, each with a query of their keys.

        Gold is asked what it makes of those rows alone; a model that does not read row_images
        cannot be asked, so it counts, without a query.
        """
        images = self.spark.table("silver.row_images").join(
            self.spark.table("removed_rows"), ROW, "left_semi"
        )
        images.localCheckpoint().createOrReplaceTempView("subject_images")
        names = ", ".join(text_under("image", names) for names in self.subjects.names)
        self.spark.sql(
            f"select * from subject_images where array({names}) in (select key from subjects)"
        ).createOrReplaceTempView("images_of_keys")
        gold = [node.name for node in self.project.gold()]
        queries: dict[str, str | None] = {}
        for result in run_dbt("compile", "-s", *gold) if gold else []:
            node = result.node
            sql, count = ROW_IMAGES.subn("subject_images", node.compiled_code)
            if not count:
                queries[node.name] = None
            elif self.spark.sql(sql).limit(1).collect():
                queries[node.name] = ROW_IMAGES.sub("images_of_keys", node.compiled_code)
        return queries

    def keys_of_snapshots(
        self, makers: list[Maker], gold: dict[str, str | None], found: Found
    ) -> dict[str, list[str]]:
        """Return the keys of the gold models whose rows snapshots keep; hash the subjects' keys."""
        keys = {}
        kept = {maker.of for maker in makers if maker.of}
        for name, sql in sorted((name, sql) for name in kept if (sql := gold.get(name))):
            keys[name] = self.project.key_of(name)
            hashed = F.expr(key_hash(keys[name], self.number + name))
            rows = self.spark.sql(sql).select(hashed.alias("hash")).distinct()
            found.hashes += [row.hash for row in rows.collect()]
        return keys

    def look_at(
        self,
        table: str,
        maker: Maker | None,
        keys: dict[str, list[str]],
        finder: Finder,
        found: Found,
    ) -> None:
        """Find out how a table that is not rebuilt is cleaned, or why it cannot be."""
        remedy = maker.remedy() if maker else UNKNOWN_REMEDY
        of = maker.of if maker and maker.of in keys else ""
        try:
            frame = self.spark.table(named(table))
            identity = identity_of(frame)
            key = [c for c in keys.get(of, []) if c in frame.columns]
            key = key if key == keys.get(of) else []
            rows = finder.marked(table, identity, key, of)
            is_named = names_a_subject(text_of(frame), self.subjects.stored)
            (counts,) = rows.agg(
                F.count_if("_is_found"), F.count_if(~F.col("_is_found") & is_named)
            ).collect()
        except (PySparkException, Py4JError) as error:
            said = " ".join(short_message(error).splitlines())
            found.left.append([table, f"cannot be read ({said}); {remedy}"])
            return
        of_subjects, others = counts
        if of_subjects and is_delta(self.spark, table):
            found.cleaned.append([table, identity, key, of])
            found.cleaned_rows[table] = of_subjects
        else:
            others += of_subjects
        if others:
            why = f"{others:,} rows hold the key's text, maybe by chance"
            found.left.append([table, f"{why}; {remedy}"])
        elif not identity and not key and (found.rows or found.messages):
            if maker:
                why = "no row holds the key's text, but it is made of rows of the subjects"
                found.left.append([table, f"{why}; {remedy}"])
            else:
                found.undecided.append([table, UNKNOWN_REMEDY])

    def names_of(self, frame: DataFrame) -> bool:
        """Tell whether a row holds the key's text."""
        is_named = names_a_subject(text_of(frame), self.subjects.stored)
        return bool(frame.where(is_named).limit(1).count())
