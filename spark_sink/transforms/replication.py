"""Who holds what, since when, and how far behind the others."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def appended(records: DataFrame) -> DataFrame:
    """One row for each entry a node committed: what it is, when it came, and from where."""
    return (
        records.select("kind", "node", "feed", "seq", "id", "size", "chunks", "t_us", "origin", "face")
        .where(f.col("kind") == "entry")
        .select("node", "feed", "seq", "id", "size", "chunks", "t_us", "origin", "face")
    )


def frontier(records: DataFrame) -> DataFrame:
    """The highest entry each node holds of each feed, and when it came."""
    return (
        records.select("kind", "node", "feed", "seq", "t_us")
        .where(f.col("kind") == "entry")
        .groupBy("node", "feed")
        .agg(f.max(f.struct("seq", "t_us")).alias("newest"))
        .select("node", "feed", f.col("newest.seq").alias("seq"), f.col("newest.t_us").alias("t_us"))
    )


def behind(frontiers: DataFrame, nodes: DataFrame) -> DataFrame:
    """By how many entries each node is behind the one that holds most, for every feed anyone holds.

    *frontiers* is what `frontier` gives for whole logs, *nodes* has a column ``node``: a node that reported nothing
    of a feed is behind by all of it.
    """
    newest = frontiers.select("feed", "seq").groupBy("feed").agg(f.max("seq").alias("newest"))
    held = frontiers.select("node", "feed", "seq")
    return (
        nodes.select("node")
        .distinct()
        .crossJoin(newest)
        .join(held, ["node", "feed"], "left")
        .select("node", "feed", (f.col("newest") - f.coalesce("seq", f.lit(0))).alias("behind"))
    )


def delays(entries: DataFrame) -> DataFrame:
    """Replication delay of each copy that is not the publisher's own, in microseconds.

    *entries* is what `appended` gives for whole logs. Both ends are read off the clocks of the nodes, so a delay may
    be negative.
    """
    published = (
        entries.select("feed", "seq", "origin", "t_us")
        .where(f.col("origin") == "own")
        .groupBy("feed", "seq")
        .agg(f.min("t_us").alias("published_us"))
    )
    return (
        entries.select("node", "feed", "seq", "origin", "t_us")
        .where(f.col("origin") != "own")
        .join(published, ["feed", "seq"])
        .select("node", "feed", "seq", (f.col("t_us") - f.col("published_us")).alias("delay_us"))
    )
