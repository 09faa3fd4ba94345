import json
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar, Self

import pytest

from tests.daemon.processes import tinyssb
from tests.shipping.rig import Node
from tinyssb_node.cli.main import main
from tinyssb_node.control.rows import CompanionRow
from tinyssb_node.ids import DEFAULT_NETWORK
from tinyssb_node.shipping.files import (
    ShipperStatus,
    claim_shipping,
    serialize_saved,
    state_path,
    write_saved,
)
from tinyssb_node.shipping.shipment import LogPosition, ShippingState
from tinyssb_node.shipping.wire import SegmentId
from tinyssb_node.store.home import Home


@pytest.fixture
def node(tmp_path: Path) -> Node:
    node = Node(tmp_path / "home", "mqtt:localhost:1883")
    node.grow(1, 0, 5_000_000)
    node.grow(2, 0, 1_000_000)
    return node


def keep(node: Node, acked: LogPosition, **told: object) -> None:
    home = Home(node.root)
    claim_shipping(home).release()
    state = serialize_saved(node.name, ShippingState(acked), ShipperStatus(**told))  # type: ignore[arg-type]  # a test makes it of parts
    write_saved(state_path(home, DEFAULT_NETWORK), state)


def table(node: Node) -> str:
    ended = tinyssb(node.root, "ship", "status")
    assert ended.returncode == 0
    return " ".join(ended.stdout.decode().split())


def test_before_anything_was_shipped(node: Node) -> None:
    told = table(node)
    assert "default 6.0 MB 6.000 MB never not running" in told


def test_why_it_does_not_run(
    node: Node, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "not running: ship.enabled is false" in table(node)
    node.say('enabled = true\nbroker = "mqtt:localhost:1883"')
    assert "not running: The node's daemon is not running. Start it with `tinyssb run`." in table(node)

    class Daemon:
        """One that runs, with these processes beside it."""

        beside: ClassVar[list[CompanionRow]] = []

        def __init__(self, _path: Path) -> None:
            pass

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def status(self) -> SimpleNamespace:
            return SimpleNamespace(companions=self.beside)

    def told() -> str:
        assert main(["--home", str(node.root), "ship", "--json"]) == 0
        problem: str = json.loads(capsys.readouterr().out)["problem"]
        return problem

    monkeypatch.setattr("tinyssb_node.shipping.commands.DaemonClient", Daemon)
    assert told() == "the daemon was started before ship.enabled was set: restart it"
    web = CompanionRow(name="web page", problem="No.", advice="", ends=1, given_up=True)
    for problem, advice, given_up, expected in [
        (None, "", False, "the daemon is starting it"),
        ("Its disk is full.", "Make room.", False, "Its disk is full. Make room."),
        ("It is not installed.", "", True, "It is not installed. Correct that, then restart the daemon."),
    ]:
        one = CompanionRow(name="shipper", problem=problem, advice=advice, ends=1, given_up=given_up)
        monkeypatch.setattr(Daemon, "beside", [web, one])
        assert told() == expected


def test_how_far_it_is_and_what_is_in_the_way(node: Node) -> None:
    keep(
        node,
        LogPosition(SegmentId(2, 0), 400_000),
        connected=True,
        problem="the collector's disk is full",
        acked_us=1_760_000_000_000_000,
    )
    lock = claim_shipping(Home(node.root))
    try:
        assert "6.0 MB 0.600 MB" in table(node)
        assert "the collector's disk is full" in table(node)
        row = json.loads(tinyssb(node.root, "ship", "--json").stdout)
    finally:
        lock.release()
    assert row == {
        "network": "default",
        "log_bytes": 6_000_002,
        "lacking_bytes": 600_001,
        "acked_us": 1_760_000_000_000_000,
        "refused": 0,
        "running": True,
        "connected": True,
        "problem": "the collector's disk is full",
    }
    # What was in the way of a shipper that is no more, is so no more.
    row = json.loads(tinyssb(node.root, "ship", "--json").stdout)
    assert (row["running"], row["connected"], row["problem"]) == (False, False, "")


def test_all_is_there_but_for_what_is_refused(node: Node) -> None:
    keep(node, LogPosition(SegmentId(2, 0), 1_000_001), connected=True, refused=[(1, 0)])
    lock = claim_shipping(Home(node.root))
    told = table(node)
    lock.release()
    assert "6.0 MB nothing" in told
    assert "connected; 1 file refused" in told
