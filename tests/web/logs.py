"""Event logs for tests of the page: records as nodes write them."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tinyssb_node.codec.event_records import segment_name

NODE = "00112233445566aa"
Record = dict[str, Any]


def record(kind: str, t_us: int, **more: object) -> Record:
    """Return a record of some kind at a time of the wall clock."""
    return {"v": 1, "node": NODE, "boot": 1, "offset": 0, "t_us": t_us, "mono_us": 0, "kind": kind, **more}


def line(one: Record) -> bytes:
    return json.dumps(one, separators=(",", ":")).encode() + b"\n"


def write_segment(folder: Path, first: int, records: Iterable[Record], *, boot: int = 1) -> Path:
    """Write records as a segment that was last changed at the time of the last one."""
    folder.mkdir(parents=True, exist_ok=True)
    path, found = folder / segment_name(boot, first), list(records)
    path.write_bytes(b"".join(map(line, found)))
    if found:
        os.utime(path, (found[-1]["t_us"] / 1e6, found[-1]["t_us"] / 1e6))
    return path
