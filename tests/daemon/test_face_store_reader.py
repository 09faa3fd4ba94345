"""The faces' access to the stores: what they look up, and what they keep there."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.daemon.fakes import KEY, NETWORK, VILLAGE, VILLAGE_NETWORK, Bench, make_bench, make_node
from tests.store.gaps import cut_and_given_again
from tinyssb_node.codec.dmx import dmx_of
from tinyssb_node.daemon.face_store_reader import FaceStoreReader
from tinyssb_node.faces import limits
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId, NetworkName, Origin
from tinyssb_node.store.sqlite import SqliteStore


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = make_bench(tmp_path, {DEFAULT_NETWORK: NETWORK, VILLAGE: VILLAGE_NETWORK})
    yield bench
    bench.close()


def publish(bench: Bench, content: bytes, network: NetworkName) -> bytes:
    appended = bench.runtime.do(lambda node, now_us: node.publish(content, now_us), network)
    place = next(place for place in bench.places if place.name == network)
    entry = place.store.entry(KEY.feed_id, appended.seq)
    assert entry is not None
    return entry.packet


async def test_each_network_has_its_own(bench: Bench) -> None:
    packets = [publish(bench, b"hello", name) for name in (DEFAULT_NETWORK, VILLAGE)]
    libraries = bench.runtime.libraries()
    assert [library.network for library in libraries] == [
        dmx_of(network.prefix).hex() for network in (NETWORK, VILLAGE_NETWORK)
    ]
    assert [library.set for library in libraries] == [
        network.goset_dmx.hex() for network in (NETWORK, VILLAGE_NETWORK)
    ]
    for library, packet, other in zip(libraries, packets, reversed(packets), strict=True):
        assert (library.knows(packet), library.knows(other)) == (True, False)
        assert library.feeds_of(packet) == [KEY.feed_id]
        assert library.feeds_of(other) == []
        appended, through = library.after(0)
        assert [(each.packet, each.origin) for each in appended] == [(packet, Origin.OWN)]
        assert through == library.last_arrival() == 1
        assert library.after(through) == ([], through)


async def test_news_are_told(bench: Bench) -> None:
    told = bench.runtime.appended()
    publish(bench, b"hello", VILLAGE)
    assert told.is_set()
    assert not bench.runtime.appended().is_set()


async def test_feeds_that_are_not_wanted_are_not_followed(bench: Bench) -> None:
    library, feed = bench.runtime.libraries()[0], FeedId(b"f" * 32)
    assert library.follows() == {KEY.feed_id}
    bench.runtime.do(lambda node, now_us: (None, node.follow(feed, now_us)))
    assert library.follows() == {KEY.feed_id, feed}
    bench.runtime.do(lambda node, now_us: (None, node.unfollow(feed, now_us)))
    assert library.follows() == {KEY.feed_id}


async def test_what_is_kept_is_there_after_a_crash_unless_the_disk_is_full(bench: Bench) -> None:
    library = bench.runtime.libraries()[0]
    library.keep("mqtt:arrival", "3")
    bench.store.rollback()
    assert library.recall("mqtt:arrival") == "3"
    assert bench.runtime.libraries()[1].recall("mqtt:arrival") is None
    bench.store.full = True
    library.keep("mqtt:arrival", "4")
    assert library.recall("mqtt:arrival") == "3"
    assert bench.runtime.read_only is not None
    # Nothing is tried while nothing can be written.
    library.keep("mqtt:arrival", "5")
    bench.store.full = False
    library.keep("mqtt:arrival", "6")
    assert library.recall("mqtt:arrival") == "3"


def test_what_came_is_found_behind_numbers_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MQTT_BATCH", 2)
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path)
    node = make_node(store, KEY)
    for _ in range(6):
        node.publish(b"x", 0)
    store.commit(1)
    with closing(cut_and_given_again(store, path, KEY.feed_id, 1)) as store:
        library, seqs, through = FaceStoreReader(NETWORK, store, lambda _: True, lambda *_: None), [], 0
        while through < library.last_arrival():
            appended, through = library.after(through)
            assert appended, "each step finds something"
            seqs += [each.seq for each in appended]
        assert seqs == [1, 2, 3, 4, 5, 6]
