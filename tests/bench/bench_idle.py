"""Cost of a node with one radio and nothing to do: memory, processor, and how often it wakes the machine."""

import asyncio
import os
import tempfile
from pathlib import Path

from tests.bench.figure import Figure
from tests.daemon.processes import PROGRAM
from tests.emulated.serial_air import Air
from tests.emulated.serial_pty import Plug
from tests.faces.serial_rig import KINDS, spec_text
from tinyssb_node.daemon.setup import create_home
from tinyssb_node.ids import Dialect
from tinyssb_node.store.home import Home

SETTLING_S = 10.0
"""Time for the radio to be set up and for adverts to become rare."""
WATCHED_S = 60.0
MEMORY_MAX_MB = 45
CPU_MAX_PERCENT = 1
WAKES_MAX = 10
KIND = "kiss"


def run() -> list[Figure]:
    """Watch a daemon whose radio is emulated by this process, at a pseudo-terminal."""
    with tempfile.TemporaryDirectory() as folder:
        memory_mb, cpu_percent, wakes = asyncio.run(_watch(Home(Path(folder))))
    return [
        Figure("resident memory", memory_mb, "MB", f"at most {MEMORY_MAX_MB} MB", memory_mb <= MEMORY_MAX_MB),
        Figure(
            "share of one core",
            cpu_percent,
            "%",
            f"at most {CPU_MAX_PERCENT} %",
            cpu_percent <= CPU_MAX_PERCENT,
        ),
        Figure("times it wakes up", wakes, "/s", f"at most {WAKES_MAX} /s", wakes <= WAKES_MAX),
    ]


async def _watch(home: Home) -> tuple[float, float, float]:
    """Resident megabytes, percent of a core, wake-ups a second."""
    plug = Plug(KINDS[KIND][2](Air(), 1))
    create_home(home, "idle", Dialect.SPEC, (spec_text(KIND, str(plug.path)),))
    with (home.root / "log").open("wb") as log:
        daemon = await asyncio.create_subprocess_exec(*PROGRAM, "--home", str(home.root), "run", stderr=log)
    await asyncio.sleep(SETTLING_S)
    assert b"face up" in (home.root / "log").read_bytes()
    cpu_s, wakes = _cpu_s(daemon.pid), _wakes(daemon.pid)
    await asyncio.sleep(WATCHED_S)
    cpu_s, wakes = _cpu_s(daemon.pid) - cpu_s, _wakes(daemon.pid) - wakes
    memory_mb = _status(Path(f"/proc/{daemon.pid}/status"), "VmRSS") * 1_024 / 1e6
    daemon.terminate()
    await daemon.wait()
    plug.pull()
    return memory_mb, 100 * cpu_s / WATCHED_S, wakes / WATCHED_S


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _wakes(pid: int) -> int:
    """Times that any of its threads went to sleep (proc(5)): each is followed by a wake-up."""
    return sum(
        _status(path, "voluntary_ctxt_switches") for path in Path(f"/proc/{pid}/task").glob("*/status")
    )


def _status(path: Path, key: str) -> int:
    lines = path.read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))
