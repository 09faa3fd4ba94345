"""`tinyssb-sink` as a process of its own: how long it takes, how much memory, and how it is killed."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

SAMPLE_S: Final = 0.5
"""Between two looks at memory."""
END_S: Final = 30.0
"""The time that a process has to end after it was asked to."""
REPORT_MAX: Final = 20_000
"""Characters shown of what Spark says when it fails."""
READING: Final = "Reading"
"""How the line begins that says that Spark has started."""
ALL_READ: Final = "All logs are read."
"""How the line begins that says that facts are in the database, and derived tables are to come."""


@dataclass(slots=True)
class Memory:
    """The most that was resident, MiB."""

    driver: float = 0.0
    java: float = 0.0
    workers: float = 0.0
    """Spark's Python workers together; what they share counts for each."""


@dataclass(slots=True)
class Cores:
    """Seconds of processor time."""

    driver: float = 0.0
    """Of the Python driver; Java has its own."""
    java: float = 0.0
    workers: float = 0.0
    """Of Spark's Python workers together: the work that executors do."""

    @property
    def whole(self) -> float:
        """All of it."""
        return self.driver + self.java + self.workers

    @property
    def share(self) -> float:
        """Of the work in Python, how much workers do, percent."""
        whole = self.driver + self.workers
        return 100 * self.workers / whole if whole else 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """A backfill that came to its end."""

    seconds: float
    """From start to end of the process."""
    reading_s: float
    """Of that until all was read, Spark's start not counted."""
    deriving_s: float
    """And from then on until the end."""
    memory: Memory
    cores: Cores = field(default_factory=Cores)

    @property
    def start_s(self) -> float:
        """From start of the process until it began to read."""
        return self.seconds - self.working_s

    @property
    def working_s(self) -> float:
        """Without Spark's start."""
        return self.reading_s + self.deriving_s


class SinkFailedError(Exception):
    """The command ended otherwise than it should."""


@dataclass(slots=True)
class Sink:
    """A running command; ends with its ``with``."""

    words: Sequence[str]
    lines: list[tuple[float, str]] = field(default_factory=list)
    """The lines that it printed, each after so many seconds."""
    memory: Memory = field(default_factory=Memory)
    _used_s: dict[int, tuple[str, float]] = field(default_factory=dict)
    """By process what it is, and its processor time so far."""
    _process: "subprocess.Popen[str]" = field(init=False)
    _began: float = field(init=False)
    _news: threading.Condition = field(init=False, default_factory=threading.Condition)
    _threads: list[threading.Thread] = field(init=False, default_factory=list)

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "spark_sink.cli", *self.words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        for work in (self._listen, self._look):
            self._threads.append(threading.Thread(target=work))
            self._threads[-1].start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.kill()
        self._join()

    def _join(self) -> None:
        self._process.wait()
        for thread in self._threads:
            thread.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            with self._news:
                self.lines.append((time.perf_counter() - self._began, text.rstrip()))
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def _look(self) -> None:
        while self._process.poll() is None:
            workers = 0.0
            for pid in self.pids():
                resident, peak, name = _memory(pid)
                kind = "driver" if pid == self._process.pid else "java" if name == "java" else "workers"
                self._used_s[pid] = kind, max(processor_s(pid), self._used_s.get(pid, ("", 0.0))[1])
                if kind == "workers":
                    workers += resident
                else:
                    setattr(self.memory, kind, max(getattr(self.memory, kind), peak))
            self.memory.workers = max(self.memory.workers, workers)
            time.sleep(SAMPLE_S)

    def used_s(self) -> float:
        """Processor time of all its processes so far, as of the last look at them."""
        return sum(used_s for _, used_s in list(self._used_s.values()))

    def pids(self) -> list[int]:
        """The command's processes: they are of one session."""
        return [pid for pid in _pids() if _session(pid) == self._process.pid]

    def wait_for(self, beginning: str, timeout_s: float) -> str:
        """The first line that begins so. Raises SinkFailedError if it does not come."""
        end = time.perf_counter() + timeout_s
        with self._news:
            while True:
                for _, text in self.lines:
                    if text.startswith(beginning):
                        return text
                left = end - time.perf_counter()
                if left <= 0 or self._process.poll() is not None:
                    raise SinkFailedError(self.text())
                self._news.wait(min(left, SAMPLE_S))

    def text(self) -> str:
        """All it printed."""
        return "\n".join(text for _, text in self.lines)

    def _report(self) -> str:
        """Return Spark's report of its end, if there is one: the command names the file."""
        named = re.search(r"report is in (\S+\.failure\.txt)", self.text())
        return Path(named[1]).read_text("utf-8")[:REPORT_MAX] if named else ""

    def said_s(self, beginning: str) -> float | None:
        """After how many seconds a line came that begins so."""
        return next((at for at, text in self.lines if text.startswith(beginning)), None)

    def ended(self, timeout_s: float) -> bool:
        """Wait for the end, so long."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End it as a power cut does, with all that it started."""
        while pids := self.pids():
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            self._process.poll()
            time.sleep(0.01)

    def finish(self) -> Run:
        """Wait for the end of a backfill. Raises SinkFailedError."""
        code = self._process.wait()
        seconds = time.perf_counter() - self._began
        self._join()
        reading, read = self.said_s(READING), self.said_s(ALL_READ)
        if code or reading is None or read is None:
            raise SinkFailedError(f"exit code {code}:\n{self.text()}\n{self._report()}")
        used = {name: sum(s for kind, s in self._used_s.values() if kind == name) for name in Cores.__slots__}
        return Run(seconds, read - reading, seconds - read, self.memory, Cores(**used))


def backfill(logs: Path, database: Path, *more: str) -> Run:
    """Read all logs into a new database, until nothing is left to be derived. Raises SinkFailedError."""
    with Sink(["backfill", str(logs), "--db", str(database), *more]) as sink:
        return sink.finish()


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _session(pid: int) -> int:
    """The session of a process that is alive, 0 if it is not."""
    try:
        state, _, _, session = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[:4]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if state == "Z" else int(session)


def processor_s(pid: int) -> float:
    """The processor time that a process has used, 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> tuple[float, float, str]:
    """(resident, most that ever was, name); MiB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0, 0.0, ""
    found = dict(line.split(":", 1) for line in lines)
    resident, peak = (float(found.get(name, "0").split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return resident, peak, found["Name"].strip()
