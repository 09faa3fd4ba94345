"""The systemd unit fits the program."""

import configparser
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests import needs
from tests.architecture.sources import ROOT
from tinyssb_node import limits
from tinyssb_node.cli.main import build_parser
from tinyssb_node.cli.systemd import FILES
from tinyssb_node.control.access import GROUP
from tinyssb_node.control.client import SERVICE_SOCKET
from tinyssb_node.daemon.config import parse_config
from tinyssb_node.errors import ExitCode
from tinyssb_node.store.home import Home


def unit() -> configparser.ConfigParser:
    """The unit file; a repeated key keeps its last value."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]  # how configparser is told to keep case
    parser.read(ROOT / "hw/systemd/tinyssb.service")
    return parser


def test_it_starts_a_command_there_is() -> None:
    program, *words = unit()["Service"]["ExecStart"].split()
    assert program == "/usr/bin/tinyssb"
    assert build_parser().parse_args(words).run is not None


def test_a_wrong_configuration_is_not_tried_again() -> None:
    service = unit()["Service"]
    assert service["Restart"] == "on-failure"
    assert service["RestartPreventExitStatus"].split() == [str(int(ExitCode.CONFIG))]


def test_its_home_is_the_folder_it_may_write() -> None:
    service = unit()["Service"]
    assert service["Environment"] == f"TINYSSB_HOME=/var/lib/{service['StateDirectory']}"
    assert service["User"] in (ROOT / "hw/systemd/tinyssb.sysusers.conf").read_text("utf-8").split()
    assert unit()["Unit"]["ConditionPathExists"] == f"/var/lib/{service['StateDirectory']}/identity"


def test_it_waits_for_the_daemon_to_say_it_is_ready() -> None:
    assert unit()["Service"]["Type"] == "notify"
    assert int(unit()["Service"]["WatchdogSec"]) > 0


def test_it_may_use_radios_whose_groups_there_are() -> None:
    groups = unit()["Service"]["SupplementaryGroups"].split()
    assert groups == ["spi", "gpio", "dialout", "bluetooth"]
    users = (ROOT / "hw/systemd/tinyssb.sysusers.conf").read_text("utf-8")
    assert re.findall(r"^g (\w+) -$", users, re.MULTILINE) == groups


def test_its_settings_are_where_the_home_leads() -> None:
    lines = (ROOT / "hw/systemd/tinyssb.tmpfiles.conf").read_text("utf-8").splitlines()
    places = {line.split()[1]: line.split()[0] for line in lines if not line.startswith("#")}
    assert places == {
        "/var/lib/tinyssb": "d",
        "/etc/tinyssb": "d",
        "/etc/tinyssb/config.toml": "f",
        "/var/lib/tinyssb/config.toml": "L",
    }


def test_its_group_reaches_the_socket_and_not_the_key() -> None:
    service = unit()["Service"]
    assert (service["StateDirectoryMode"], service["UMask"]) == ("0700", "0077")
    folder = Path("/run", service["RuntimeDirectory"])
    assert (service["RuntimeDirectoryMode"], service["Group"], SERVICE_SOCKET.parent) == (
        "0750",
        GROUP,
        folder,
    )
    made = next(
        line.partition(" - ")[2].replace("\\n", "\n")
        for line in (ROOT / "hw/systemd/tinyssb.tmpfiles.conf").read_text("utf-8").splitlines()
        if line.startswith("f ")
    )
    config = parse_config(Home(Path("/var/lib/tinyssb")), tomllib.loads(made))
    assert (config.control.socket, config.control.group) == (SERVICE_SOCKET, None)


def test_the_web_page_may_run_within_it() -> None:
    """It is a child: another program, on a TCP port that needs no rights."""
    service = unit()["Service"]
    assert {"AF_UNIX", "AF_INET", "AF_INET6"} <= set(service["RestrictAddressFamilies"].split())
    assert not {"NoExecPaths", "TasksMax", "SocketBindDeny", "IPAddressDeny"} & set(service)
    assert "KillMode" not in service  # all of the service's processes end with it
    assert limits.WEB_PORT >= 1_024
    assert int(service["TimeoutStopSec"]) > limits.COMPANION_END_S


def test_a_restart_can_be_told_from_a_power_cut() -> None:
    """The account of airtime asks /proc which boot this is."""
    assert "ProcSubset" not in unit()["Service"]


def test_little_is_exposed() -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip(needs.reason("systemd-analyze", "systemd"))
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", "hw/systemd/tinyssb.service"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    assert "Overall exposure level" in judged.stdout
    assert judged.returncode == 0, judged.stdout[-200:]


def test_the_page_says_where_each_file_goes() -> None:
    page = (ROOT / "docs/reference/service.md").read_text("utf-8")
    assert [place for place in FILES.values() if f"| `/etc/{place}` |" not in page] == []


def test_a_package_brings_what_the_command_would_install() -> None:
    script = (ROOT / "hw/deb/build.sh").read_text("utf-8")
    assert dict(re.findall(r"((?:systemd|udev)/[\w.-]+):([\w./-]+)", script)) == FILES


def test_a_package_for_another_kind_of_processor_is_refused() -> None:
    built = subprocess.run(
        ["bash", "hw/deb/build.sh"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "DEB_ARCH": "riscv64", "DEB_PYTHON": "3.11"},
    )
    assert built.returncode == 64
    assert "not for riscv64" in built.stderr
