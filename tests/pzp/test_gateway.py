"""Real daemons: messages go over the air to a gateway, and over the internet to another one."""

import json
import socket
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.processes import PATIENCE_S, daemon, make_home, tinyssb
from tests.daemon.test_process_networks import free_udp_port
from tests.pzp.database.memory import MemoryPzpRows
from tests.pzp.database.messages import Author, filled, keep
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.gateway import GatewayReplica
from tinyssb_node.pzp.messages.goals import ALL, NONE


def free_port() -> int:
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def objects(home: Path, *words: str) -> list[dict[str, Any]]:
    ended = tinyssb(home, "pzp", *words, "--json")
    assert ended.returncode == 0, ended.stderr.decode()
    return [json.loads(line) for line in ended.stdout.splitlines()]


def sees(home: Path, text: str) -> None:
    """Wait until a message that says *text* has come to *home*."""
    end_s = time.monotonic() + PATIENCE_S
    while not any(
        row["message"].get("data") == {"text": text}
        for feed in objects(home)
        for row in objects(home, "feed", feed["feed"])
    ):
        assert time.monotonic() < end_s, f"{text} has not come"


def test_a_message_goes_over_the_air_and_from_gateway_to_gateway(tmp_path: Path) -> None:
    face, port = f"udp:239.5.5.8:{free_udp_port()}?interface=lo&ttl=0", free_port()
    phone, hut, town = (tmp_path / name for name in ("phone", "hut", "town"))
    make_home(phone, face)
    make_home(hut, face)
    make_home(town)
    for home, said in ((hut, f'listen = "127.0.0.1:{port}"'), (town, f'peers = ["ws://127.0.0.1:{port}"]')):
        with (home / "config.toml").open("a") as config:
            config.write(f"[pzp]\nenabled = true\n{said}\n")
    with ExitStack() as stack:
        running = [stack.enter_context(daemon(home)) for home in (phone, hut, town)]
        (made,) = objects(phone, "identity", "create")
        assert objects(phone, "publish", "post", '{"text": "first"}')
        (wrote,) = objects(phone, "publish", "post", '{"text": "over the air"}')
        (cost,) = objects(phone, "send", wrote["id"], "--dry-run")
        (sent,) = objects(phone, "send", wrote["id"])
        assert sent["packets"] == cost["packets"] > 0
        assert (cost["entries"], len(sent["entries"])) == ([], 4)
        assert objects(phone, "send", wrote["id"])[0]["sent"] == []
        sees(town, "over the air")
        assert objects(phone, "publish", "post", '{"text": "and again"}', "--air")
        sees(town, "and again")
        assert [row["group"] for row in objects(town, "identity")[1:]] == [made["group"]]
        assert objects(town, "show", wrote["id"])[0]["entries"] == []
        (entry,) = objects(hut, "show", wrote["id"])[0]["entries"]
        assert entry["seq"] == 4
        logs = [one.stop() for one in running]
    assert [code for code, _ in logs] == [0, 0, 0]
    assert "the gateway of PZP is ready" in logs[1][1]
    assert "started a companion process" not in logs[0][1]


@pytest.mark.parametrize(("budget_bytes", "unknown"), [(10**6, ALL), (1_000, NONE)])
def test_a_gateway_that_is_nearly_full_begins_nothing_new(budget_bytes: int, unknown: object) -> None:
    database, author, other = PzpDatabase(MemoryPzpRows()), Author(), Author(nonce="other")
    author.says(3)
    filled(database, author)
    wanting = GatewayReplica(database, keep=ALL, budget_bytes=budget_bytes)
    assert (wanting.goal(author.feed), wanting.goal(other.feed)) == (ALL, unknown)
    keep(database, other.feed, "all")
    assert wanting.goal(other.feed) == ALL
