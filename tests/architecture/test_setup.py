"""`.ci/setup.sh` installs what it can without a password, and prints the command to type for the rest."""

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
"""Programs that the script takes for granted; all others on its PATH are fakes."""
APT = """
echo "apt-get $*" >> "$CALLS"
[ "$LC_ALL" = C.UTF-8 ] || exit 1
case " $* " in *" install "*) printf '%s' "$INSTALLS" > "$BIN/$INSTALLED"; chmod +x "$BIN/$INSTALLED" ;; esac
"""
OFFER = 'case "$2" in openjdk-21*|chromium) echo "  Candidate: 1.0" ;; *) echo "  Candidate: (none)" ;; esac'
BUSY_LISTS = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1234 (apt-get)"
BUSY_DPKG = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1234 (unattended-upgr)"
WAITING = "·     another program is installing packages; waiting for at most 300 s"
JAVA_21 = "#!/bin/bash\necho 'openjdk version \"21.0.2\" 2024-01-16' >&2\n"
JAVA_11 = "echo 'openjdk version \"11.0.2\" 2019-01-15' >&2"

Fake = Callable[[str, str], None]
SetUp = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Return a function that puts a fake program on the script's PATH."""
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
    """Return a function that runs the script in its own folder, with only fakes and plain tools on PATH."""
    (tmp_path / "repo/.ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/setup.sh", tmp_path / "repo/.ci")
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "repo")
    (tmp_path / "repo/spark_sink").mkdir()
    shutil.copy(ROOT / "spark_sink/pyproject.toml", tmp_path / "repo/spark_sink")

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
def test_without_rights_it_prints_one_command_for_all_that_is_missing(
    fake: Fake, set_up: SetUp, java: str | None
) -> None:
    if java:
        fake("java", java)
    fake("apt-get", "exit 1")
    run = set_up("java", "chromium", "dbus", "gcc")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines() == [
        "· Java 17 or newer is missing: everything that needs Spark is left out.",
        "· Chromium is missing: the tests of web pages are left out.",
        "· dbus-daemon is missing: the Bluetooth tests are left out.",
        "· gcc is missing: the torture tests are left out.",
        "· To install what is missing, type:",
        "·     sudo apt-get install default-jre-headless chromium dbus gcc libc6-dev",
    ]


def test_a_sudo_that_asks_for_a_password_is_not_used(fake: Fake, set_up: SetUp, tmp_path: Path) -> None:
    fake("sudo", "exit 1")
    fake("apt-get", APT)
    run = set_up("chromium")
    assert run.returncode == 0
    assert "    sudo apt-get install chromium\n" in run.stdout
    assert not (tmp_path / "calls").exists()


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
    assert run.stdout.splitlines() == ["· Installing Java (this can take a few minutes)"]
    assert calls[0].endswith("update")
    assert calls[-1].endswith("install --no-install-recommends openjdk-21-jre-headless")


@pytest.fixture
def as_root(fake: Fake) -> None:
    """Let the script run as root, with an archive that offers Chromium and Java 21."""
    fake("id", "echo 0")
    fake("apt-get", APT)
    fake("apt-cache", OFFER)


@pytest.mark.usefixtures("as_root")
def test_an_apt_cache_that_goes_on_writing_after_the_match_is_no_failure(fake: Fake, set_up: SetUp) -> None:
    fake(
        "apt-cache",
        'echo "  Candidate: 1.0"; for i in {1..20000}; do echo "     500 http://archive/$i" || exit 1; done',
    )
    run = set_up("chromium", INSTALLED="chromium", INSTALLS="")
    assert (run.returncode, run.stdout) == (0, "· Installing Chromium (this can take a few minutes)\n")


@pytest.mark.usefixtures("as_root")
def test_the_package_lists_are_fetched_once(set_up: SetUp, tmp_path: Path) -> None:
    set_up("java", "chromium", INSTALLED="java", INSTALLS=JAVA_21)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split()[-1] for call in calls] == ["update", "openjdk-21-jre-headless", "chromium"]


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize(("command", "busy"), [("update", BUSY_LISTS), ("install", BUSY_DPKG)])
def test_a_lock_of_apt_is_waited_for(
    fake: Fake, set_up: SetUp, tmp_path: Path, command: str, busy: str
) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    fake(
        "apt-get",
        f'case "$*" in *{command}*) [ ! -e {lock} ] || {{ echo "{busy}" >&2; exit 100; }} ;; esac{APT}',
    )
    fake("sleep", f'echo "sleep $1" >> "$CALLS"; rm {lock}')
    run = set_up("chromium", INSTALLED="chromium", INSTALLS="")
    calls = (tmp_path / "calls").read_text().splitlines()
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines() == ["· Installing Chromium (this can take a few minutes)", WAITING]
    assert calls.count("sleep 5") == 1
    assert calls[-1].endswith("install --no-install-recommends chromium")


