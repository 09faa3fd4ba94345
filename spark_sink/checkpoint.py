"""Spark's checkpoint of a stream, read from outside.

A stream over logs needs none that lasts: what it fills, the database or the bronze, has the offset in the transaction
of each batch, and the next stream begins there. A stream over a bronze keeps one: Spark's list of the files it read.
"""

import json
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class StreamPlaces:
    """Offsets of one stream, in a checkpoint that is deleted with this object."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tinyssb-sink-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self.location = self._folder.as_uri()
        """Address for Spark: on the driver's machine, as only the driver uses it."""
        self.name = uuid4().hex
        """Name of the stream."""

    def after(self, batch_id: int) -> str:
        """Return the offset after a batch, as its source wrote it: there from before the batch until twenty later."""
        return (self._folder / "offsets" / str(batch_id)).read_text().splitlines()[-1]


def query_id(session: "SparkSession", checkpoint: str) -> str | None:
    """Return Spark's id of the query that a checkpoint belongs to, which may lie wherever Spark can read; None if there
    is none yet."""
    if "://" not in checkpoint:
        path = Path(checkpoint, "metadata")
        text = path.read_text() if path.exists() else None
    else:
        java = session._jvm  # noqa: SLF001 - Spark has no other way to its file systems
        assert java is not None
        remote = java.org.apache.hadoop.fs.Path(f"{checkpoint}/metadata")
        files = remote.getFileSystem(session._jsc.hadoopConfiguration())  # noqa: SLF001 - as above
        if not files.exists(remote):
            return None
        with files.open(remote) as stream:
            text = str(java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    return None if text is None else str(json.loads(text)["id"])
