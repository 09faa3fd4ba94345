import os

import pytest

from tinyssb_node.daemon.eventlog_segments import (
    ResumePoint,
    Retention,
    read_resume_point,
    segment_path,
    segments,
)

START = b'{"kind":"start"}\n'
STOP = b'{"kind":"stop","reason":"signal"}\n'
RX = b'{"kind":"rx","face":"\\"arrival\\":9"}\n'


def mark(arrival):
    return b'{"kind":"mark","arrival":%d}\n' % arrival


def entry(arrival):
    return b'{"kind":"entry","arrival":%d}\n' % arrival


def put(folder, boot, first_offset, *lines):
    path = segment_path(folder, boot, first_offset)
    path.write_bytes(b"".join(lines))
    return path


def test_a_segment_is_named_by_boot_and_first_offset(tmp_path):
    assert segment_path(tmp_path, 7, 0) == tmp_path / "00000007-000000000000.jsonl"
    assert segment_path(tmp_path, 12, 345).name == "00000012-000000000345.jsonl"


def test_segments_come_in_order_of_writing(tmp_path):
    paths = [put(tmp_path, *name) for name in ((2, 0), (10, 900), (1, 50), (10, 0), (1, 0))]
    assert [segment.path for segment in segments(tmp_path)] == sorted(paths)
    assert [(segment.boot, segment.first_offset) for segment in segments(tmp_path)] == [
        (1, 0),
        (1, 50),
        (2, 0),
        (10, 0),
        (10, 900),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt",
        "1-2.jsonl",
        "0000000x-000000000000.jsonl",
        "00000001.jsonl",
        "00000001-00000000000².jsonl",
    ],
)
def test_files_with_other_names_are_not_ours(tmp_path, name):
    (tmp_path / name).write_bytes(STOP)
    assert segments(tmp_path) == []


def test_an_empty_folder_says_nothing(tmp_path):
    assert read_resume_point(tmp_path, 0) == ResumePoint(boot=0, arrival=0, clean=True)


def test_the_last_record_counts(tmp_path):
    put(tmp_path, 1, 0, START, mark(0), entry(1), entry(2), RX, STOP)
    assert read_resume_point(tmp_path, 0) == ResumePoint(boot=1, arrival=2, clean=True)


@pytest.mark.parametrize("tail", [b"", RX, b'{"kind":"st', STOP[:-1], b"\x00" * 40, b"[]\n", b"\xff\n"])
def test_a_boot_that_did_not_end_with_a_stop_was_not_clean(tmp_path, tail):
    put(tmp_path, 1, 0, START, mark(0), entry(1), tail)
    assert read_resume_point(tmp_path, 0) == ResumePoint(boot=1, arrival=1, clean=False)


def test_a_stop_counts_only_at_the_end(tmp_path):
    put(tmp_path, 1, 0, START, mark(0), STOP)
    put(tmp_path, 2, 0, START, mark(0))
    assert not read_resume_point(tmp_path, 0).clean


def test_a_torn_record_does_not_count(tmp_path):
    put(tmp_path, 1, 0, START, mark(0), entry(1), entry(2)[:-1])
    assert read_resume_point(tmp_path, 0).arrival == 1


def test_what_follows_a_gap_does_not_count(tmp_path):
    put(tmp_path, 1, 0, START, mark(4), entry(5), b"\x00" * len(entry(6)), entry(7), entry(8))
    assert read_resume_point(tmp_path, 0).arrival == 5


@pytest.mark.parametrize(
    ("held", "arrival"),
    [
        ([5, 8, 9], 9),
        ([5, 7, 8, 9], 5),
        ([5, 8, 9, 10], 9),
        ([5], 9),  # records of another store, which the caller sees by their number
        ([5, 6, 8, 9], 5),
    ],
)
def test_what_follows_a_gap_counts_if_the_store_has_nothing_in_it(tmp_path, held, arrival):
    put(tmp_path, 1, 0, START, mark(4), entry(5), entry(8), entry(9), entry(4))
    found = read_resume_point(
        tmp_path, 0, lambda last: next((number for number in held if number > last), None)
    )
    assert found.arrival == arrival


def test_the_last_segment_alone_is_read(tmp_path):
    put(tmp_path, 1, 0, START, mark(0), entry(1)).chmod(0)
    segment_path(tmp_path, 1, 5).mkdir()
    put(tmp_path, 1, 9, mark(7), RX, RX)
    assert read_resume_point(tmp_path, 0).arrival == 7


