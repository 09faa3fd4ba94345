"""What each run of a node says of itself, and the faces it has."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_sink.partials.groups import greatest, group, least
from spark_sink.partials.merging import FIRST, KEYS, LATEST, STARTED, merge, spelled
from spark_sink.partials.records import Records

_PLACE = ("offset", "t_us", "mono_us")


def boots(records: Records) -> pa.Table:
    """Partial rows of `boots`."""
    started = records.of("start")
    started = started.where(started.numbers("offset") == 0)
    stopped = records.of("stop")
    tables = [
        _spans(records),
        _ends(
            started,
            {
                **{name: started.column(name) for name in STARTED[:-1]},
                "clean": started.column("clean").cast(pa.int64()),
                "started_us": started.column("t_us"),
            },
        ),
        _ends(stopped, {"stopped_us": stopped.column("t_us"), "stop_reason": stopped.column("reason")}),
    ]
    return merge("boots", pa.concat_tables(spelled("boots", table) for table in tables))


def _spans(records: Records) -> pa.Table:
    """From where to where records go."""
    groups = group([records.column(key) for key in KEYS["boots"]], len(records))
    offsets = records.column("offset")
    found = {"records": pa.array(groups.sums(np.ones(len(records), np.int64)))}
    for names, places in (
        (dict(zip(FIRST, _PLACE, strict=True)), groups.best([least(offsets)])),
        (dict(zip(LATEST, _PLACE, strict=True)), groups.best([greatest(offsets)])),
    ):
        rows = pa.array(places)
        found |= {new: records.column(old).take(rows) for new, old in names.items()}
        found |= {key: records.column(key).take(rows) for key in KEYS["boots"]}
    return pa.table(found)


def _ends(records: Records, columns: dict[str, Any]) -> pa.Table:
    """Records that say more, and are counted already."""
    places = {
        new: records.column(old) for names in (FIRST, LATEST) for new, old in zip(names, _PLACE, strict=True)
    }
    keys = {key: records.column(key) for key in KEYS["boots"]}
    return pa.table({**keys, **columns, **places, "records": pa.array(np.zeros(len(records), np.int64))})


def faces(records: Records) -> pa.Table:
    """Partial rows of `faces`."""
    changes = records.of("face_up", "face_down").known("face")
    names = ("node", "face", "boot", "offset", "t_us", "spec", "region", "sub_band", "limit_ppm", "window_us")
    columns = {name: changes.column(name) for name in names}
    up = pc.equal(changes.column("kind").cast(pa.string()), "face_up").cast(pa.int64())
    return merge("faces", pa.table({**columns, "up": up}))
