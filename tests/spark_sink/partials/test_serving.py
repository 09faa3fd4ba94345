"""Partial tables merged into the serving database batch by batch: the facts are what the oracle counts."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.merge import MicroBatch, merge
from spark_sink.serving.names import NameNumbers
from tests.spark_sink import contents
from tests.spark_sink.partials import odd, oracle
from tests.spark_sink.partials.blocks import block, reduced


def batch(number: int, parts: dict[str, pa.Table]) -> MicroBatch:
    parts = dict(parts)
    return MicroBatch(
        query="q",
        batch_id=number,
        bad_lines=parts.pop("bad_lines", None),
        parts=parts,
        gaps=None,
        oddities=None,
        offsets="{}",
        now_us=number,
        read_us=0,
        bytes=0,
        behind_bytes=0,
    )


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_facts_are_what_the_oracle_counts(data: st.DataObject) -> None:
    some = data.draw(odd.records())
    batches = data.draw(odd.divided(some))
    with TemporaryDirectory() as folder, open_for_writing(str(Path(folder) / "db.sqlite")) as database:
        names = NameNumbers(database)
        for number, blocks in enumerate(batches):
            assert merge(database, names, batch(number, reduced([[block(rows)] for rows in blocks])))
        assert contents.facts(database) == oracle.facts(some)
