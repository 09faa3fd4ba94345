"""Log lines, whether anybody reads them or not."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.daemon.processes import PATIENCE_S
from tinyssb_node import limits
from tinyssb_node.daemon.log_output import LogOutput


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The ends of a pipe: one to read, one to write."""
    reading, writing = os.pipe()
    yield reading, writing
    for end in (reading, writing):
        with suppress(OSError):
            os.close(end)


def lines_of(reading: int, count: int) -> list[str]:
    """Read *count* lines."""
    with open(reading, closefd=False) as file:
        return [file.readline().rstrip("\n") for _ in range(count)]


def test_lines_are_written_in_order(pipe: tuple[int, int]) -> None:
    output = LogOutput(pipe[1], lambda _: None)
    for line in ("one", "zwölf", "half \udcff"):
        output.msg(line)
    assert lines_of(pipe[0], 3) == ["one", "zwölf", "half \\udcff"]
    assert output.flush(PATIENCE_S)


def test_a_log_that_nobody_reads_blocks_nobody_and_counts_what_it_drops(pipe: tuple[int, int]) -> None:
    dropped: list[int] = []
    output = LogOutput(pipe[1], dropped.append)
    written = [f"line {number} ".ljust(200, ".") for number in range(4 * limits.LOG_LINES_MAX)]
    for line in written:
        output.msg(line)
    assert not output.flush(0.0)
    read: list[str] = []

    def read_all() -> None:
        with open(pipe[0], closefd=False) as file:
            read.extend(line.rstrip("\n") for line in file)

    reader = threading.Thread(target=read_all)
    reader.start()
    assert output.flush(PATIENCE_S)
    output.msg("last")
    assert output.flush(PATIENCE_S)
    os.close(pipe[1])
    reader.join(PATIENCE_S)
    # Which of them is chance: how far the writer came before the pipe was full.
    assert sum(dropped) == len(written) - len(read) + 1 > 0
    kept = set(read)
    assert read == [*(line for line in written if line in kept), "last"]


def test_neither_a_full_disk_nor_a_reader_that_is_gone_ends_the_program(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    full = os.open("/dev/full", os.O_WRONLY)
    for file in (pipe[1], full):
        output = LogOutput(file, lambda _: None)
        output.msg("lost")
        assert output.flush(PATIENCE_S)
    os.close(full)
