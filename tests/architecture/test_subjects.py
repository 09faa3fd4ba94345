"""A node runs without the folders of its optional subjects, and knows nothing of their commands then."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import PACKAGES, ROOT, files, pyproject
from tinyssb_node.daemon.subjects import SUBJECTS, Subject
from tinyssb_node.errors import ExitCode

FOLDERS = [subject.folder for subject in SUBJECTS]
RUN = """
import sys
from tinyssb_node.cli.main import main
sys.exit(main())
"""
DAEMON = """
import subprocess, sys, time
from pathlib import Path
from tinyssb_node.control.client import DaemonClient, DaemonUnreachableError
home = sys.argv[1]
daemon = subprocess.Popen([sys.executable, "-c", sys.argv[2], "--home", home, "run"])
try:
    for _ in range(600):
        try:
            with DaemonClient.at_home(home) as node:
                print(node.publish(b"without them"))
                break
        except DaemonUnreachableError:
            assert daemon.poll() is None, "the daemon has ended"
            time.sleep(0.1)
    else:
        raise SystemExit("the daemon does not answer")
finally:
    daemon.terminate()
    daemon.wait(30)
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages without the optional folders."""
    root = tmp_path_factory.mktemp("bare")
    for path in files():
        parts = path.relative_to(ROOT).parts
        left_out = parts[0] == "tinyssb_node" and parts[1] in FOLDERS
        if parts[0] in PACKAGES and not left_out:
            target = root.joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return root


def python(bare: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        cwd=bare,
        env={"PYTHONPATH": str(bare), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_node_is_made_and_publishes_without_the_optional_subjects(bare: Path, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    made = python(bare, RUN, "--home", home, "init", "--face", "udp:239.5.5.8:1558")
    assert made.returncode == 0, made.stderr
    ran = python(bare, DAEMON, home, RUN)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "seq=1," in ran.stdout


@pytest.mark.parametrize("subject", SUBJECTS, ids=FOLDERS)
def test_absent_subjects_have_neither_commands_nor_settings(
    bare: Path, tmp_path: Path, subject: Subject
) -> None:
    commands = {name for names in subject.commands.values() for name in names}
    shown = python(bare, RUN, "--help").stdout
    assert "publish" in shown
    assert not commands & {line.split()[0] for line in shown.splitlines() if line.startswith("    ")}
    home = str(tmp_path / "home")
    assert python(bare, RUN, "--home", home, "init", "--face", "udp:239.5.5.8:1558").returncode == 0
    with Path(home, "config.toml").open("a") as config:
        config.write(f"[{subject.table}]\nenabled = true\n")
    refused = python(bare, RUN, "--home", home, "run")
    assert refused.returncode == ExitCode.CONFIG
    assert "which is not installed" in refused.stderr


def test_the_extras_are_in_pyproject() -> None:
    extras = pyproject()["project"]["optional-dependencies"]
    assert {subject.extra for subject in SUBJECTS if subject.extra} <= set(extras)
