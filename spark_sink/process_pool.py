"""Processes of this machine that run functions, each one at a time.

They end with this process, however it ends: they read from a pipe whose other end only it has. `concurrent.futures` has
a pool, too, whose processes wait for ever after their parent was killed.
"""

import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, Self, TypeVar

from spark_sink import limits
from spark_sink.errors import SinkError
from spark_sink.executors import TasksFailedError

Item = TypeVar("Item")
Made = TypeVar("Made")
_AHEAD: Final = 2
"""Items for each process that are made while their results are not asked for yet."""


class _Worker:
    """One process."""

    def __init__(self) -> None:
        self.free_s = 0.0
        """When its last call ended, by `time.monotonic`."""
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "spark_sink.process_pool"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def call(self, function: Callable[[Item], Made], item: Item) -> Made:
        """Return what the function makes. Raises SinkError if it does; TasksFailedError."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            pickle.dump((function, item), self.process.stdin, pickle.HIGHEST_PROTOCOL)
            self.process.stdin.flush()
            failed: Exception | None
            made: Made
            failed, made = pickle.load(self.process.stdout)  # noqa: S301 - made by our own process
        except (OSError, EOFError) as error:
            code = self.process.wait()
            reason = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise TasksFailedError(f"a process that read logs has ended ({reason})") from error
        if failed is None:
            return made
        raise failed

    def end(self) -> None:
        """End it now; it writes nothing that must be whole."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue


class ProcessPool:
    """A few processes; each starts when it is needed first, and again if it ended. Ends with its ``with``."""

    def __init__(self, size: int) -> None:
        self.size: Final = size
        self._threads = ThreadPoolExecutor(size, "process")
        self._workers: list[_Worker] = []
        self._free: deque[_Worker] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.end()
        self._threads.shutdown()

    def submit(self, function: Callable[[Item], Made], item: Item) -> Future[Made]:
        """Run a function, which is named by its module. The result raises SinkError as the function does, and
        TasksFailedError for any other error."""
        return self._threads.submit(self._call, function, item)

    def rest(self) -> None:
        """End processes that had nothing to do for a while: each holds some 100 MB."""
        while self._free:
            worker = self._free.popleft()  # the one that was used longest ago
            if time.monotonic() < worker.free_s + limits.LOCAL_IDLE_S:
                self._free.appendleft(worker)
                return
            self._workers.remove(worker)
            worker.end()

    def _call(self, function: Callable[[Item], Made], item: Item) -> Made:
        try:
            worker = self._free.pop()
        except IndexError:
            worker = _Worker()
            self._workers.append(worker)
        try:
            return worker.call(function, item)
        finally:
            if worker.process.poll() is None:
                worker.free_s = time.monotonic()
                self._free.append(worker)


class ProcessExecutors:
    """Processes of this machine as executors (`executors.Executors`)."""

    def __init__(self, pool: ProcessPool, tell: Callable[[str], None]) -> None:
        self._pool = pool
        self.tell: Final = tell
        self.at_a_time: Final = pool.size

    def map(self, function: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
        """Yield what *function* makes of each item, in order. While some results are used, the next are made.

        Raises TasksFailedError.
        """
        waiting: deque[Future[Made]] = deque()
        try:
            for item in items:
                waiting.append(self._pool.submit(function, item))
                if len(waiting) > _AHEAD * self._pool.size:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except SinkError as error:
            raise TasksFailedError(str(error)) from error


def serve() -> None:
    """Run functions that come on standard input until its other end is gone."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # sent to the whole group: the parent ends us in order
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that is printed gets between answers
    while True:
        try:
            function, item = pickle.load(sys.stdin.buffer)  # noqa: S301 - made by our own parent
        except EOFError:
            return
        pickle.dump(_answer(function, item), answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _answer(function: Callable[[Item], Made], item: Item) -> tuple[Exception | None, Made | None]:
    try:
        return None, function(item)
    except SinkError as error:
        plain = SinkError(str(error))
        plain.exit_code = error.exit_code
        return plain, None
    except Exception as error:  # noqa: BLE001 - whatever it is: the parent reports it
        reason = "".join(traceback.format_exception_only(error)).strip()
        return TasksFailedError(reason, traceback.format_exc()), None


if __name__ == "__main__":
    serve()
