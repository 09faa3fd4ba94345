"""Measurements of processes under attack: their memory, and the time that a user waits."""

import os
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


def family_of(pid: int) -> list[int]:
    """A process and its children, in order."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *sorted(int(child) for child in children)]


def cpu_s_of(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def queued_s_of(pid: int) -> float:
    """Seconds in which a process was ready to run and waited for a processor, because other programs had all."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
