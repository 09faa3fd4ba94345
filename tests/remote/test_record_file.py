"""The file: what is written is read, and one that cannot be read stops the commands and stays."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nodes import feed_of
from tinyssb_node.remote import limits
from tinyssb_node.remote.gate import Admin, AdminState, DoneCommand, PendingCommand, RemoteRecord
from tinyssb_node.remote.record_file import (
    RemoteRecordError,
    change_record,
    parse_record,
    read_record,
    record_path,
    serialize_record,
)
from tinyssb_node.store.home import Home

PATH = Path("remote.json")
FEEDS = st.integers(0, 30).map(feed_of)
SEQS = st.integers(0, 2**32 - 1)
WORDS = st.lists(st.text(max_size=40), max_size=8).map(tuple)
ADMINS = st.builds(
    Admin,
    feed=FEEDS,
    seq=SEQS,
    state=st.sampled_from(AdminState),
    tokens=st.integers(0, limits.TOKENS_MAX),
    tokens_s=st.integers(-(2**40), 2**40),
    dropped=st.integers(0, 2**40),
)
PENDING = st.builds(
    PendingCommand, feed=FEEDS, seq=SEQS, words=WORDS, answer=st.none() | st.binary(max_size=180)
)
DONE = st.builds(
    DoneCommand, time_s=st.integers(0, 2**40), feed=FEEDS, seq=SEQS, words=WORDS, outcome=st.integers(0, 9)
)
RECORDS = st.builds(
    RemoteRecord,
    admins=st.lists(ADMINS, max_size=limits.ADMINS_MAX).map(tuple),
    pending=st.none() | PENDING,
    done=st.lists(DONE, max_size=9).map(tuple),
    ignored=st.integers(0, 2**40),
    ignored_s=st.integers(0, 2**40),
)


@given(RECORDS)
def test_what_is_written_is_read(record: RemoteRecord) -> None:
    assert parse_record(serialize_record(record), PATH) == record


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_an_error(data: bytes) -> None:
    with pytest.raises(RemoteRecordError):
        parse_record(data, PATH)


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        (b"", "malformed"),
        (b'{"v":2,"admins":[],"pending":null,"done":[],"ignored":0,"ignored_s":0}', "format 2"),
        (b'{"v":1,"admins":[{"feed":"ab","seq":1}]}', "malformed"),
        (b'{"v":1,"admins":[],"pending":null,"done":[],"ignored":-1,"ignored_s":0}', "malformed"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_as_it_is(tmp_path: Path, damaged: bytes, reason: str) -> None:
    home = Home(tmp_path)
    record_path(home).write_bytes(damaged)
    for use in (lambda: read_record(home), lambda: change_record(home, lambda record: record)):
        with pytest.raises(RemoteRecordError, match=reason):
            use()
    assert record_path(home).read_bytes() == damaged


def test_a_change_is_whole_or_none_and_the_owner_alone_reads_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert read_record(home) == RemoteRecord()
    change_record(home, lambda record: record)
    assert not record_path(home).exists()
    allowed = change_record(home, lambda record: record.allow(feed_of(1), 5, 0))
    assert read_record(home) == allowed
    assert record_path(home).stat().st_mode & 0o777 == 0o600

    def fail(_record: RemoteRecord) -> RemoteRecord:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_record(home, fail)
    assert read_record(home) == allowed
    assert [path.name for path in tmp_path.iterdir()] == ["remote.json"]
