"""System packages that some tests need, and the line to type where one is missing."""

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

JAVA_VERSION_MIN = 17
"""Oldest Java that Spark 4 starts on."""
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
"""What Chromium is called where it is installed; `.ci/setup.sh` looks for the same."""

POSTGRES_VERSIONS = "/usr/lib/postgresql"
"""Where Debian keeps PostgreSQL's programs, by version."""

SYSTEM_PROGRAMS = "/usr/sbin"
"""Where Debian keeps mosquitto, which is not on everybody's PATH."""

MICROPYTHON = "node/node_modules/@micropython/micropython-webassembly-pyscript/micropython.mjs"
"""Where `.ci/setup.sh` puts MicroPython, in the virtual environment."""

MICROPYTHON_REASON = (
    "needs MicroPython for Node.js: sudo apt-get install nodejs npm; then bash .ci/setup.sh micropython"
)
"""Why the tests on MicroPython are left out; they are, under CI too, since what they need is large and they are few."""


@functools.cache
def java_version() -> int:
    """Major version of the Java that Spark would start, 0 for none."""
    home = os.environ.get("JAVA_HOME")
    command = shutil.which(f"{home}/bin/java" if home else "java")
    if command is None:
        return 0
    answer = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', answer)
    return int(version[1]) if version else 0


def chromium() -> str | None:
    """Path of the browser the page is tested in, None if there is none."""
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def postgres(name: str) -> str | None:
    """Path of one of PostgreSQL's programs, None if there is none; Debian keeps them off PATH."""
    newest = max(Path(POSTGRES_VERSIONS).glob(f"*/bin/{name}"), default=None)
    return shutil.which(name) or (str(newest) if newest else None)


def mosquitto(name: str) -> str | None:
    """Path of one of mosquitto's programs, None if there is none."""
    return shutil.which(name) or shutil.which(f"{SYSTEM_PROGRAMS}/{name}")


def micropython() -> Path | None:
    """MicroPython for Node.js; None if it is not there, or Node.js is not."""
    module = Path(sys.prefix, MICROPYTHON)
    return module if module.is_file() and shutil.which("node") else None


def missing(marker: str) -> str | None:
    """What the tests under *marker* lack, as the line to type; None if nothing is missing."""
    if marker == "spark" and java_version() < JAVA_VERSION_MIN:
        return f"needs Java {JAVA_VERSION_MIN} or newer: sudo apt-get install openjdk-17-jre-headless"
    if marker == "dbus" and shutil.which("dbus-daemon") is None:
        return "needs dbus-daemon: sudo apt-get install dbus"
    if marker == "postgres" and postgres("initdb") is None:
        return "needs PostgreSQL: sudo apt-get install postgresql"
    if marker == "mosquitto" and mosquitto("mosquitto") is None:
        return "needs mosquitto: sudo apt-get install mosquitto"
    if marker == "gcc" and shutil.which("gcc") is None:
        return "needs gcc: sudo apt-get install gcc libc6-dev"
    if marker == "browser" and chromium() is None:
        return "needs Chromium: sudo apt-get install chromium"
    return None
