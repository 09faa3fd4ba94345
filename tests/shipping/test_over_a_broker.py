"""Real processes and a real broker: whoever is killed, the collector's files are the node's."""

import asyncio
import json
import re
import shutil
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import aiomqtt
import pytest
import structlog

from spark_sink.collect.messages import SegmentId
from spark_sink.log_files import LocalLogFiles
from tests.daemon.processes import daemon, tinyssb
from tests.docs import pages
from tests.mosquitto import running_mosquitto
from tests.shipping.rig import SINK, Node, address, collector, end, landed, spec, until
from tests.spark_sink.shipped import batch
from tinyssb_node.cli.main import main
from tinyssb_node.daemon.config import read_config
from tinyssb_node.ids import NetworkName
from tinyssb_node.shipping.shipper import Shipper
from tinyssb_node.store.home import Home

pytestmark = pytest.mark.mosquitto


def access_list(folder: Path) -> str:
    """The setting for the access list that the page tells people to have."""
    (found,) = re.findall(r"```\n(pattern .*?)```", pages.read("docs/reference/shipping.md"), re.DOTALL)
    file = folder / "tinyssb.acl"
    file.write_text(found)
    return f"acl_file {file}"


def status(node: Node) -> dict[str, object]:
    ended = tinyssb(node.root, "ship", "--json")
    assert ended.returncode == 0, ended.stderr.decode()
    row: dict[str, object] = json.loads(ended.stdout)
    return row


@pytest.mark.slow
def test_whoever_is_killed_the_files_are_equal_in_the_end(tmp_path: Path) -> None:
    folder, logs = tmp_path / "broker", tmp_path / "logs"
    folder.mkdir()
    with running_mosquitto(folder) as broker, ExitStack() as stack:
        where = address(broker)
        node = Node(tmp_path / "home", spec(broker))

        def equal() -> bool:
            return landed(logs, node) == node.log()

        for boot in range(1, 5):
            node.grow(boot, 0, 300_000)
        collecting = stack.enter_context(collector(where, logs))
        shipper = stack.enter_context(node.shipper())
        until(equal, "the first of it")

        # The collector is killed, then the shipper, while there is work.
        node.grow(5, 0, 2_000_000)
        until(lambda: len(landed(logs, node)) == 5, "some of it")
        collecting.send_signal(signal.SIGKILL)
        node.grow(5, 0, 1_000_000)
        shipper.send_signal(signal.SIGKILL)
        node.grow(6, 0, 1_000_000)
        shipper = stack.enter_context(node.shipper())
        collecting = stack.enter_context(collector(where, logs))
        until(equal, "what was under way when both were killed")

        # The broker is away for a while, and comes back as it was.
        broker.stop()
        node.grow(6, 99, 500_000)
        broker.start()
        until(equal, "what came while the broker was away")

        # It is killed while the collector is away, and comes back with nothing of what it had acknowledged.
        assert end(collecting)[0] == 0
        node.grow(7, 0, 900_000)
        until(lambda: _under_way(node) >= 6, "what the broker took")
        broker.kill()
        for file in folder.glob("mosquitto.db*"):
            file.unlink()
        broker.start()
        collecting = stack.enter_context(collector(where, logs))
        until(equal, "what the broker lost")

        # So does the collector.
        assert end(collecting)[0] == 0
        shutil.rmtree(logs)
        node.grow(7, 0, 1_000)
        collecting = stack.enter_context(collector(where, logs))
        until(equal, "what the collector lost")
        until(lambda: status(node)["lacking_bytes"] == 0, "the last acknowledgement")
        assert status(node) | {"acked_us": 0} == {
            "network": "default",
            "log_bytes": sum(map(len, node.log().values())),
            "lacking_bytes": 0,
            "acked_us": 0,
            "refused": 0,
            "running": True,
            "connected": True,
            "problem": "",
        }
        assert asyncio.run(_said(broker.port, node)) == b"online"
        code, said = end(shipper)
        assert code == 0, said
        assert asyncio.run(_said(broker.port, node)) == b"offline"
        code, said = end(collecting)
        assert (code, "bad" in said) == (0, False), said
    assert [segment.size for segment in LocalLogFiles(str(logs)).listing()[node.name]] == [
        len(content) for content in node.log().values()
    ]


async def _said(port: int, node: Node) -> object:
    """Return the status of the node that the broker keeps."""
    async with aiomqtt.Client("127.0.0.1", port) as client:
        await client.subscribe(f"tinyssb-log/open/{node.name}/status", qos=1)
        return (await anext(client.messages)).payload


