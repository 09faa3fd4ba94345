"""What went through each face, and what it cost."""

from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.derive.facts import HOUR_US
from spark_sink.partials.groups import Ints, chosen
from spark_sink.partials.merging import merge
from spark_sink.partials.records import Records

SLOT_US: Final = 600_000_000


def since(t_us: Ints, unit_us: int) -> pa.Array:
    """The beginning of the full hours, or other units, that times are in."""
    return pa.array(t_us - t_us % unit_us)


def traffic(records: Records) -> pa.Table:
    """Partial rows of `traffic`."""
    found = records.of("rx", "tx", "tx_more")
    received, many = found.says("kind", "rx"), found.says("kind", "tx_more")
    invalid = received & found.says("verdict", "invalid")
    columns = {name: found.column(name) for name in ("node", "face", "packet")}
    columns |= {
        "hour_us": since(found.numbers("t_us"), HOUR_US),
        "direction": chosen(len(found), "tx", (received, "rx")),
        "verdict": chosen(len(found), "sent", (received, found.column("verdict"))),
        "reason": chosen(len(found), "", (invalid & found.has("reason"), found.column("reason"))),
        "packets": pa.array(np.where(many, found.numbers("count"), 1)),
        "bytes": pa.array(np.where(many, found.numbers("size"), found.numbers("length"))),
        "airtime_us": pa.array(found.numbers("airtime_us")),
    }
    return merge("traffic", pa.table(columns))


def airtime(records: Records) -> pa.Table:
    """Partial rows of `airtime`."""
    sent = records.of("tx")
    sent = sent.where(sent.numbers("airtime_us") > 0)
    columns = {name: sent.column(name) for name in ("node", "face", "airtime_us")}
    columns["slot_us"] = since(sent.numbers("t_us"), SLOT_US)
    columns["packets"] = pa.array(np.ones(len(sent), np.int64))
    return merge("airtime", pa.table(columns))


def packets(records: Records) -> pa.Table:
    """Partial rows of `packets`: the last ones read."""
    found = records.of("rx", "tx")
    found = found.where(np.arange(len(found)) >= len(found) - limits.PACKETS_KEPT)
    names = (
        "node",
        "t_us",
        "face",
        "packet",
        "reason",
        "length",
        "rssi_dbm",
        "snr_db",
        "feed",
        "seq",
        "chunk",
    )
    columns = {name: found.column(name) for name in names}
    columns |= {
        "direction": found.column("kind"),
        "verdict": chosen(len(found), "sent", (found.says("kind", "rx"), found.column("verdict"))),
        "airtime_us": pa.array(found.numbers("airtime_us")),
    }
    return merge("packets", pa.table(columns))
