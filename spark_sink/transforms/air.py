"""What the air is used for, and the single packets that tell who hears whom."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

MINUTE_US: Final = 60_000_000
PACKET_KINDS: Final = ("rx", "tx")
"""Records of one packet each."""
MANY_SENT: Final = "tx_more"
"""Records of many packets sent."""
TRAFFIC_KINDS: Final = (*PACKET_KINDS, MANY_SENT)


def traffic(records: DataFrame) -> DataFrame:
    """Packets, bytes and airtime by node, minute, direction, face, kind of packet and verdict."""
    many = f.col("kind") == MANY_SENT
    return (
        records.select(
            "kind", "node", "t_us", "face", "packet", "verdict", "length", "airtime_us", "count", "size"
        )
        .where(f.col("kind").isin(*TRAFFIC_KINDS))
        .groupBy(
            "node",
            (f.col("t_us") - f.col("t_us") % MINUTE_US).alias("minute_us"),
            f.when(many, "tx").otherwise(f.col("kind")).alias("direction"),
            "face",
            "packet",
            f.coalesce("verdict", f.lit("sent")).alias("verdict"),
        )
        .agg(
            f.sum(f.when(many, f.col("count")).otherwise(1)).alias("packets"),
            f.sum(f.when(many, f.col("size")).otherwise(f.col("length"))).alias("bytes"),
            f.sum(f.coalesce("airtime_us", f.lit(0))).alias("airtime_us"),
        )
        .select(
            "node",
            "minute_us",
            "direction",
            "face",
            "packet",
            "verdict",
            "packets",
            "bytes",
            "airtime_us",
        )
    )


def sightings(records: DataFrame) -> DataFrame:
    """One row for each packet that was sent or heard: the hash tells which were the same one."""
    return (
        records.select("kind", "hash", "node", "face", "t_us", "rssi_dbm", "snr_db")
        .where(f.col("kind").isin(*PACKET_KINDS))
        .select("hash", "node", f.col("kind").alias("direction"), "face", "t_us", "rssi_dbm", "snr_db")
    )
