"""The node as a service: files put in their places and taken away, below a folder that stands for a system."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.daemon.processes import tinyssb
from tinyssb_node.cli import systemd
from tinyssb_node.cli.systemd import (
    FileState,
    Service,
    current_program,
    escape,
    run_tool,
)
from tinyssb_node.errors import ExitCode, ProblemError

PROGRAM = Path("/opt/tinyssb/bin/tinyssb")
PLACES = [
    "etc/systemd/system/tinyssb.service",
    "etc/sysusers.d/tinyssb.conf",
    "etc/tmpfiles.d/tinyssb.conf",
    "etc/udev/rules.d/60-tinyssb.rules",
]


class Tools:
    """Stands for systemd's programs, and remembers what they were asked."""

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []
        self.says = ""

    def __call__(self, command: Sequence[str]) -> str:
        self.asked.append(command)
        return self.says


@pytest.fixture
def tools() -> Tools:
    return Tools()


@pytest.fixture
def service(tmp_path: Path, tools: Tools) -> Service:
    return Service(tmp_path, PROGRAM, tools)


def test_it_writes_its_files_and_lets_systemd_make_user_and_folders(service: Service, tools: Tools) -> None:
    assert set(service.files().values()) == {FileState.MISSING}
    assert service.install() == [service.root / place for place in PLACES]
    assert tools.asked == [
        ("systemd-sysusers", f"--root={service.root}", "tinyssb.conf"),
        ("systemd-tmpfiles", f"--root={service.root}", "--create", "tinyssb.conf"),
    ]
    assert f"\nExecStart={PROGRAM} run\n" in (service.root / PLACES[0]).read_text("utf-8")
    assert {(service.root / place).stat().st_mode & 0o777 for place in PLACES} == {0o644}
    assert set(service.files().values()) == {FileState.CURRENT}


def test_only_what_differs_is_written_again(service: Service) -> None:
    service.install()
    (service.root / PLACES[1]).write_text("u somebody -\n")
    (service.root / PLACES[3]).write_bytes(b"\xff")
    assert list(service.files().values()).count(FileState.CHANGED) == 2
    assert service.install() == [service.root / PLACES[1], service.root / PLACES[3]]
    assert service.install() == []


def test_what_was_written_is_taken_away_and_nothing_else(service: Service) -> None:
    service.install()
    settings = service.root / "etc/tinyssb/config.toml"
    settings.parent.mkdir()
    settings.write_text("")
    assert service.uninstall() == [service.root / place for place in PLACES]
    assert [path for path in service.root.rglob("*") if path.is_file()] == [settings]
    assert service.uninstall() == []


def test_a_packages_service_is_left_to_the_package(service: Service) -> None:
    unit = service.root / "usr/lib/systemd/system/tinyssb.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("")
    for change in (service.install, service.uninstall):
        with pytest.raises(ProblemError, match="A package has installed the service already") as caught:
            change()
        assert caught.value.exit_code is ExitCode.CREATE
    assert not (service.root / "etc").exists()
    assert service.files()[unit] is FileState.CHANGED


@pytest.mark.parametrize("program", ["/home/ana/.venv/bin/tinyssb", "/run/user/1000/tinyssb", "/tmp/tinyssb"])
def test_a_program_that_the_service_would_not_find_is_refused(
    tmp_path: Path, tools: Tools, program: str
) -> None:
    with pytest.raises(ProblemError, match="no access to users' own folders") as caught:
        Service(tmp_path, Path(program), tools).install()
    assert caught.value.exit_code is ExitCode.CONFIG
    assert list(tmp_path.iterdir()) == []


def test_a_python_that_the_service_would_not_find_is_refused(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "base_prefix", "/home/ana/.local/share/uv/python")
    monkeypatch.setattr(Service, "_refuse_packaged", lambda _: None)
    with pytest.raises(ProblemError, match="/home/ana") as caught:
        Service(Path("/"), PROGRAM, tools).install()
    assert caught.value.exit_code is ExitCode.CONFIG


def test_a_file_that_cannot_be_written_is_named_with_sudo(service: Service) -> None:
    (service.root / "etc").write_text("in the way")
    with pytest.raises(ProblemError, match="cannot be changed") as caught:
        service.install()
    assert caught.value.exit_code is ExitCode.PERMISSION
    assert "sudo" in caught.value.hint


def test_where_systemd_manages_the_machine_it_is_told(
    service: Service, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Service, "_manages", True)
    monkeypatch.setattr(systemd, "UDEV", service.root)
    service.install()
    service.uninstall()
    reloaded = [("systemctl", "daemon-reload"), ("udevadm", "control", "--reload"), ("udevadm", "trigger")]
    assert tools.asked[2:] == [*reloaded, ("systemctl", "disable", "--now", "tinyssb.service"), *reloaded]
    tools.says = "ActiveState=active\nStatusText=a=b\n"
    assert service.manager() == {"ActiveState": "active", "StatusText": "a=b"}


