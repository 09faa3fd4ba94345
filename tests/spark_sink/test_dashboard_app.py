"""The page's server, asked over real sockets."""

import http.client
import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest

from spark_sink import cli
from spark_sink.dashboard import app, limits
from tests.spark_sink.dashboard_server import serving
from tests.spark_sink.serving_data import T0_US, Mesh, partition


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mesh.sqlite"


@pytest.fixture
def address(path: Path) -> Iterator[str]:
    partition(path)
    with serving(path) as address:
        yield address


class Events:
    """A listening page: reads server-sent events off a socket."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self.connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
        self.connection.request("GET", "/api/events")
        self.response = self.connection.getresponse()

    def next(self, kind: str) -> dict[str, object]:
        """Data of the next event of this kind."""
        name = ""
        for raw in self.response:
            line = raw.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: ") and name == kind:
                found: dict[str, object] = json.loads(line.removeprefix("data: "))
                return found
        raise AssertionError(f"the stream ended before a {kind} came")

    def close(self) -> None:
        """Leave."""
        self.response.close()
        self.connection.close()


def get(address: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers (lower case) and body, whatever the status."""
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return (
                answer.status,
                {name.lower(): value for name, value in answer.headers.items()},
                answer.read(),
            )
    except HTTPError as error:
        with error:
            return error.code, {name.lower(): value for name, value in error.headers.items()}, error.read()


def test_the_page_and_all_it_names_are_served_from_here(address: str) -> None:
    status, headers, body = get(f"{address}/")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    names = re.findall(r'(?:src|href)="([^"#]+)"', body.decode())
    assert "/static/app.js" in names
    for name in names:
        assert name.startswith("/")
        assert get(address + name)[0] == 200, name


def test_every_answer_carries_a_strict_policy(address: str) -> None:
    for name in ("/", "/api/snapshot", "/static/app.js", "/healthz", "/nothing-here"):
        headers = get(address + name)[1]
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_files_name_no_other_place() -> None:
    for file in app.STATIC.iterdir():
        places = set(re.findall(r"https?://[^\s\"')]+", file.read_text()))
        assert places <= {"http://www.w3.org/2000/svg"}, file.name


def test_snapshot_is_json_of_the_database(address: str) -> None:
    status, headers, body = get(f"{address}/api/snapshot")
    assert (status, headers["content-type"]) == (200, "application/json")
    found = json.loads(body)
    assert (found["v"], found["state"]) == (limits.SNAPSHOT_VERSION, "ready")
    assert [node["label"] for node in found["nodes"]] == ["ana", "ben", "chloé", "dora", "emil"]
    assert sum(map(sum, found["behind"])) == found["totals"]["behind"]


def test_health_tells_a_missing_database_from_a_ready_one(path: Path) -> None:
    with serving(path) as address:
        status, _headers, body = get(f"{address}/healthz")
        assert (status, json.loads(body)["database"]) == (503, "missing")
        assert str(path) in json.loads(body)["message"]
        partition(path)
        status, _headers, body = get(f"{address}/healthz")
        assert (status, json.loads(body)) == (200, {"database": "ready", "message": ""})


def test_a_change_is_sent_to_everybody_who_listens(path: Path, address: str) -> None:
    pages = [Events(address), Events(address)]
    before = [page.next("snapshot")["totals"] for page in pages]
    with Mesh(path) as mesh:
        mesh.node("fay", t_us=T0_US)
    after = [page.next("snapshot")["totals"] for page in pages]
    assert before[0] == before[1]
    assert after[0] == after[1]
    assert isinstance(before[0], dict)
    assert isinstance(after[0], dict)
    assert after[0]["nodes"] == before[0]["nodes"] + 1
    for page in pages:
        page.close()


def test_the_stream_begins_with_the_clock_of_the_server(address: str) -> None:
    page = Events(address)
    assert page.response.getheader("content-type") == "text/event-stream; charset=utf-8"
    assert isinstance(page.next("clock")["now_us"], int)
    page.close()


def test_beyond_the_limit_a_page_is_turned_away_with_a_sentence(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CLIENTS_MAX", 1)
    page = Events(address)
    page.next("snapshot")
    status, headers, body = get(f"{address}/api/events")
    assert (status, headers["retry-after"]) == (503, "10")
    assert b"pages are open already" in body
    page.close()


def test_the_server_ends_while_pages_listen(path: Path) -> None:
    partition(path)
    with serving(path) as address:
        page = Events(address)
        page.next("snapshot")
    assert page.response.read().strip() == b""
    page.close()


def test_a_strange_name_for_this_machine_is_refused(address: str) -> None:
    place = urlsplit(address)
    for name, expected in (
        ("evil.example", 400),
        ("localhost", 200),
        ("127.0.0.1:80", 200),
        ("[::1]:9", 200),
    ):
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
        connection.request("GET", "/api/snapshot", headers={"Host": name})
        with connection.getresponse() as answer:
            assert answer.status == expected, name
        connection.close()


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("pi", False),
    ],
)
def test_only_a_server_for_this_machine_checks_names(host: str, local: bool) -> None:
    assert app.is_local(host) is local
    assert (app.allowed_hosts(host) == ["*"]) is not local


def test_the_address_to_type_is_one_of_this_machine() -> None:
    with app.bind("0.0.0.0", 0) as listener:
        assert app.page_address(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}/"


def test_a_taken_port_is_said_with_what_to_do(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with app.bind("127.0.0.1", 0) as listener:
        port = str(listener.getsockname()[1])
        assert cli.main(["serve", "--db", str(path), "--port", port]) == 69
    told = capsys.readouterr().err
    assert f"127.0.0.1, port {port}: Address already in use" in told
    assert "--port" in told


def test_serve_announces_its_address_and_ends_in_order_at_an_interrupt(path: Path) -> None:
    partition(path)
    command = [sys.executable, "-m", "spark_sink.cli", "serve", "--db", str(path), "--port", "0"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    with running:
        address = running.stdout.readline().split()[-1]
        page = Events(address.rstrip("/"))
        page.next("snapshot")
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=10) == 0
        page.close()
