"""A report of one radio that a volunteer can send: machine, versions, checks with their times. Nothing that says who or
where they are."""

import datetime as dt
import platform
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from firmware_bridge.drivers.probe import Finding
from tinyssb_node import version as own_version

MODEL: Final = Path("/proc/device-tree/model")
"""The file in which Linux names the board of a machine that has no BIOS, such as a Raspberry Pi."""
LIBRARIES: Final = ("spidev", "gpiod", "serialx", "bleak")
"""Libraries that reach radios."""
_IDS: Final = re.compile(r"![0-9a-f]{8}\b|\b(?:[0-9A-F]{2}:){5}[0-9A-F]{2}\b")
"""Numbers of Meshtastic's nodes, and Bluetooth addresses: both name one device in the world."""


@dataclass(frozen=True, slots=True)
class TimedFinding:
    """A finding, and how long its check took."""

    finding: Finding
    took_ms: float


def timed(findings: Iterable[Finding]) -> Iterator[TimedFinding]:
    """Run the checks, and time each."""
    begun_ns = time.monotonic_ns()
    for finding in findings:
        ended_ns = time.monotonic_ns()
        yield TimedFinding(finding, round((ended_ns - begun_ns) / 1e6, 1))
        begun_ns = time.monotonic_ns()


def report_lines(radio: str, secrets: Sequence[str], found: Sequence[TimedFinding]) -> list[str]:
    """Return the report of *radio* as Markdown. *secrets* are replaced: names of ports and files on this machine."""
    rows = [
        ("date", f"{dt.datetime.now(dt.UTC):%Y-%m-%d}"),
        ("radio", radio),
        ("machine", machine_model()),
        ("system", f"{_system()}, Linux {platform.release()}, {platform.machine()}"),
        ("program", f"tinyssb {own_version()}, Python {platform.python_version()}"),
        ("libraries", ", ".join(_libraries()) or "none"),
    ]
    lines = ["| | |", "| --- | --- |", *(f"| {name} | {_cell(value, secrets)} |" for name, value in rows), ""]
    lines += ["| check | result | ms | found |", "| --- | --- | --- | --- |"]
    for one in found:
        well = "ok" if one.finding.ok else "BAD"
        seen = _cell(one.finding.found, secrets)
        lines.append(f"| {one.finding.check} | {well} | {one.took_ms:g} | {seen} |")
    return [*lines, "", "What I did, and what I saw (antenna, other radio, distance between both):", ""]


def machine_model() -> str:
    """Return the machine's name for itself, such as ``Raspberry Pi 4 Model B Rev 1.4``; else its processor."""
    try:
        return MODEL.read_text("utf-8").rstrip("\0").strip() or platform.machine()
    except (OSError, UnicodeDecodeError):
        return platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _libraries() -> Iterator[str]:
    for name in LIBRARIES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            continue


def _cell(text: str, secrets: Sequence[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "(left out)")
    text = _IDS.sub("(left out)", text)
    return re.sub(r"\s+", " ", text).replace("|", "\\|")
