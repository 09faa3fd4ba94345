"""`doctor` finds what keeps a node from working."""

import json
import os
import re
import shutil
import socket
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.daemon.processes import PATIENCE_S, daemon, make_home, tinyssb
from tests.daemon.test_process import free_port
from tests.maps.making import make_pmtiles, tiles_of
from tests.nodes import feed_of
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import Novelty, serialize_novelty
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.control.rows import AirtimeRow
from tinyssb_node.errors import ExitCode
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.screens.checkup import examine, problems
from tinyssb_node.store.home import Home

Usage = namedtuple("Usage", ["total", "used", "free"])  # noqa: PYI024 - what shutil.disk_usage returns

CHECKS = ["home", "identity", "config", "store", "disk", "clock", "daemon"]


def bad(root: Path) -> dict[str, CheckResult]:
    """The checks that found something, but for the daemon, which does not run here."""
    return {
        finding.check: finding
        for finding in examine(Home(root))
        if not finding.ok and finding.check != "daemon"
    }


def test_a_node_that_runs_is_well(tmp_path: Path) -> None:
    make_home(tmp_path / "a", "ws:listen:127.0.0.1:0")
    with daemon(tmp_path / "a"):
        well = tinyssb(tmp_path / "a", "doctor")
        assert well.returncode == 0, well.stdout.decode()
        assert well.stdout.decode().count("ok ") == 7


def test_a_node_that_does_not_run_is_told_how_to(tmp_path: Path) -> None:
    make_home(tmp_path / "a", "ws:listen:127.0.0.1:0")
    ended = tinyssb(tmp_path / "a", "doctor", "--json")
    assert ended.returncode == ExitCode.ATTENTION
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [row["check"] for row in rows if not row["ok"]] == ["daemon"]
    assert "tinyssb run" in rows[-1]["advice"]


def test_a_map_that_cannot_be_used_is_named_and_one_that_can_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "a"
    make_home(root, "ws:listen:127.0.0.1:0")
    assert "map" not in [finding.check for finding in examine(Home(root))]
    with (root / "config.toml").open("a") as config:
        config.write('[web]\nmap = "alps.pmtiles"\n')
    (missing,) = [finding for finding in problems(Home(root)) if finding.check == "map"]
    assert str(root / "alps.pmtiles") in missing.found
    assert "No such file" in missing.found
    assert "docs/howto/web-map.md" in missing.advice
    make_pmtiles(root / "alps.pmtiles", tiles_of(2))
    (found,) = [finding for finding in examine(Home(root)) if finding.check == "map"]
    assert (found.ok, found.found) == (True, f"{root / 'alps.pmtiles'}, zoom 0 to 2")
    monkeypatch.delitem(sys.modules, "tinyssb_node.maps.pmtiles_file")
    monkeypatch.setitem(sys.modules, "pmtiles.tile", None)
    (lacking,) = [finding for finding in examine(Home(root)) if finding.check == "map"]
    assert "library pmtiles" in lacking.found
    assert "install" in lacking.advice


def test_without_a_home_there_is_one_thing_to_say(tmp_path: Path) -> None:
    (finding,) = examine(Home(tmp_path / "nothing"))
    assert not finding.ok
    assert "tinyssb init" in finding.advice


def test_each_fault_is_found_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_home(tmp_path / "a", "ws:listen:127.0.0.1:0")
    root = tmp_path / "a"
    assert bad(root) == {}
    root.chmod(0o777)
    assert "chmod" in bad(root)["home"].advice
    assert [finding.check for finding in examine(Home(root))] == CHECKS
    root.chmod(0o700)
    (root / "identity").chmod(0o644)
    assert "chmod 600" in bad(root)["identity"].found
    (root / "identity").chmod(0o600)
    (root / "config.toml").write_text("faces = []")
    assert "has no links" in bad(root)["config"].found
    (root / "config.toml").write_text("faces = [7]")
    assert "faces = [7]" in bad(root)["config"].found
    (root / "config.toml").write_text('faces = ["ws:listen:127.0.0.1:0"]')
    (root / "store.sqlite").write_bytes(b"not a store at all, whatever it says" * 100)
    assert "store" in bad(root)
    (root / "store.sqlite").unlink()
    os.utime(root / "identity", (2**32, 2**32))
    assert "before this node was created" in bad(root)["clock"].found
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(10, 9, 1))
    assert "Free disk space" in bad(root)["disk"].advice