@pytest.mark.parametrize("first", [b"", mark(7)[:-1], START])
def test_a_last_segment_that_lost_its_first_lines_sends_us_to_the_one_before(tmp_path, first):
    put(tmp_path, 1, 0, START, mark(0), entry(1))
    put(tmp_path, 1, 3, mark(1), entry(2))
    put(tmp_path, 2, 0, first)
    assert read_resume_point(tmp_path, 0) == ResumePoint(boot=2, arrival=2, clean=False)


def test_records_of_another_store_do_not_count(tmp_path):
    put(tmp_path, 1, 0, START, mark(0), entry(1), STOP)
    assert read_resume_point(tmp_path, 2) == ResumePoint(boot=1, arrival=0, clean=True)
    put(tmp_path, 2, 0, START)
    assert read_resume_point(tmp_path, 2) == ResumePoint(boot=2, arrival=0, clean=False)


# Retention

DAY_US = SURE_US = 86_400_000_000
NOW_US = 1_700_000_000_000_000


@pytest.fixture
def five(tmp_path):
    """Five segments of 100 bytes, the last written to now, each of the others a day before the next."""
    for number in range(5):
        path = put(tmp_path, 1, number, b"x" * 99 + b"\n")
        written_ns = (NOW_US - (4 - number) * DAY_US) * 1_000
        os.utime(path, ns=(written_ns, written_ns))
    return tmp_path


def offsets(folder):
    return [segment.first_offset for segment in segments(folder)]


@pytest.mark.parametrize(
    ("bytes_max", "age_max_us", "kept"),
    [
        (500, 4 * DAY_US, [0, 1, 2, 3, 4]),
        (499, 9 * DAY_US, [1, 2, 3, 4]),
        (200, 9 * DAY_US, [3, 4]),
        (0, 9 * DAY_US, [4]),
        (500, 4 * DAY_US - 1, [1, 2, 3, 4]),
        (500, DAY_US, [3, 4]),
        (500, -1, [4]),
        (300, DAY_US, [3, 4]),
    ],
)
def test_the_oldest_go_first_and_the_last_stays(five, bytes_max, age_max_us, kept):
    retention = Retention(five, bytes_max=bytes_max, age_max_us=age_max_us)
    retention.sweep(NOW_US, 0)
    retention.sweep(NOW_US, SURE_US)
    assert offsets(five) == kept


def test_a_clock_that_is_wrong_for_less_than_a_day_deletes_nothing(five):
    retention = Retention(five, bytes_max=500, age_max_us=9 * DAY_US)
    wrong_us = NOW_US + 40 * DAY_US
    for now_us, mono_us in [
        (wrong_us, 7),
        (wrong_us, SURE_US + 6),
        (NOW_US, SURE_US + 7),  # it was set right in time
        (wrong_us, SURE_US + 8),
        (wrong_us, 2 * SURE_US + 7),
    ]:
        retention.sweep(now_us, mono_us)
        assert offsets(five) == [0, 1, 2, 3, 4]
    # Too many bytes are too many whatever the clock says.
    Retention(five, bytes_max=400, age_max_us=9 * DAY_US).sweep(wrong_us, 9 * SURE_US)
    assert offsets(five) == [1, 2, 3, 4], "another boot knows nothing of the sweeps before"
    retention.sweep(wrong_us, 2 * SURE_US + 8)
    assert offsets(five) == [4]


def test_each_segment_goes_when_it_has_been_too_old_for_long_enough(five):
    retention = Retention(five, bytes_max=500, age_max_us=3 * DAY_US)
    kept = []
    for day in range(5):
        retention.sweep(NOW_US + day * DAY_US, day * DAY_US)
        kept.append(offsets(five))
    assert kept == [[0, 1, 2, 3, 4], [1, 2, 3, 4], [2, 3, 4], [3, 4], [4]]


def test_other_files_are_neither_counted_nor_deleted(five):
    other = five / "notes.txt"
    other.write_bytes(b"x" * 10_000)
    os.utime(other, (0, 0))
    retention = Retention(five, bytes_max=500, age_max_us=9 * DAY_US)
    retention.sweep(NOW_US, 0)
    retention.sweep(NOW_US, SURE_US)
    assert other.exists()
    assert len(segments(five)) == 5
