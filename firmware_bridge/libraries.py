"""Optional libraries: the command that installs those of an extra where this program is."""

import os
import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Final

DEBIAN_FOLDER: Final = Path("/opt/tinyssb/lib")
"""Folder of the program and its libraries in the Debian package (docs/decisions/0018-debian-package.md)."""


FOLDERS: Final = {"tinyssb-node": ".", "tinyssb-sink": "./spark_sink"}
"""Folder of each distribution's pyproject.toml, from the top of the source."""


def install_command(extra: str, distribution: str = "tinyssb-node") -> str:
    """Return the command that installs the libraries of an *extra* of a *distribution*; "": those that all need.

    It names the libraries, not the extra: no name on PyPI is needed but theirs, and it works however this program was
    installed."""
    try:
        libraries = _libraries(requires(distribution) or [], extra)
    except PackageNotFoundError:  # source that was copied, not installed
        return f"pip install '{FOLDERS[distribution]}[{extra}]', in the copy of the source"
    folder = Path(__file__).parents[1]
    return command(
        libraries,
        python=sys.executable,
        target=folder if folder == DEBIAN_FOLDER else None,
        has_pip=find_spec("pip") is not None,
        writable=os.access(folder if folder == DEBIAN_FOLDER else sys.prefix, os.W_OK),
    )


def command(libraries: list[str], *, python: str, target: Path | None, has_pip: bool, writable: bool) -> str:
    """Return the command that installs *libraries* for the interpreter *python*: into its environment, or into the
    folder *target*. Where pip is missing, uv made the environment, or it is Debian's interpreter."""
    words = [python, "-m", "pip", "install"]
    if target is not None:
        words += ["--target", str(target)]
    elif not has_pip:
        words = ["uv", "pip", "install", "--python", python]
    line = shlex.join([*words, *libraries])
    if not writable:
        line = f"sudo {line}"
    return f"sudo apt-get install python3-pip && {line}" if target is not None and not has_pip else line


def _libraries(requirements: list[str], extra: str) -> list[str]:
    found = []
    for row in requirements:
        library, _, marker = row.partition(";")
        of = re.search(r"extra == ['\"]([\w-]*)['\"]", marker)
        if (of[1] if of else "") == extra and not library.startswith("tinyssb"):
            found.append(library.strip())
    return found
