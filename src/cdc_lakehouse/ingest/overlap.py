"""Compare the messages of a staged archive with bronze: new, known, conflicting or erased."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.bronze import deliveries
from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.bronze.tables import IDENTITY
from cdc_lakehouse.ingest.columns import Refused
from cdc_lakehouse.ingest.report import Place
from cdc_lakehouse.routes import Routes
from cdc_lakehouse.storage.files import Location

PARTITION = IDENTITY[:2]
ERASURE = "erasure"  # a reason in bronze.removed_messages


def places_of(spark: SparkSession, folder: Location, routes: Routes) -> list[Place]:
    """Return what is staged in `folder`, by topic and partition, compared with bronze."""
    staged = deliveries.staged_messages(spark, folder)
    extents = staged.groupBy(*PARTITION).agg(
        F.count("*").alias("messages"),
        F.min("offset").alias("first_offset"),
        F.max("offset").alias("last_offset"),
    )
    places = {
        (row.topic, row.partition): Place(format=routes.format_of(row.topic), **row.asDict())
        for row in extents.collect()
    }
    if not places:
        return []
    ends = [(p.topic, p.partition, p.first_offset, p.last_offset) for p in places.values()]
    known = spark.createDataFrame(
        ends, "topic string, partition int, first_offset bigint, last_offset bigint"
    )
    landed = bronze.read(spark, bronze.MESSAGES)
    landed = landed.where(F.col("topic").isin(sorted({place.topic for place in places.values()})))
    landed = landed.join(F.broadcast(known), PARTITION)
    is_inside = F.col("offset").between(F.col("first_offset"), F.col("last_offset"))
    erased = _erased(spark, staged)
    for found in (_compared(staged, landed.where(is_inside)), _beside(landed), erased):
        for row in found.collect():
            place = places[row.topic, row.partition]
            for name, value in row.asDict().items():
                setattr(place, name, value)
    return [places[each] for each in sorted(places)]


def conflict(spark: SparkSession, folder: Location, name: str) -> Refused | None:
    """Return why a staged file must not land that has other bytes than bronze under known offsets.

    Returns:
        None if it has none.
    """
    staged = deliveries.staged_file(spark, folder, name)
    landed = bronze.read(spark, bronze.MESSAGES)
    landed = landed.join(staged.select(*IDENTITY).distinct(), IDENTITY, "left_semi")
    place = _compared(staged, landed).where("conflicting > 0").orderBy(*PARTITION).first()
    if place is None:
        return None
    return Refused(
        "has changed since it was landed, and has other bytes under a topic, partition and offset "
        f"that are known: {place.topic}/{place.partition}, {place.conflicting:,} from offset "
        f"{place.first_conflict:,}. Export it with the offsets of the topic; or give its topic a "
        "name of its own: lakehouse backfill, --topic OLD=NEW."
    )


def lines_beside_offsets(spark: SparkSession, topics: set[str]) -> list[str]:
    """Return those of the topics of line files of which bronze has partitions of other origin."""
    of_lines = bronze.read(spark, bronze.LANDED_FILES).where("partition is not null")
    landed = bronze.read(spark, bronze.MESSAGES).where(F.col("topic").isin(sorted(topics)))
    others = landed.select(PARTITION).distinct().join(of_lines, PARTITION, "left_anti")
    return sorted({row.topic for row in others.collect()})


def _compared(staged: DataFrame, landed: DataFrame) -> DataFrame:
    # The digests of key and value are all that is shuffled of them.
    content = F.struct(*(F.sha2(F.col(name), 256).alias(name) for name in ("key", "value")))
    content = content.alias("content")
    both = staged.select(*IDENTITY, content, F.lit(True).alias("is_staged")).union(
        landed.select(*IDENTITY, content, F.lit(False).alias("is_staged"))
    )
    each = both.groupBy(*IDENTITY).agg(
        F.bool_or("is_staged").alias("is_staged"),
        F.bool_or(~F.col("is_staged")).alias("is_landed"),
        (F.count_distinct("content") > 1).alias("differs"),
    )
    is_conflict = F.col("is_staged") & F.col("differs")
    span = F.max("offset") - F.min("offset") + 1
    return each.groupBy(*PARTITION).agg(
        (span - F.count("*")).alias("holes"),
        F.count_if(F.col("is_staged") & F.col("is_landed")).alias("in_bronze"),
        F.count_if(is_conflict).alias("conflicting"),
        F.min(F.when(is_conflict, F.col("offset"))).alias("first_conflict"),
    )


def _beside(landed: DataFrame) -> DataFrame:
    offset = F.col("offset")
    return landed.groupBy(*PARTITION).agg(
        F.max(F.when(offset < F.col("first_offset"), offset)).alias("before"),
        F.min(F.when(offset > F.col("last_offset"), offset)).alias("after"),
    )


def _erased(spark: SparkSession, staged: DataFrame) -> DataFrame:
    runs = bronze.read(spark, bronze.REMOVED_MESSAGES).where(F.col("reason") == ERASURE)
    runs = runs.select(*PARTITION, "first_offset", "last_offset")
    found = staged.select(*IDENTITY).join(F.broadcast(runs), PARTITION)
    found = found.where(F.col("offset").between(F.col("first_offset"), F.col("last_offset")))
    return found.groupBy(*PARTITION).agg(F.count_distinct("offset").alias("erased"))
