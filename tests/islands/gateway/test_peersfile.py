"""The locator's peers come back from the disk as they were, and nothing in the file stops a start."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tinyssb_node.ids import NetworkName
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.peersfile import KnownPeers, read_peers, write_peers
from tinyssb_node.islands.locator.addresses import Peer, peer_of, port_of

V4, V6 = peer_of("192.0.2.7", 8_789), peer_of("2001:db8::7", 1)
DEFAULT, VILLAGE = NetworkName("default"), NetworkName("village")

nodes = st.one_of(st.binary(min_size=4, max_size=4), st.binary(min_size=16, max_size=16))
peers = st.builds(Peer, nodes, st.integers(1, 65_535).map(port_of))


@given(known=st.dictionaries(
    st.sampled_from([DEFAULT, VILLAGE]),
    st.builds(KnownPeers, *2 * [st.lists(peers, max_size=5).map(tuple)]),
))  # fmt: skip
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back(tmp_path: Path, known: dict[NetworkName, KnownPeers]) -> None:
    path = tmp_path / "locator.json"
    write_peers(path, known, 1)
    assert read_peers(path) == known
    assert [each.name for each in tmp_path.iterdir()] == ["locator.json"]


def test_it_is_written_as_it_is_described(tmp_path: Path) -> None:
    path = tmp_path / "locator.json"
    write_peers(path, {DEFAULT: KnownPeers((V4,), (V6, peer_of("192.0.2.9", 8_789)))}, 1_777_626_000_000_000)
    assert path.read_text() == (
        '{"v":1,"written_us":1777626000000000,"networks":{"default":{"historic":["192.0.2.7:8789"],'
        '"recent":["[2001:db8::7]:1","192.0.2.9:8789"]}}}\n'
    )
    assert path.stat().st_mode & 0o777 == 0o600


def test_no_file_is_no_peers(tmp_path: Path) -> None:
    assert read_peers(tmp_path / "locator.json") == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        '{"v":2,"written_us":1,"networks":{}}',
        '{"v":1,"networks":{}}',
        '{"v":1,"written_us":1,"networks":{"default":{"historic":[1],"recent":[]}}}',
        '{"v":1,"written_us":1,"networks":{"'
        + "x" * limits.PEERS_FILE_MAX
        + '":{"historic":[],"recent":[]}}}',
    ],
)
def test_what_cannot_be_understood_is_no_peers(tmp_path: Path, text: str) -> None:
    path = tmp_path / "locator.json"
    path.write_text(text)
    assert read_peers(path) == {}


def test_what_is_no_address_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "locator.json"
    path.write_text(
        '{"v":1,"written_us":1,"more":0,"networks":{"default":'
        '{"historic":["x:1","192.0.2.7","192.0.2.7:0","192.0.2.7:65536","192.0.2.7:8789"],"recent":["\\ud800"]}}}'
    )
    assert read_peers(path) in ({}, {DEFAULT: KnownPeers((Peer(V4.node, V4.message),))})
