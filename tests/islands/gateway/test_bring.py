"""`bring` of the control protocol, with real daemons: what a gateway fetched goes into the set or onto the shelf."""

from pathlib import Path

import structlog

from tests.daemon.processes import daemon, make_home
from tests.nodes import key_of, packets_of, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.control.rows import BroughtRow, RefusedRow
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.islands.shelves import LazyShelfFile
from tinyssb_node.islands.sqlite_shelf import SqliteShelf
from tinyssb_node.store.home import Home

ANA = key_of("ana").feed_id
FEED = packets_of(written(key_of("ana"), [b"hello", b"a longer one " * 30]))


def test_what_was_brought_is_there_after_a_start_and_is_told_to_whoever_follows(tmp_path: Path) -> None:
    make_home(tmp_path)
    shelf = Home(tmp_path).shelf
    with daemon(tmp_path) as first, first.client() as node:
        assert not shelf.exists()
        assert node.bring(ANA.hex(), FEED[:2]) == BroughtRow(
            shelved=True,
            entries=2,
            chunks=0,
            held=0,
            refused=None,
            dropped=[],
        )
        assert node.bring(ANA.hex(), [bytes(120)]).refused == RefusedRow(
            packet=0,
            reason="nothing the node holds leads to it",
        )
        assert node.goset().count == 1
        assert first.stop()[0] == 0
    with daemon(tmp_path) as second, second.client() as node:
        assert node.bring(ANA.hex(), FEED[2:]).chunks == len(FEED) - 2
        node.follow(ANA.hex())
        assert node.bring(ANA.hex(), FEED).held == len(FEED)
        assert [row.content for row in node.log(ANA.hex())] == [
            b"hello".hex(),
            (b"a longer one " * 30).hex(),
        ]
        assert second.stop()[0] == 0
    kept = SqliteShelf.open_readonly(shelf)
    assert kept.feeds() == []
    kept.close()


def test_without_room_there_is_no_shelf(tmp_path: Path) -> None:
    make_home(tmp_path)
    config = tmp_path / "config.toml"
    config.write_text(config.read_text() + "[set]\nshelf_mib = 0\n")
    with daemon(tmp_path) as running, running.client() as node:
        assert node.bring(ANA.hex(), FEED).refused == RefusedRow(packet=0, reason="no shelf")
        node.follow(ANA.hex())
        assert node.bring(ANA.hex(), FEED).entries == 2


def test_a_shelf_that_cannot_be_read_keeps_nobody_from_starting(tmp_path: Path) -> None:
    path = tmp_path / "shelf" / "store.sqlite"
    path.parent.mkdir()
    path.write_bytes(b"this is no database at all, of no kind" * 100)
    told: list[structlog.typing.EventDict] = []

    def tell(_logger: object, _method: str, line: structlog.typing.EventDict) -> str:
        told.append(line)
        raise structlog.DropEvent

    logger: Logger = structlog.wrap_logger(None, processors=[tell])
    shelf = LazyShelfFile(path, Network(), budget_bytes=1_000_000, logger=logger)
    assert shelf.open(False) is None
    assert shelf.open(True) is None
    assert ["cannot be used" in line["event"] for line in told] == [True]
    shelf.close()
    path.unlink()
    shelf = LazyShelfFile(path, Network(), budget_bytes=1_000_000, logger=logger)
    assert shelf.open(False) is None
    made = shelf.open(True)
    assert made is not None
    made.bring(ANA, FEED)
    again = shelf.open(False)
    assert again is not None
    assert again.feeds == [ANA]
    shelf.close()
