"""What the nodes say of themselves, and of what went wrong."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def nodes(records: DataFrame) -> DataFrame:
    """One row for each node: name and feed (null without a ``start``), newest boot, latest time, running or not.

    ``running`` is null where nothing was said of it.
    """
    place = f.struct("boot", "offset")
    started = f.col("kind") == "start"
    return (
        records.select("kind", "node", "boot", "offset", "t_us", "name", "feed")
        .groupBy("node")
        .agg(
            f.max_by("name", f.when(started, place)).alias("name"),
            f.max_by("feed", f.when(started, place)).alias("feed"),
            f.max("boot").alias("boot"),
            f.max("t_us").alias("last_t_us"),
            f.max_by(started, f.when(f.col("kind").isin("start", "stop"), place)).alias("running"),
        )
        .select("node", "name", "feed", "boot", "last_t_us", f.col("running").cast("bigint").alias("running"))
    )


def events_count(records: DataFrame) -> DataFrame:
    """How many records of each kind each node wrote."""
    return (
        records.select("kind", "node")
        .groupBy("kind", "node")
        .agg(f.count(f.lit(1)).alias("n"))
        .select("kind", "node", "n")
    )


def sets(records: DataFrame) -> DataFrame:
    """The newest state of each node's set of feeds."""
    return (
        records.select("kind", "node", "boot", "offset", "count", "state", "t_us")
        .where(f.col("kind") == "set")
        .groupBy("node")
        .agg(f.max_by(f.struct("count", "state", "t_us"), f.struct("boot", "offset")).alias("newest"))
        .select(
            "node",
            f.col("newest.count").alias("feeds"),
            f.col("newest.state").alias("state"),
            f.col("newest.t_us").alias("t_us"),
        )
    )


def forks(records: DataFrame) -> DataFrame:
    """One row for each fork a node found."""
    return (
        records.select("kind", "node", "feed", "seq", "held", "other", "t_us")
        .where(f.col("kind") == "fork")
        .select("node", "feed", "seq", "held", "other", "t_us")
    )


def bad_lines(rows: DataFrame) -> DataFrame:
    """Lines that are no records, of all rows of the source."""
    return (
        rows.select("bad_path", "bad_byte", "bad_reason", "bad_text")
        .where(f.col("bad_path").isNotNull())
        .select(
            f.col("bad_path").alias("path"),
            f.col("bad_byte").alias("byte"),
            f.col("bad_reason").alias("reason"),
            f.col("bad_text").alias("text"),
        )
    )
