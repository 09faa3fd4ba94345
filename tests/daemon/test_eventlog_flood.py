"""How fast a stranger makes the log grow who brings nothing new."""

import random

import pytest

from tests.daemon.logshell import SECOND, WALL_US, Shell
from tests.nodes import key_of, radio_profile, written
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, want_dmx
from tinyssb_node.codec.events import Send
from tinyssb_node.codec.packets import (
    Ask,
    Claim,
    Novelty,
    Want,
    serialize_ask,
    serialize_claim,
    serialize_novelty,
    serialize_want,
)
from tinyssb_node.ids import FaceName, FeedId
from tinyssb_node.scheduling.link import WIRED, Reception, stream_profile

ANA = key_of("ana")
ENTRY = written(ANA, [b"news"])[0].packet
NETWORK = Network()
PER_S = 100


def stranger_packet(number, state):
    """A packet that brings no entry, of another kind each time."""
    feed = FeedId(random.Random(number).randbytes(32))
    dmx = NETWORK.goset_dmx
    match number % 8:
        case 0 | 1:
            return ENTRY
        case 2 | 3:
            # The longest record: as many digits as fit.
            seqs = tuple(1_000_000_000 + number + more for more in range(17))
            return serialize_want(want_dmx(NETWORK, state), Want(offset=0, seqs=seqs))
        case 4:
            return serialize_claim(dmx, Claim(low=feed, high=feed, xor=feed, count=200))
        case 5:
            return serialize_novelty(dmx, Novelty(feed=feed))
        case 6:
            return serialize_ask(dmx, Ask(salt=feed[:4], shorts=(number,)))
        case _:
            return b"nothing %d" % number


def bytes_an_hour(tmp_path, profile, reception, faces_per_s):
    """Return how fast the log grows under a flood, once the bursts are used up."""
    shell = Shell(tmp_path).start()

    def perform(effects):
        shell.store.commit(WALL_US + shell.mono_us)
        for effect in effects:
            if isinstance(effect, Send):
                perform(shell.node.sent(effect.face, 1, shell.mono_us))
            else:
                shell.append(effect)

    perform(shell.node.follow(ANA.feed_id, 0))
    face = FaceName("ws:1#0")
    perform(shell.node.face_up(face, profile, "ws:1", 0))
    sizes = []
    for second in range(240):
        for number in range(PER_S):
            shell.mono_us = second * SECOND + number * SECOND // PER_S
            if faces_per_s and number % (PER_S // faces_per_s) == 0:
                perform(shell.node.face_down(face, "gone", shell.mono_us))
                face = FaceName(f"ws:1#{shell.mono_us}")
                perform(shell.node.face_up(face, profile, "ws:1", shell.mono_us))
            packet = stranger_packet(second * PER_S + number, shell.node.set_state)
            perform(shell.node.receive(packet, face, reception, shell.mono_us))
        shell.later(0)
        sizes.append(sum(path.stat().st_size for path in shell.place.iterdir()))
    shell.crash()
    # The bursts are over by now: 1,000 of each sort, at 100 packets a second.
    return (sizes[-1] - sizes[120]) * 30


@pytest.mark.parametrize("faces_per_s", [0, 1, 50])
def test_on_wires(tmp_path, faces_per_s):
    grown = bytes_an_hour(tmp_path, stream_profile(), WIRED, faces_per_s)
    assert 1_000_000 < grown <= limits.EVENT_STRANGERS_WIRE_BYTES


def test_on_radios(tmp_path):
    heard = Reception(rssi_dbm=-120, snr_db=-10.25, airtime_us=205_056)
    grown = bytes_an_hour(tmp_path, radio_profile(), heard, 0)
    assert 1_000_000 < grown <= limits.EVENT_STRANGERS_AIR_BYTES
