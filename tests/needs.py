"""System packages that some tests need, and the command that installs a missing one."""

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

JAVA_VERSION_MIN = 17
"""Oldest Java that Spark 4 starts on."""
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
"""Names of Chromium's program; `.ci/setup.sh` looks for the same."""

POSTGRES_VERSIONS = "/usr/lib/postgresql"
"""Where Debian keeps PostgreSQL's programs, by version."""

SYSTEM_PROGRAMS = "/usr/sbin"
"""Where Debian keeps mosquitto; this folder is not on every user's PATH."""

MICROPYTHON = "node/node_modules/@micropython/micropython-webassembly-pyscript/micropython.mjs"
"""Where `.ci/setup.sh` puts MicroPython, in the virtual environment."""


PZP_DB = "node/node_modules/pzp-db"
"""Where `.ci/setup.sh` puts the package pzp-db, in the virtual environment."""


def reason(name: str, packages: str) -> str:
    """Return why a test that lacks the program *name* is skipped, with the command that installs it."""
    return f"needs {name}: sudo apt-get install {packages}"


_REASON = re.compile(r"needs (.+): sudo apt-get install ([a-z0-9.+ -]+)$")

MICROPYTHON_REASON = reason("MicroPython for Node.js", "nodejs npm")
"""Why the tests on MicroPython are skipped, under CI too: what they need is large, and they are few."""
PZP_DB_REASON = reason("pzp-db for Node.js", "nodejs npm")
"""Why the tests with pzp-db are skipped, under CI too: npm may not offer it one day. Recordings of it are
tested anywhere."""


def left_out_line(reasons: Iterable[str]) -> str | None:
    """Sum up in one line the tests skipped for want of system packages; None if there are none.

    Each test gives the reason it was skipped. Reasons of another form than `reason` are not counted.
    """
    found = [match for text in reasons if (match := _REASON.search(text))]
    if not found:
        return None
    names = ", ".join(sorted({match[1] for match in found}))
    packages = " ".join(sorted({package for match in found for package in match[2].split()}))
    tests = "1 test was" if len(found) == 1 else f"{len(found)} tests were"
    return f"{tests} left out: this machine lacks {names}. To install, type: sudo apt-get install {packages}"


@functools.cache
def java_version() -> int:
    """Return the major version of the Java that Spark would start; 0 if there is none."""
    home = os.environ.get("JAVA_HOME")
    command = shutil.which(f"{home}/bin/java" if home else "java")
    if command is None:
        return 0
    answer = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', answer)
    return int(version[1]) if version else 0


def chromium() -> str | None:
    """Return the path of the browser that tests web pages; None if there is none."""
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def postgres(name: str) -> str | None:
    """Return the path of one of PostgreSQL's programs; None if there is none. Debian keeps them off PATH."""
    newest = max(Path(POSTGRES_VERSIONS).glob(f"*/bin/{name}"), default=None)
    return shutil.which(name) or (str(newest) if newest else None)


def mosquitto(name: str) -> str | None:
    """Return the path of one of mosquitto's programs; None if there is none."""
    return shutil.which(name) or shutil.which(f"{SYSTEM_PROGRAMS}/{name}")


def micropython() -> Path | None:
    """Return the path of MicroPython for Node.js; None if it or Node.js is missing."""
    module = Path(sys.prefix, MICROPYTHON)
    return module if module.is_file() and shutil.which("node") else None


def pzp_db() -> Path | None:
    """Return the folder of modules with the package pzp-db; None if it or Node.js is missing."""
    package = Path(sys.prefix, PZP_DB)
    return package.parent if package.is_dir() and shutil.which("node") else None


def missing(marker: str) -> str | None:
    """Return why tests under *marker* cannot run here; None if nothing is missing."""
    if marker == "spark" and java_version() < JAVA_VERSION_MIN:
        return reason(f"Java {JAVA_VERSION_MIN} or newer", "default-jre-headless")
    if marker == "dbus" and shutil.which("dbus-daemon") is None:
        return reason("dbus-daemon", "dbus")
    if marker == "postgres" and postgres("initdb") is None:
        return reason("PostgreSQL", "postgresql")
    if marker == "mosquitto" and mosquitto("mosquitto") is None:
        return reason("mosquitto", "mosquitto")
    if marker == "codec2" and (shutil.which("c2dec") is None or shutil.which("c2enc") is None):
        return reason("Codec 2", "codec2")
    if marker == "gcc" and shutil.which("gcc") is None:
        return reason("gcc", "gcc libc6-dev")
    if marker == "browser" and chromium() is None:
        return reason("Chromium", "chromium")
    return None
