"""Echoes and peers of a UDP face, with the clock as an argument."""

from tinyssb_node.faces.udp_tables import MulticastEchoes, UdpPeers


def test_each_datagram_echoes_once() -> None:
    echoes = MulticastEchoes()
    echoes.sent(b"a", 0.0)
    assert echoes.is_echo(b"a", 0.1)
    assert not echoes.is_echo(b"a", 0.1)  # another daemon of this host sent the same
    assert not echoes.is_echo(b"b", 0.1)


def test_sent_twice_echoes_twice() -> None:
    echoes = MulticastEchoes()
    echoes.sent(b"a", 0.0)
    echoes.sent(b"a", 0.5)
    assert [echoes.is_echo(b"a", 0.6) for _ in range(3)] == [True, True, False]


def test_an_echo_that_never_came_is_forgotten() -> None:
    echoes = MulticastEchoes()
    echoes.sent(b"a", 0.0)
    assert not echoes.is_echo(b"a", 1.1)
    echoes.sent(b"b", 0.0)
    echoes.sent(b"b", 5.0)
    assert [echoes.is_echo(b"b", 5.0) for _ in range(2)] == [True, False]


def test_echoes_are_bounded() -> None:
    echoes = MulticastEchoes()
    for number in range(513):
        echoes.sent(b"%d" % number, 0.0)
    assert not echoes.is_echo(b"0", 0.0)
    assert echoes.is_echo(b"1", 0.0)


def test_the_copy_of_a_datagram_is_known_for_a_moment() -> None:
    peers = UdpPeers()
    assert peers.heard("10.0.0.2", b"a", 0.0)
    assert not peers.heard("10.0.0.2", b"a", 0.3)
    assert peers.heard("10.0.0.3", b"a", 0.3)  # somebody else
    assert peers.heard("10.0.0.2", b"a", 0.5)  # an advert that repeats


def test_peers_get_copies_until_they_fall_silent() -> None:
    peers = UdpPeers()
    peers.heard("10.0.0.2", b"a", 0.0)
    peers.heard("10.0.0.3", b"b", 200.0)
    assert peers.recent(300.0) == ("10.0.0.2", "10.0.0.3")
    assert peers.recent(301.0) == ("10.0.0.3",)
    peers.heard("10.0.0.3", b"c", 400.0)
    assert peers.recent(650.0) == ("10.0.0.3",)
    assert peers.recent(701.0) == ()


def test_a_peer_that_cannot_be_reached_is_forgotten_until_heard_again() -> None:
    peers = UdpPeers()
    peers.heard("10.0.0.2", b"a", 0.0)
    peers.forget("10.0.0.2")
    peers.forget("10.0.0.9")
    assert peers.recent(1.0) == ()
    assert not peers.knows("10.0.0.2")
    peers.heard("10.0.0.2", b"b", 2.0)
    assert peers.knows("10.0.0.2")
    assert peers.recent(2.0) == ("10.0.0.2",)


def test_peers_and_their_datagrams_are_bounded() -> None:
    peers = UdpPeers()
    for number in range(600):
        peers.heard(f"10.0.{number // 200}.{number % 200}", b"a", 0.0)
    assert len(peers.recent(0.0)) == 64
    assert peers.recent(0.0)[-1] == "10.0.2.199"
    assert peers.heard("10.0.0.0", b"a", 0.1)  # forgotten long ago
