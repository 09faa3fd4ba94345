"""Which entries there are, who has them since when, and how much of each feed and side chain."""

import pyarrow as pa

from spark_sink.partials.groups import chosen
from spark_sink.partials.merging import merge
from spark_sink.partials.records import Records


def entries(records: Records) -> pa.Table:
    """Partial rows of `entries`."""
    found = records.of("entry")
    own = found.says("origin", "own")
    columns = {name: found.column(name) for name in ("feed", "seq", "id", "size", "chunks")}
    columns["type"] = pa.array(found.numbers("type"))
    columns["publisher"] = chosen(len(found), None, (own, found.column("node")))
    for name in ("boot", "t_us", "mono_us"):
        columns[name] = pa.array(found.numbers(name), mask=~own)
    return merge("entries", pa.table(columns))


def copies(records: Records) -> pa.Table:
    """Partial rows of `copies`."""
    found = records.of("entry")
    names = ("feed", "seq", "node", "boot", "offset", "t_us", "mono_us", "origin", "face")
    return merge("copies", pa.table({name: found.column(name) for name in names}))


def frontiers(records: Records) -> pa.Table:
    """Partial rows of `frontiers`."""
    found = records.of("entry")
    names = ("node", "feed", "seq", "boot", "t_us")
    return merge("frontiers", pa.table({name: found.column(name) for name in names}))


def side_chains(records: Records) -> pa.Table:
    """Partial rows of `side_chains`."""
    found = records.of("chunk").known("feed", "seq", "chunk")
    columns = {name: found.column(name) for name in ("feed", "seq", "node")}
    columns["held"] = pa.array(found.numbers("chunk") + 1)
    columns["complete_us"] = pa.array(found.numbers("t_us"), mask=found.numbers("complete") != 1)
    return merge("side_chains", pa.table(columns))
