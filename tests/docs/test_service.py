"""The systemd unit fits the program."""

import configparser

from tests.architecture.sources import ROOT
from tinyssb_node.cli.main import build_parser
from tinyssb_node.daemon.problems import Exit


def unit() -> configparser.ConfigParser:
    """The unit file; a repeated key keeps its last value."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]  # how configparser is told to keep case
    parser.read(ROOT / "hw/systemd/tinyssb.service")
    return parser


def test_it_starts_a_command_there_is() -> None:
    program, *words = unit()["Service"]["ExecStart"].split()
    assert program == "/usr/local/bin/tinyssb"
    assert build_parser().parse_args(words).run is not None


def test_a_wrong_configuration_is_not_tried_again() -> None:
    service = unit()["Service"]
    assert service["Restart"] == "on-failure"
    assert service["RestartPreventExitStatus"].split() == [str(int(Exit.CONFIG))]


def test_its_home_is_the_folder_it_may_write() -> None:
    service = unit()["Service"]
    assert service["Environment"] == f"TINYSSB_HOME=/var/lib/{service['StateDirectory']}"
    assert service["User"] in (ROOT / "hw/systemd/tinyssb.sysusers.conf").read_text("utf-8").split()
    assert unit()["Unit"]["ConditionPathExists"] == f"/var/lib/{service['StateDirectory']}/identity"


def test_it_waits_for_the_daemon_to_say_it_is_ready() -> None:
    assert unit()["Service"]["Type"] == "notify"