def _under_way(node: Node) -> int:
    state = node.root / "ship" / "default.json"
    return len(json.loads(state.read_text())["under_way"]) if state.exists() else 0


def test_what_a_broker_throws_away_comes_when_the_collector_does(tmp_path: Path) -> None:
    """While the collector is away it keeps two of twenty batches."""
    logs = tmp_path / "logs"
    with running_mosquitto(tmp_path, settings=["max_queued_messages 2"]) as broker:
        node = Node(tmp_path / "home", spec(broker))
        with collector(address(broker), logs) as collecting:
            assert end(collecting)[0] == 0
        node.grow(1, 0, 20 * 131_072)
        with node.shipper():
            until(lambda: _under_way(node) >= 20, "what the broker took")
            with collector(address(broker), logs):
                until(lambda: landed(logs, node) == node.log(), "what the broker threw away")


def test_two_collectors_at_a_broker_are_told_of(tmp_path: Path) -> None:
    with running_mosquitto(tmp_path) as broker:
        node = Node(tmp_path / "home", spec(broker))
        node.grow(1, 0, 5_000)
        with (
            collector(address(broker), tmp_path / "one"),
            collector(address(broker), tmp_path / "two", "--name", "two"),
            node.shipper() as shipper,
        ):
            until(
                lambda: "two collectors reply" in str(status(node)["problem"]),
                "that there are two",
            )
            for logs in (tmp_path / "one", tmp_path / "two"):
                until(lambda logs=logs: landed(logs, node) == node.log(), "its log")  # type: ignore[misc]  # at once
            assert "the event log is shipped to one of two collectors" in end(shipper)[1]


def test_the_bandwidth_limit_is_for_all_networks_together_and_each_gets_its_share(tmp_path: Path) -> None:
    with running_mosquitto(tmp_path) as broker:
        node = Node(tmp_path / "home", spec(broker))
        node.say(
            f'broker = "{spec(broker)}"\nbytes_per_s = 200_000\n'
            '[networks.inn]\nkey = "77"\n[networks.village]\nkey = "5d0c6e7a"'
        )
        home = Home(node.root)
        for network in ("inn", "village"):
            node.folder = home.of(NetworkName(network)).events / node.name
            node.folder.mkdir(parents=True)
            node.grow(1, 0, 400_000)

        def sizes() -> list[int]:
            return sorted(path.stat().st_size for path in tmp_path.glob("logs/networks/*/*/*.jsonl"))

        shipper = Shipper(home, read_config(home), structlog.wrap_logger(None))
        (pace,) = {log.shipping.pace for log in shipper.logs}
        pace.spend(200_000, 0)
        assert 1_000_000 <= pace.until_us < 1_010_000
        with collector(address(broker), tmp_path / "logs"), node.shipper():
            until(lambda: 400_001 in sizes(), "all of one")
            assert len(sizes()) == 2
            until(lambda: sizes() == [400_001] * 2, "all of the other")


def test_nobody_ships_anothers_log(tmp_path: Path) -> None:
    """With TLS, passwords and the access list that the page gives."""
    logs, secret = tmp_path / "logs", tmp_path / "home" / "ship.password"
    node = Node(tmp_path / "home", "mqtt:localhost:1883")
    mallory = "0123456789abcdef"
    secret.write_text("open sesame\n")
    secret.chmod(0o600)
    users = {node.name: "open sesame", mallory: "mine", "collector": "all"}
    with running_mosquitto(tmp_path, users=users, tls=True, settings=[access_list(tmp_path)]) as broker:
        assert broker.authority is not None
        where = f"mqtts://localhost:{broker.port}"
        authority = broker.authority.certificate
        options = f"tls=on&ca={authority}&user={node.name}&password={secret}"
        node.say(f'broker = "mqtt:localhost:{broker.port}?{options}"\nevery_s = 1')
        (tmp_path / "password").write_text("all\n")
        password = str(tmp_path / "password")
        own = ("--user", "collector", "--password-file", password, "--ca", str(authority))
        node.grow(1, 0, 5_000)
        with collector(where, logs, *own) as collecting, node.shipper():
            until(lambda: landed(logs, node) == node.log(), "its log")
            asyncio.run(_attack(broker.port, authority, mallory, node.name))
            until((logs / mallory).is_dir, "what the other may write")
            assert landed(logs, node) == node.log()
            _, said = end(collecting)
    assert sorted(path.name for path in logs.iterdir() if path.is_dir()) == sorted((mallory, node.name))
    assert re.search(r"\d (other|gap|known|bad)", said) is None, said


