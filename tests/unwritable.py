"""Folders in which nothing can be written, whoever runs the tests."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534
"""A user whom modes bind: root they do not. The number is that of Linux."""
_MOUNT = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
_PROGRAM = "import sys; from tinyssb_node.cli.main import main; sys.exit(main())"


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that another user can reach: those of pytest are ours alone."""
    with tempfile.TemporaryDirectory(prefix="tinyssb-test-") as made:
        yield Path(made)


@contextlib.contextmanager
def without_rights(folder: Path) -> Iterator[None]:
    """*folder*, and the files in it, may be read and not written."""
    root = os.geteuid() == 0
    paths = [folder, *folder.iterdir()]
    for path in paths:
        path.chmod(0o500 if path.is_dir() else 0o400)
        if root:
            os.chown(path, NOBODY, NOBODY)
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for path in paths:
            path.chmod(0o700 if path.is_dir() else 0o600)


def on_a_read_only_disk(home: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run one command where the disk of *home* is read-only. Skips the test where the system does not let us."""
    unshare = ["unshare", "--mount", *(["--user", "--map-root-user"] if os.geteuid() else [])]
    mounted = [*unshare, "sh", "-c", _MOUNT, "sh", str(home)]
    try:
        subprocess.run([*mounted, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"nothing can be mounted here: {error}")
    command = [*mounted, sys.executable, "-c", _PROGRAM, "--home", str(home), *arguments]
    return subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
