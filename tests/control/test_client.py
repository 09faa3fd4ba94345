"""The Python client, against a daemon that says what a test wants."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon.processes import daemon, make_home
from tests.docs import pages
from tinyssb_node import limits
from tinyssb_node.control.client import DaemonClient, DaemonError, DaemonUnreachableError
from tinyssb_node.errors import (
    BadRequestError,
    ConfigError,
    ContentTooLongError,
    ExitCode,
    ProblemError,
    ProtocolVersionError,
)

ENTRY: dict[str, object] = {
    "feed": "ab" * 32,
    "seq": 1,
    "id": "cd" * 20,
    "type": 0,
    "size": 1,
    "chunks": 0,
    "chunks_held": 0,
    "origin": "own",
    "face": None,
    "arrival": 1,
    "committed_us": 1,
    "content": "00",
}


@contextmanager
def answering(folder: Path, *lines: bytes) -> Iterator[tuple[DaemonClient, list[dict[str, object]]]]:
    """A client whose every request is answered by *lines*; and the requests."""
    asked: list[dict[str, object]] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "s"))
        server.listen()

        def serve() -> None:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as requests:
                for line in requests:
                    asked.append(json.loads(line))
                    connection.sendall(b"".join(lines))
                    if not lines:
                        return

        thread = threading.Thread(target=serve)
        thread.start()
        with DaemonClient(folder / "s", timeout_s=5) as client:
            yield client, asked
        thread.join(5)


def reply(**fields: object) -> bytes:
    return json.dumps({"v": 1, "id": 1, **fields}).encode() + b"\n"


def test_items_come_before_the_result(tmp_path: Path) -> None:
    with answering(
        tmp_path, reply(item={**ENTRY, "seq": 1}), reply(item={**ENTRY, "seq": 2}), reply(result={"count": 2})
    ) as (
        client,
        asked,
    ):
        listing = client.log("me", last=2)
        assert [row.seq for row in listing] == [1, 2]
        assert listing.result.count == 2
        assert asked == [{"v": 1, "id": 1, "command": "log", "arguments": {"feed": "me", "last": 2}}]


def test_an_error_is_raised_with_what_to_do(tmp_path: Path) -> None:
    error = {"code": "unknown_feed", "message": "No.", "hint": "Look."}
    with answering(tmp_path, reply(error=error)) as (client, _):
        with pytest.raises(DaemonError, match=r"No\.") as caught:
            client.show("ff", 1)
        assert (caught.value.code, caught.value.hint) == ("unknown_feed", "Look.")
        assert caught.value.exit_code == ExitCode.MISSING


def test_too_much_content_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    with answering(tmp_path) as (client, asked):
        with pytest.raises(ContentTooLongError, match="65536"):
            client.publish(bytes(limits.CONTENT_PUBLISH_MAX + 1))
        assert asked == []


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"hello\n", BadRequestError),
        (b'{"v":2,"id":1,"result":{}}\n', ProtocolVersionError),
        (reply(item={}), DaemonError),
    ],
)
def test_a_daemon_that_talks_nonsense_is_an_error(
    tmp_path: Path, line: bytes, error: type[Exception]
) -> None:
    with answering(tmp_path, line) as (client, _), pytest.raises(error):
        client.status()


def test_a_daemon_that_hangs_up_or_is_not_there_is_told(tmp_path: Path) -> None:
    with answering(tmp_path) as (client, _), pytest.raises(DaemonUnreachableError, match="does not answer"):
        client.status()
    with pytest.raises(DaemonUnreachableError, match="not running"):
        DaemonClient(tmp_path / "nobody")


def test_the_socket_is_where_the_settings_say(tmp_path: Path) -> None:
    make_home(tmp_path / "home")
    elsewhere = tmp_path / "s"
    with answering(tmp_path, reply(result={"changed": True})) as (client, _):
        client.sure()
        with pytest.raises(DaemonUnreachableError, match="not running"):
            DaemonClient.at_home(str(tmp_path / "home"))
        with (tmp_path / "home" / "config.toml").open("a") as config:
            config.write(f'[control]\nsocket = "{elsewhere}"\n')
        # The fake takes one connection at a time: that there is one more is all that is asked.
        DaemonClient.at_home(str(tmp_path / "home")).close()
        (tmp_path / "home" / "config.toml").write_text("socket = ")
        with pytest.raises(ConfigError, match="not TOML"):
            DaemonClient.at_home(str(tmp_path / "home"))


def test_who_has_no_node_reaches_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TINYSSB_HOME", raising=False)
    with answering(tmp_path, reply(result={"changed": True})) as (client, _):
        client.sure()
        with pytest.raises(ProblemError, match="There is no node in") as caught:
            DaemonClient.at_home()
        assert caught.value.exit_code is ExitCode.MISSING
        monkeypatch.setattr("tinyssb_node.control.client.SERVICE_SOCKET", tmp_path / "s")
        DaemonClient.at_home().close()
        make_home(tmp_path / ".tinyssb")
        with pytest.raises(DaemonUnreachableError, match="not running"):
            DaemonClient.at_home()
        with pytest.raises(ProblemError, match="There is no node in") as caught:
            DaemonClient.at_home(str(tmp_path / "elsewhere"))
        assert caught.value.exit_code is ExitCode.MISSING


def test_why_a_daemon_hung_up_at_once_is_told(tmp_path: Path) -> None:
    refusal = reply(error={"code": "not_allowed", "message": "Not you.", "hint": "Ask."})
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        with DaemonClient(tmp_path / "s") as client:
            there, _ = listener.accept()
            there.sendall(refusal)
            there.close()
            with pytest.raises(DaemonError, match=r"Not you\."):
                client.status()


def test_the_example_in_the_manual_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = pages.read("docs/howto/python-client.md")
    program = compile(page.partition("```python\n")[2].partition("```")[0], "python-client.md", "exec")
    monkeypatch.setenv("TINYSSB_HOME", str(tmp_path / "home"))
    with pytest.raises(SystemExit, match=r"There is no node in .* Make one with `tinyssb init`"):
        exec(program, {})
    feed = make_home(tmp_path / "home")
    with pytest.raises(SystemExit, match=r"not running\. Start it with `tinyssb run`"):
        exec(program, {})
    with daemon(tmp_path / "home"):
        exec(program, {})
    assert capsys.readouterr().out == f"{feed.hex()} 1\n1 b'21.5'\n"
