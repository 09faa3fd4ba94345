"""Measurements of processes under attack: their memory, and the time that a user waits."""

import statistics
from collections.abc import Sequence
from pathlib import Path


def memory_of(pid: int) -> int:
    """Bytes of memory that a process has (resident set size)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


def p95_ms(took_s: Sequence[float]) -> float:
    """The time in milliseconds that 95 % of *took_s* did not exceed."""
    if len(took_s) < 2:
        return 1_000 * max(took_s, default=0.0)
    return 1_000 * statistics.quantiles(took_s, n=20, method="inclusive")[-1]