@pytest.mark.usefixtures("as_root")
def test_a_lock_that_stays_is_waited_for_once_and_explained(
    fake: Fake, set_up: SetUp, tmp_path: Path
) -> None:
    fake("apt-get", f'echo "{BUSY_DPKG}" >&2; exit 100')
    fake("sleep", 'echo "sleep $1" >> "$CALLS"')
    run = set_up("chromium", "java")
    assert run.returncode == 0
    assert run.stdout.count(WAITING) == 1
    assert (tmp_path / "calls").read_text().splitlines() == ["sleep 5"] * 60, "300 s for all steps together"
    assert BUSY_DPKG in run.stderr
    assert "    sudo apt-get install chromium default-jre-headless\n" in run.stdout


@pytest.mark.usefixtures("as_root")
def test_another_failure_of_apt_is_shown_without_waiting(fake: Fake, set_up: SetUp) -> None:
    fake("apt-get", "echo 'E: dpkg was interrupted' >&2; exit 100")
    run = set_up("chromium")
    assert "E: dpkg was interrupted" in run.stderr
    assert WAITING not in run.stdout


@pytest.mark.usefixtures("as_root")
def test_an_old_java_in_front_of_a_new_one_is_explained(fake: Fake, set_up: SetUp) -> None:
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
    assert "E: no network" in run.stderr
    assert "offer no chromium" in run.stderr
    assert "    sudo apt-get install chromium\n" in run.stdout


@pytest.mark.parametrize("python", [None, "exit 1"])
def test_without_a_python_it_fails_with_one_command_for_all_that_is_missing(
    fake: Fake, set_up: SetUp, python: str | None
) -> None:
    if python:
        fake("python3", python)
    run = set_up("dev", "chromium")
    assert run.returncode == 1
    assert "    sudo apt-get install python3 python3-venv chromium\n" in run.stdout


def test_a_python_without_venv_is_named_by_its_package(fake: Fake, set_up: SetUp) -> None:
    fake("python3", 'case "$*" in *version_info\\[*) echo 3.13 ;; *ensurepip*) exit 1 ;; esac')
    run = set_up("dev")
    assert run.returncode == 1
    assert "    sudo apt-get install python3.13-venv\n" in run.stdout


def test_a_pip_that_fails_is_shown_and_logged_whole(fake: Fake, set_up: SetUp, tmp_path: Path) -> None:
    pip = "for i in {1..300}; do echo Collecting $i; echo warning $i >&2; done; exit 1"
    fake(
        "python3",
        f'case "$*" in *version_info\\[*) echo 3.12 ;; "-m pip"*) {pip} ;; '
        '"-m venv"*) mkdir -p .venv/bin && cp "$BIN/python3" .venv/bin/python ;; esac',
    )
    (tmp_path / "bin/mkdir").symlink_to(shutil.which("mkdir") or "mkdir")
    run = set_up("dev")
    assert run.returncode == 1
    assert "pip failed" in run.stderr
    log = (tmp_path / "repo/.venv/setup.log").read_text().splitlines()
    assert sorted(log) == sorted(f"{word} {i}" for word in ("Collecting", "warning") for i in range(1, 301))


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
    assert "-e .[dev] -e ./spark_sink[spark,postgres,mqtt]\n" in calls

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
    fake("npm", "echo 'npm error network' >&2; exit 1")
    failed = set_up("micropython")
    assert "run this again" in failed.stdout
    assert "npm error network" in failed.stderr
    fake("npm", 'folder="$7/node_modules/${8%@*}" && mkdir -p "$folder" && touch "$folder/micropython.mjs"')
    assert "Installing MicroPython" in set_up("micropython").stdout
    assert set_up("micropython").stdout == "", "what is done is not done again"
    assert needs.MICROPYTHON in {
        path.relative_to(tmp_path / "repo/.venv").as_posix()
        for path in (tmp_path / "repo/.venv").rglob("*.mjs")
    }


def test_pzp_db_is_fetched_without_running_its_scripts(fake: Fake, set_up: SetUp, tmp_path: Path) -> None:
    (tmp_path / "bin/mkdir").symlink_to(shutil.which("mkdir") or "mkdir")
    (tmp_path / "bin/touch").symlink_to(shutil.which("touch") or "touch")
    fake(
        "npm",
        'folder="$7/node_modules/${8%@*}" && mkdir -p "$folder/lib" && touch "$folder/lib/index.js" '
        '&& [ "$5" = --ignore-scripts ]',
    )
    assert "Installing pzp-db" in set_up("pzp-db").stdout
    assert set_up("pzp-db").stdout == "", "what is done is not done again"
    assert (tmp_path / "repo/.venv" / needs.PZP_DB / "lib/index.js").exists()


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
        "test": ["not slow and realtime", "not slow and not realtime"],
        "test-slow": ["slow and realtime", "slow and not realtime"],
        "coverage": ["realtime", "not realtime"],
    }, "each test belongs to exactly one run of `make test` and `make test-slow`"


def _dry_run(target: str) -> str:
    """Return the commands that `make` would run."""
    command = ["make", "--no-print-directory", "-n", target, "ARGS="]
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout
