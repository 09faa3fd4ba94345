"""The machine that figures were measured on: without it they mean nothing."""

import os
import platform
import re
import sqlite3
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SYNC_ROUNDS = 32
"""Writes timed to learn what the disk takes; their median is little moved by a slow one."""
SYNC_BYTES = 4_096
"""Bytes of each: a page of SQLite."""


def _first(pattern: str, path: str) -> str:
    """Return the first text that *pattern* captures in the file at *path*; "" if there is none."""
    try:
        found = re.search(pattern, Path(path).read_text("utf-8"), re.MULTILINE)
    except OSError:
        return ""
    return found[1].strip(" \0") if found else ""


def cpu() -> str:
    """The processor's name, with the board's where there is one."""
    board = _first(r"\A(.*)", "/proc/device-tree/model")
    model = _first(r"^model name\s*: (.*)$", "/proc/cpuinfo") or platform.processor() or platform.machine()
    return f"{board} ({model})" if board else model


def memory() -> str:
    """RAM in GiB."""
    kibibytes = _first(r"^MemTotal:\s*(\d+) kB$", "/proc/meminfo")
    return f"{int(kibibytes) / 2**20:.1f} GiB" if kibibytes else "unknown"


def sync_ms(folder: Path) -> float:
    """Milliseconds that a small durable write takes in *folder*, median."""
    took = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(SYNC_ROUNDS):
            began = time.perf_counter()
            file.write(bytes(SYNC_BYTES))
            file.flush()
            os.fsync(file.fileno())
            took.append((time.perf_counter() - began) * 1_000)
    return statistics.median(took)


def commit() -> str:
    """The commit that is checked out, with a word if there are changes to it."""
    run = subprocess.run(
        ["git", "describe", "--always", "--dirty=, with changes", "--exclude=*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout.strip() or "unknown"


def describe() -> dict[str, str]:
    """Return the facts that a reader needs to compare figures with another machine's, in the order to show them."""
    return {
        "processor": cpu(),
        "cores": str(os.cpu_count()),
        "memory": memory(),
        "durable write of 4 KiB": f"{sync_ms(Path(tempfile.gettempdir())):.2f} ms",
        "load before": f"{os.getloadavg()[0]:.1f}",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Python": platform.python_version(),
        "SQLite": sqlite3.sqlite_version,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": commit(),
    }