def test_a_config_that_is_not_toml_is_one_fault(tmp_path: Path) -> None:
    make_home(tmp_path / "a", "ws:listen:127.0.0.1:0")
    (tmp_path / "a" / "config.toml").write_text("faces = [")
    assert list(bad(tmp_path / "a")) == ["config"]


def test_a_face_that_is_not_open_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        make_home(tmp_path / "a", f"ws:listen:127.0.0.1:{taken.getsockname()[1]}")
        with daemon(tmp_path / "a"):
            until_s = time.monotonic() + PATIENCE_S
            # The daemon answers before it has tried to open its faces.
            while not (findings := [finding for finding in examine(Home(tmp_path / "a")) if not finding.ok]):
                assert time.monotonic() < until_s
    assert ["is not open" in finding.found for finding in findings] == [True]


def test_a_process_beside_the_daemon_that_keeps_ending_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        make_home(tmp_path / "a", f"ws:listen:127.0.0.1:{port}")
        with (tmp_path / "a" / "config.toml").open("a") as config:
            config.write(f'\n[gateway]\nenabled = true\nlisten = "127.0.0.1:{port}"\n')
        with daemon(tmp_path / "a") as running:
            assert running.process.stderr is not None
            assert any(b"a companion process ended" in line for line in running.process.stderr)
            face, finding = [finding for finding in examine(Home(tmp_path / "a")) if not finding.ok]
            told = tinyssb(tmp_path / "a", "status").stdout.decode()
    assert "is not open" in face.found, "one fault hides no other"
    assert finding.found.startswith("the gateway to other islands has ended")
    assert f": The gateway cannot listen at 127.0.0.1, port {port}" in finding.found
    assert "`gateway.listen` in config.toml" in finding.advice
    assert "is started again" in finding.advice
    assert "gateway to other islands:" in told
    assert "It is started again." in told


def test_a_limit_that_keeps_feeds_out_is_named_with_what_to_do(tmp_path: Path) -> None:
    port = free_port()
    make_home(tmp_path / "a", f"ws:listen:127.0.0.1:{port}")
    with daemon(tmp_path / "a"):
        until_s = time.monotonic() + PATIENCE_S
        while not re.search(rb"face ws:listen\S+ +open", told := tinyssb(tmp_path / "a", "status").stdout):
            assert time.monotonic() < until_s, told.decode()
        with connect(f"ws://127.0.0.1:{port}") as peer:
            for number in range(100):
                peer.send(serialize_novelty(Network().goset_dmx, Novelty(feed_of(number))))
            while b"ids of strangers" not in (told := tinyssb(tmp_path / "a", "status").stdout):
                assert time.monotonic() < until_s, told.decode()
            examined = tinyssb(tmp_path / "a", "doctor", "--json")
    assert examined.returncode == ExitCode.ATTENTION
    rows = [json.loads(line) for line in examined.stdout.splitlines()]
    found = {row["check"]: row for row in rows if not row["ok"]}
    assert "with so many the phone app ends" in found["phones"]["found"]
    assert "`set.places`" in found["phones"]["advice"]
    limit = found["limits"]
    assert "too many feeds of the set have no entry yet" in limit["found"]
    assert "set.ids_per_hour" in limit["advice"]


def account(band: str, wait_us: int | None) -> AirtimeRow:
    return AirtimeRow(
        band=band, faces=[], limit_us=36_000_000, window_us=3_600_000_000, used_us=36_000_000, left_us=0,
        advert_left_us=0, content_left_us=0, full_us=205_056, wait_us=wait_us,
    )  # fmt: skip


def test_airtime_that_is_used_up_for_a_minute_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_home(tmp_path / "a", "ws:listen:127.0.0.1:0")
    accounts = [account("g1", 59_000_000), account("g3", 754_000_000), account("g4", None)]
    with daemon(tmp_path / "a"):
        assert problems(Home(tmp_path / "a")) == []
        monkeypatch.setattr(DaemonClient, "airtime", lambda _client: accounts)
        (found,) = problems(Home(tmp_path / "a"))
    assert (found.check, found.about) == ("airtime", "g3")
    assert "used up; the next message is sent in 12 min 34 s" in found.found


def test_problems_have_a_name_that_stays(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        spec = f"ws:listen:127.0.0.1:{taken.getsockname()[1]}"
        make_home(tmp_path / "a", spec)
        with daemon(tmp_path / "a"):
            until_s = time.monotonic() + PATIENCE_S
            while not (found := problems(Home(tmp_path / "a"))):
                assert time.monotonic() < until_s
    assert [(one.check, one.about) for one in found] == [("daemon", f"face {spec}")]