async def _attack(port: int, authority: Path, user: str, node: str) -> None:
    """Write into *node*'s log, replace it, answer it as the collector would; then write one's own."""
    tls = aiomqtt.TLSParameters(ca_certs=str(authority))
    async with aiomqtt.Client("localhost", port, username=user, password="mine", tls_params=tls) as client:
        for name, segment in ((node, SegmentId(1, 0)), (node, SegmentId(9, 0)), (user, SegmentId(1, 0))):
            await client.publish(
                f"tinyssb-log/open/{name}/up", batch(b"forged\n", 0, 7, segment=segment), qos=1
            )
        await client.publish(f"tinyssb-log/open/{node}/down", b"whatever", qos=1)


def test_a_broker_that_refuses_is_told_of(tmp_path: Path) -> None:
    with running_mosquitto(tmp_path, users={"collector": "all"}) as broker:
        node = Node(tmp_path / "home", spec(broker))
        command = [*SINK, "collect", address(broker), str(tmp_path / "logs"), "--user", "nobody"]
        collecting = subprocess.run(command, capture_output=True, check=False)
        assert collecting.returncode == 77
        assert b"refused the collector" in collecting.stderr
        with node.shipper():
            until(
                lambda: "it refuses clients without a user name" in str(status(node)["problem"]),
                "that the broker refused",
            )
            again = subprocess_ship(node)
            assert (again[0], "is already shipped by process" in again[1]) == (75, True)
        assert "not running" in tinyssb(node.root, "ship").stdout.decode()


@pytest.mark.parametrize(
    ("mode", "told"), [(None, "password is not there"), (0o644, "Other users of this machine have rights to")]
)
def test_a_password_file_may_be_put_right_while_the_shipper_runs(
    tmp_path: Path, mode: int | None, told: str
) -> None:
    node, secret = Node(tmp_path / "home", "mqtt:localhost:1883"), tmp_path / "password"
    with running_mosquitto(tmp_path, users={node.name: "open sesame"}) as broker:
        node.say(f'broker = "{spec(broker)}?user={node.name}&password={secret}"')
        if mode is not None:
            secret.write_text("open sesame\n")
            secret.chmod(mode)
        with node.shipper() as shipper:
            until(lambda: told in str(status(node)["problem"]), "what is wrong with it")
            secret.touch(mode=0o600)
            secret.chmod(0o600)
            secret.write_text("open sesame\n")
            until(lambda: status(node)["connected"], "that it is looked at again")
            code, said = end(shipper)
    assert (code, "the event log is not shipped" in said) == (0, True), said


def subprocess_ship(node: Node) -> tuple[int, str]:
    """A second shipper."""
    with node.shipper() as process:
        said, _ = process.communicate(timeout=20)
        return process.returncode, said.decode()


def test_a_daemon_ships_what_it_logs(tmp_path: Path) -> None:
    folder, logs = tmp_path / "broker", tmp_path / "logs"
    folder.mkdir()
    with running_mosquitto(folder) as broker:
        node = Node(tmp_path / "home", "mqtt:localhost:1883")
        node.say(
            f'enabled = true\nbroker = "{spec(broker)}"\nevery_s = 1\n[networks.village]\nkey = "5d0c6e7a"'
        )
        with collector(address(broker), logs) as collecting, daemon(node.root) as running:
            assert tinyssb(node.root, "publish", "hello").returncode == 0
            until(lambda: b'"kind":"entry"' in b"".join(landed(logs, node).values()), "the entry's record")
            until(lambda: list(logs.glob(f"networks/*/{node.name}/*.jsonl")), "the log of the other network")
            code, said = running.stop()
            assert (code, "shipping the event log" in said) == (0, True), said
            with node.shipper():
                until(lambda: landed(logs, node) == node.log(), "what it logged at the end")
            assert end(collecting)[0] == 0
        (village,) = logs.glob(f"networks/*/{node.name}/*.jsonl")
        own = json.loads(village.read_bytes().splitlines()[0])
        assert (own["network_name"], own["network"]) == ("village", village.parent.parent.name)


def test_without_the_table_it_says_where_to_look(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = Node(tmp_path / "home", "mqtt:localhost:1883")
    (node.root / "config.toml").write_text("")
    assert main(["--home", str(node.root), "ship"]) == 78
    assert "ship-logs.md" in capsys.readouterr().err
