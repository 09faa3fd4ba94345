"""Access to the control socket: real sockets, opened as other users where the tests may do that."""

import asyncio
import contextlib
import grp
import os
import shutil
import socket
import stat
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.daemon.controlled import Line, code_of, serving
from tests.daemon.fakes import KEY
from tinyssb_node import limits
from tinyssb_node.control import access as door_module
from tinyssb_node.control.access import GROUP, CallerRank, ControlAccess
from tinyssb_node.errors import ExitCode, ProblemError

GID = 54_321
"""Of a group that this machine need not have."""
STRANGER = 65_534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be somebody else")


class Caller(socket.socket):
    """A socket whose other end is whoever we say."""

    uid, gid = STRANGER, STRANGER
    groups: tuple[int, ...] | None = ()

    def getsockopt(self, _level: int, name: int, _size: int = 0) -> bytes:  # type: ignore[override]  # as much as is used
        if name == socket.SO_PEERCRED:
            return struct.pack("iII", 1, self.uid, self.gid)
        if self.groups is None:
            raise OSError(34, "Numerical result out of range")
        return struct.pack(f"{len(self.groups)}I", *self.groups)


@pytest.fixture
def caller() -> Iterator[Caller]:
    with Caller(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        yield sock


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets there be a group that we are in."""
    known = grp.struct_group((GROUP, "x", GID, []))
    monkeypatch.setattr(grp, "getgrnam", lambda name: {GROUP: known}[name])
    if os.geteuid() != 0:
        monkeypatch.setattr(os, "chown", lambda *_: None)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody can look into, as the service's is for its group."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def make_door(folder: Path, group: str | None = GROUP) -> ControlAccess:
    door = ControlAccess(structlog.wrap_logger(None, processors=[drop]), group=group, keepers_only=["sure"])
    (folder / "c").touch(0o600)
    door.open_to_group(folder / "c")
    return door


def drop(_logger: object, _method: str, _line: object) -> str:
    raise structlog.DropEvent


@contextlib.contextmanager
def somebody_else(*groups: int) -> Iterator[None]:
    """Be a stranger who is in *groups*."""
    held = os.getgroups()
    os.setgroups(groups)
    os.setegid(STRANGER)
    os.seteuid(STRANGER)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(held)


async def call_as(path: Path, *groups: int) -> Line:
    """A connection to *path* of a stranger who is in *groups*."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with somebody_else(*groups):
            sock.connect(str(path))
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return Line(*await asyncio.open_unix_connection(sock=sock, limit=limits.CONTROL_REPLY_MAX))


def test_we_ourselves_keep_it(tmp_path: Path) -> None:
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert make_door(tmp_path, "").admit(one) is CallerRank.KEEPER


@pytest.mark.usefixtures("group")
def test_root_keeps_it_members_come_in_and_strangers_do_not(tmp_path: Path, caller: Caller) -> None:
    door, closed = make_door(tmp_path), make_door(tmp_path, "")
    caller.uid = 0
    assert door.admit(caller) is closed.admit(caller) is CallerRank.KEEPER
    caller.uid, caller.gid = 1_234, GID
    assert door.admit(caller) is CallerRank.MEMBER
    caller.gid, caller.groups = 100, (27, GID)
    assert door.admit(caller) is CallerRank.MEMBER
    with pytest.raises(ProblemError, match="may not use this node") as caught:
        closed.admit(caller)
    assert caught.value.code == "not_allowed"
    caller.groups = (27, 28)
    with pytest.raises(ProblemError, match="user 1234") as caught:
        door.admit(caller)
    assert caught.value.code == "not_allowed"
    assert (door.turned_away, closed.turned_away) == (1, 1)


@pytest.mark.usefixtures("group")
def test_where_the_kernel_does_not_tell_groups_the_users_are_asked_for(
    tmp_path: Path, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = make_door(tmp_path)
    caller.uid, caller.groups = 1_234_567, None
    with pytest.raises(ProblemError, match="may not use this node") as caught:
        door.admit(caller)
    assert caught.value.code == "not_allowed"
    caller.uid = STRANGER
    monkeypatch.setattr(os, "getgrouplist", lambda _name, gid: [gid, GID])
    assert door.admit(caller) is CallerRank.MEMBER


def test_where_the_system_does_not_tell_who_calls_the_files_mode_has_decided(
    tmp_path: Path, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door_module, "_TOLD", False)
    assert make_door(tmp_path, "").admit(caller) is CallerRank.KEEPER


@pytest.mark.usefixtures("group")
def test_the_socket_is_the_groups_only_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c"

    def mode(group: str | None) -> int:
        file.unlink(missing_ok=True)
        make_door(tmp_path, group)
        return stat.S_IMODE(file.stat().st_mode)

    assert mode(None) == mode(GROUP) == 0o660
    assert mode("") == 0o600
    with pytest.raises(ProblemError, match="'nobodies': there is none") as caught:
        mode("nobodies")
    assert caught.value.exit_code is ExitCode.CONFIG

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    assert mode(None) == 0o600
    with pytest.raises(ProblemError, match="Operation not permitted") as caught:
        mode(GROUP)
    assert caught.value.exit_code is ExitCode.CONFIG
    monkeypatch.setattr(grp, "getgrnam", {}.__getitem__)
    assert mode(None) == 0o600


@as_root
@pytest.mark.usefixtures("group")
async def test_a_member_reads_and_writes_but_cannot_be_sure_for_the_keeper(place: Path) -> None:
    async with serving(place, group=None) as (_, connect), connect() as keeper:
        line = await call_as(place / "c", GID)
        assert (await line.ask("publish", content="aa"))[0]["result"]["feed"] == KEY.feed_id.hex()
        assert code_of((await line.ask("sure"))[0]) == "not_allowed"
        assert "result" in (await line.ask("status"))[0]
        assert "result" in (await keeper.ask("sure"))[0]
        line.writer.close()


@as_root
@pytest.mark.usefixtures("group")
async def test_others_are_turned_away_by_the_file_and_by_the_daemon_and_are_counted(place: Path) -> None:
    async with serving(place, group=None) as (bench, connect), connect() as keeper:
        with pytest.raises(PermissionError):
            await call_as(place / "c")
        # Were the file's mode changed by mistake, the kernel's word still counts.
        (place / "c").chmod(0o666)
        for _ in range(3):
            line = await call_as(place / "c")
            reply = await line.reply()
            assert (code_of(reply), reply["id"]) == ("not_allowed", None)
            assert await line.reader.read() == b""
            line.writer.close()
        assert (await keeper.ask("status"))[0]["result"]["turned_away"] == 3
        said = [line for line in bench.lines if "turned away" in line["event"]]
        assert [line["reason"] for line in said] == [
            f"user {STRANGER} is neither the node's user nor in its group"
        ]


@as_root
@pytest.mark.usefixtures("group")
async def test_members_cannot_lock_the_keeper_out(place: Path) -> None:
    async with serving(place, group=None) as (_, connect):
        lines = [
            await call_as(place / "c", GID) for _ in range(limits.CONTROL_CLIENTS_MAX - limits.CONTROL_KEPT)
        ]
        for line in lines:
            await line.ask("status")
        late = await call_as(place / "c", GID)
        assert code_of(await late.reply()) == "busy"
        async with connect() as keeper:
            assert (await keeper.ask("status"))[0]["result"]["turned_away"] == 1
        for line in [*lines, late]:
            line.writer.close()