def test_elsewhere_systemd_is_not_asked(service: Service, tools: Tools) -> None:
    assert service.manager() == {}
    assert tools.asked == []


def test_a_node_that_was_made_is_seen(service: Service) -> None:
    assert not service.has_node
    identity = service.root / "var/lib/tinyssb/identity"
    identity.parent.mkdir(parents=True)
    identity.write_text("")
    assert service.has_node


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/opt/tiny-ssb/bin/tinyssb", "/opt/tiny-ssb/bin/tinyssb"),
        ("/opt/100%/t", "/opt/100%%/t"),
        ('/opt/my "node"/$t', '"/opt/my \\"node\\"/$$t"'),
    ],
)
def test_a_program_anywhere_is_one_word_of_the_unit(path: str, word: str) -> None:
    assert escape(Path(path)) == word


def test_the_program_is_found_as_it_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["sh"])
    assert str(current_program()) == shutil.which("sh")
    monkeypatch.setattr(sys, "argv", ["bin/tinyssb"])
    assert current_program() == Path.cwd() / "bin/tinyssb"


def test_a_tool_is_run_and_what_it_says_is_returned() -> None:
    assert run_tool(("echo", "hello")) == "hello\n"
    with pytest.raises(ProblemError, match=r"`cat /nowhere/at/all` failed: .*No such file") as caught:
        run_tool(("cat", "/nowhere/at/all"))
    assert caught.value.exit_code is ExitCode.UNAVAILABLE
    with pytest.raises(ProblemError, match="exit code 1") as caught:
        run_tool(("false",))
    assert caught.value.exit_code is ExitCode.UNAVAILABLE
    with pytest.raises(ProblemError, match="No such file") as caught:
        run_tool(("there-is-no-such-tool",))
    assert caught.value.exit_code is ExitCode.UNAVAILABLE


def test_the_commands_say_what_they_did_and_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinyssb_node.cli.commands.service.run_tool", lambda _: "")
    root = ("--root", str(tmp_path / "system"))
    ended = tinyssb(tmp_path, "service", "install", *root, "--program", str(PROGRAM))
    said = ended.stdout.decode()
    assert ended.returncode == 0
    assert said.count("Wrote ") == len(PLACES)
    assert f"sudo -u tinyssb {PROGRAM} --home /var/lib/tinyssb init" in said
    home = tmp_path / "system/var/lib/tinyssb"
    home.mkdir(parents=True)
    (home / "identity").write_text("")
    again = tinyssb(tmp_path, "service", "install", *root, "--program", str(PROGRAM)).stdout.decode()
    assert "All files were up to date already." in again
    assert "systemctl restart" in again
    removed = tinyssb(tmp_path, "service", "uninstall", *root).stdout.decode()
    assert "Kept: /var/lib/tinyssb with the node's secret key" in removed
    assert "No service was installed." in tinyssb(tmp_path, "service", "uninstall", *root).stdout.decode()


def test_the_status_tells_files_and_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = ("--root", str(tmp_path))
    bare = tinyssb(tmp_path, "service", "status", *root)
    assert bare.returncode == ExitCode.ATTENTION
    assert b"systemd does not run here" in bare.stdout
    assert b"missing" in bare.stdout
    says = {
        "ActiveState": "active",
        "SubState": "running",
        "UnitFileState": "enabled",
        "StatusText": "3 feeds",
    }
    monkeypatch.setattr(Service, "manager", lambda _: says)
    monkeypatch.setattr(Service, "files", lambda _: {tmp_path / "unit": FileState.CURRENT})
    running = tinyssb(tmp_path, "service", "status", *root)
    assert running.returncode == 0
    for words in (b"active (running)", b"enabled", b"3 feeds", b"as this version has it"):
        assert words in running.stdout
    as_json = tinyssb(tmp_path, "service", "status", "--json", *root).stdout
    assert b'"systemd": {"ActiveState": "active"' in as_json


def test_a_node_made_in_the_services_home_has_the_services_settings(tmp_path: Path) -> None:
    settings, home = tmp_path / "config.toml", tmp_path / "node"
    settings.write_text('name = "roof"\nfaces = []\n')
    home.mkdir()
    (home / "config.toml").symlink_to(settings)
    for given in (("--name", "ana"), ("--face", "ws:listen:127.0.0.1:0")):
        refused = tinyssb(home, "init", *given)
        assert refused.returncode == ExitCode.CREATE
        assert str(settings) in refused.stderr.decode()
    assert not (home / "identity").exists()
    assert b"Created the node 'roof'" in tinyssb(home, "init").stdout
