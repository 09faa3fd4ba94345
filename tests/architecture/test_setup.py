"""`.ci/setup.sh` does what it can without asking, and says the line to type for the rest."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import needs
from tests.architecture.sources import ROOT

TOOLS = ("bash", "cat", "cksum", "cp", "dirname", "env", "grep", "mktemp", "rm", "sed", "tail", "tee")
"""What the script takes for granted; everything else on its PATH is a fake."""
APT = """
echo "apt-get $*" >> "$CALLS"
case " $* " in *" install "*) printf '%s' "$INSTALLS" > "$BIN/$INSTALLED"; chmod +x "$BIN/$INSTALLED" ;; esac
"""
OFFER = 'case "$2" in openjdk-21*|chromium) echo "  Candidate: 1.0" ;; *) echo "  Candidate: (none)" ;; esac'
JAVA_21 = "#!/bin/bash\necho 'openjdk version \"21.0.2\" 2024-01-16' >&2\n"
JAVA_11 = "echo 'openjdk version \"11.0.2\" 2019-01-15' >&2"

Fake = Callable[[str, str], None]
SetUp = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Put a program of that name on the script's PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in (*TOOLS, "chmod"):
        found = shutil.which(tool)
        assert found
        (folder / tool).symlink_to(found)

    def make(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/bash\n{script}\n")
        (folder / name).chmod(0o755)

    make("id", "echo 1000")
    return make


@pytest.fixture
def set_up(fake: Fake, tmp_path: Path) -> SetUp:
    """Run the script in a folder of its own with nothing on PATH but fakes and plain tools."""
    (tmp_path / "repo/.ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/setup.sh", tmp_path / "repo/.ci")
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "repo")

    def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        folders = {
            "PATH": str(tmp_path / "bin"),
            "BIN": str(tmp_path / "bin"),
            "CALLS": str(tmp_path / "calls"),
            "TMPDIR": str(tmp_path),
        }
        return subprocess.run(
            [shutil.which("bash") or "bash", ".ci/setup.sh", *words],
            cwd=tmp_path / "repo",
            env=folders | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_a_step_that_is_done_says_nothing(fake: Fake, set_up: SetUp) -> None:
    fake("java", JAVA_21)
    fake("chromium", "")
    fake("dbus-daemon", "")
    run = set_up("java", "chromium", "dbus")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize("java", [None, JAVA_11])
def test_without_rights_it_says_what_to_type_and_goes_on(fake: Fake, set_up: SetUp, java: str | None) -> None:
    if java:
        fake("java", java)
    run = set_up("java", "chromium", "dbus")
    assert run.returncode == 0
    assert "    sudo apt-get install dbus\n" in run.stdout
    assert "    sudo apt-get install openjdk-17-jre-headless\n" in run.stdout
    assert "    sudo apt-get install chromium\n" in run.stdout


@pytest.mark.parametrize("rights", ["root", "sudo"])
def test_with_rights_it_installs_what_the_archive_offers(
    fake: Fake, set_up: SetUp, tmp_path: Path, rights: str
) -> None:
    if rights == "root":
        fake("id", "echo 0")
    else:
        fake("sudo", 'shift; [ "$1" = true ] || exec "$@"')
    fake("apt-get", APT)
    fake("apt-cache", OFFER)
    run = set_up("java", INSTALLED="java", INSTALLS=JAVA_21)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert run.returncode == 0
    assert run.stdout.splitlines() == [
        "· Installing Java, for Spark (asking the package archive first; this can take a few minutes)"
    ]
    assert calls[0].endswith("update")
    assert calls[-1].endswith("install --no-install-recommends openjdk-21-jre-headless")


def test_an_old_java_in_front_of_a_new_one_is_explained(fake: Fake, set_up: SetUp) -> None:
    fake("id", "echo 0")
    fake("apt-get", APT)
    fake("apt-cache", OFFER)
    fake("java", JAVA_11)
    run = set_up("java", INSTALLED="elsewhere", INSTALLS="")
    assert run.returncode == 0
    assert "JAVA_HOME" in run.stdout


def test_an_archive_that_has_nothing_is_no_reason_to_stop(fake: Fake, set_up: SetUp) -> None:
    fake("id", "echo 0")
    fake("apt-get", "echo 'E: no network' >&2; exit 100")
    fake("apt-cache", "")
    run = set_up("chromium")
    assert run.returncode == 0
    assert "    sudo apt-get install chromium\n" in run.stdout


@pytest.mark.parametrize("python", [None, "exit 1"])
def test_without_a_python_it_stops_with_the_line_to_type(
    fake: Fake, set_up: SetUp, python: str | None
) -> None:
    if python:
        fake("python3", python)
    run = set_up("dev")
    assert run.returncode == 1
    assert "sudo apt-get install python3 python3-venv" in run.stderr


def test_a_python_without_venv_is_named_by_its_package(fake: Fake, set_up: SetUp) -> None:
    fake("python3", 'case "$*" in *version_info\\[*) echo 3.13 ;; *ensurepip*) exit 1 ;; esac')
    run = set_up("dev")
    assert run.returncode == 1
    assert "sudo apt-get install python3.13-venv" in run.stderr


def test_a_shim_that_leads_nowhere_is_passed_over(fake: Fake, set_up: SetUp, tmp_path: Path) -> None:
    fake("python3", "echo 'pyenv: python3: command not found' >&2; exit 127")
    # A stand-in for Python 3.12: makes a folder for an environment, and a pip that notes what it was told.
    fake(
        "python3.12",
        'echo "python $*" >> "$CALLS"\n'
        'case "$*" in *version_info\\[*) echo 3.12 ;; "-m venv"*) '
        'mkdir -p .venv/bin && cp "$BIN/python3.12" .venv/bin/python ;; esac',
    )
    (tmp_path / "bin/mkdir").symlink_to(shutil.which("mkdir") or "mkdir")
    first = set_up("dev")
    calls = (tmp_path / "calls").read_text()
    assert first.returncode == 0, first.stderr
    assert "python -m venv --clear .venv\n" in calls
    assert "-e .[dev]\n" in calls

    again = set_up("dev", "demo")
    assert (again.returncode, again.stdout) == (0, ""), "what is done is not done again; dev holds demo"

    with (tmp_path / "repo/pyproject.toml").open("a") as pyproject:
        pyproject.write("# changed\n")
    assert "Installing the Python packages" in set_up("dev").stdout


def test_micropython_is_fetched_once_and_only_where_there_is_npm(
    fake: Fake, set_up: SetUp, tmp_path: Path
) -> None:
    without = set_up("micropython")
    assert without.returncode == 0
    assert "    sudo apt-get install npm\n" in without.stdout
    (tmp_path / "bin/mkdir").symlink_to(shutil.which("mkdir") or "mkdir")
    (tmp_path / "bin/touch").symlink_to(shutil.which("touch") or "touch")
    fake("npm", "exit 1")
    assert "run this again" in set_up("micropython").stdout
    fake("npm", 'folder="$6/node_modules/${7%@*}" && mkdir -p "$folder" && touch "$folder/micropython.mjs"')
    assert "Installing MicroPython" in set_up("micropython").stdout
    assert set_up("micropython").stdout == "", "what is done is not done again"
    assert needs.MICROPYTHON in {
        path.relative_to(tmp_path / "repo/.venv").as_posix()
        for path in (tmp_path / "repo/.venv").rglob("*.mjs")
    }


def test_the_tests_look_for_the_same_browser_and_java_as_the_set_up() -> None:
    script = (ROOT / ".ci/setup.sh").read_text()
    assert f"for name in {' '.join(needs.CHROMIUM_NAMES)}; do" in script
    assert f'"$(java_version)" -ge {needs.JAVA_VERSION_MIN} ]' in script
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_ci_runs_the_linters_and_every_test() -> None:
    assert re.findall(r"^make .*?([a-z-]+)$", (ROOT / ".ci/run").read_text(), re.MULTILINE) == [
        "lint",
        "test",
        "test-slow",
    ]
    chosen = {
        target: re.findall(r'-m "([^"]+)"', _dry_run(target)) for target in ("test", "test-slow", "coverage")
    }
    assert chosen == {
        "test": ["not slow and not realtime", "not slow and realtime"],
        "test-slow": ["slow and not realtime", "slow and realtime"],
        "coverage": ["not realtime", "realtime"],
    }, "each test belongs to exactly one run of `make test` and `make test-slow`"


def _dry_run(target: str) -> str:
    """Return the commands that `make` would run."""
    command = ["make", "--no-print-directory", "-n", target, "ARGS="]
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout
