"""Processes that run functions: their results, their faults, and their end."""

import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from spark_sink import limits
from spark_sink.errors import OptionError, SinkError
from spark_sink.executors import TasksFailedError
from spark_sink.process_pool import ProcessExecutors, ProcessPool
from spark_sink.settings import check_least


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPool]:
    with ProcessPool(2) as running:
        yield running


def test_results_come_in_order_from_other_processes(pool: ProcessPool) -> None:
    executors = ProcessExecutors(pool, print)
    assert list(executors.map(math.factorial, range(20))) == [math.factorial(number) for number in range(20)]
    assert list(executors.map(math.factorial, [])) == []
    assert str(os.getpid()) not in set(executors.map(os.readlink, ["/proc/self"] * 20))


def test_functions_run_at_the_same_time(pool: ProcessPool, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = pool.submit(Path.read_text, pipe)  # either end waits for the other one
    pool.submit(partial(Path.write_text, data="hello"), pipe).result()
    assert read.result() == "hello"


def test_an_error_of_the_sink_keeps_its_message_and_exit_code(pool: ProcessPool) -> None:
    wrong = ("--threads", 0.0, 1.0)
    with pytest.raises(SinkError, match=r"--threads is '0\.0', but must be") as refused:
        pool.submit(check_least, wrong).result()
    assert refused.value.exit_code == OptionError.exit_code
    with pytest.raises(TasksFailedError, match=r"--threads is '0\.0'"):
        list(ProcessExecutors(pool, print).map(check_least, [wrong]))


def test_any_other_error_is_reported_with_its_place(pool: ProcessPool) -> None:
    with pytest.raises(TasksFailedError, match="ValueError: factorial") as failed:
        pool.submit(math.factorial, -1).result()
    assert "Traceback" in failed.value.report
    assert pool.submit(math.factorial, 3).result() == 6


def test_a_process_that_ends_is_replaced(pool: ProcessPool) -> None:
    with pytest.raises(TasksFailedError, match=r"has ended \(exit code 3\)"):
        pool.submit(os._exit, 3).result()
    with pytest.raises(TasksFailedError, match=r"has ended \(signal 9\)"):
        pool.submit(signal.raise_signal, signal.SIGKILL).result()
    assert [pool.submit(math.factorial, 3).result() for _ in range(4)] == [6] * 4


def test_processes_without_work_are_ended_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    with ProcessPool(1) as own:
        first = own.submit(os.readlink, "/proc/self").result()
        own.rest()
        assert own.submit(os.readlink, "/proc/self").result() == first
        monkeypatch.setattr(limits, "LOCAL_IDLE_S", 0.0)
        own.rest()
        assert not Path("/proc", first).exists()
        assert own.submit(os.readlink, "/proc/self").result() != first


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_to_the_whole_group_are_left_to_the_parent(pool: ProcessPool, number: signal.Signals) -> None:
    assert pool.submit(signal.raise_signal, number).result() is None


def test_what_a_task_prints_does_not_get_between_results(pool: ProcessPool) -> None:
    assert pool.submit(print, "hello").result() is None
    assert pool.submit(math.factorial, 3).result() == 6


def test_processes_end_when_their_parent_is_killed() -> None:
    script = """
import math, os, signal
from spark_sink.process_pool import ProcessPool
pool = ProcessPool(2)
assert [pool.submit(math.factorial, 3).result() for _ in range(4)] == [6] * 4
signal.raise_signal(signal.SIGKILL)
"""
    parent = subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE, timeout=30, check=False)
    # It returns when nobody has the other end of the pipe any more: they inherited it.
    assert parent.returncode == -signal.SIGKILL, parent.stderr.decode()
