"""A conversation of two deployed programs, fed to feeds that know nothing."""

from tests.codec.vectors import load, load_lines
from tests.feeds.builders import OPEN
from tinyssb_node.feeds.chain import Extended, Tip, accept, expectations
from tinyssb_node.feeds.layout import Layout
from tinyssb_node.feeds.sidechain import ChunkAccepted, SideChain, advance, begin, reassemble
from tinyssb_node.ids import Dialect, FeedId


class Reader:
    """The least that follows feeds: every packet is tried at every place that waits for one."""

    def __init__(self, feeds: list[FeedId]) -> None:
        self.tips = {feed: Tip(feed, None, 0, None) for feed in feeds}
        self.layouts: dict[tuple[FeedId, int], Layout] = {}
        self.chains: dict[tuple[FeedId, int], SideChain] = {}
        self.chunks: dict[tuple[FeedId, int], list[bytes]] = {}

    def take(self, packet: bytes) -> bool:
        """True if something was waiting for *packet*."""
        return len(packet) == 120 and (self._take_entry(packet) or self._take_chunk(packet))

    def _take_entry(self, packet: bytes) -> bool:
        for feed, tip in self.tips.items():
            for place in expectations(OPEN, tip):
                outcome = accept(place, packet)
                if isinstance(outcome, Extended):
                    key = (feed, outcome.tip.seq)
                    self.tips[feed], self.layouts[key], self.chunks[key] = outcome.tip, outcome.layout, []
                    chain = begin(feed, outcome.tip.seq, outcome.layout)
                    if chain:
                        self.chains[key] = chain
                    return True
        return False

    def _take_chunk(self, packet: bytes) -> bool:
        for key, chain in self.chains.items():
            outcome = advance(chain, packet)
            if isinstance(outcome, ChunkAccepted):
                self.chains[key] = outcome.chain
                self.chunks[key].append(packet)
                return True
        return False


def test_the_trace_is_read_whole() -> None:
    expected = load("trace_pub_expected.json")["feeds"]
    reader = Reader([FeedId.from_hex(feed["feed_id"]) for feed in expected])
    packets = [bytes.fromhex(line["packet"]) for line in load_lines("trace_pub.ndjson")]
    # Packets come in any order, and side chains of several feeds share packets: all are offered until none is taken.
    while sum(reader.take(packet) for packet in packets):
        pass
    for feed in expected:
        tip = reader.tips[FeedId.from_hex(feed["feed_id"])]
        assert (tip.id or b"").hex() == feed["tip_msg_id"]
        assert tip.dialect is Dialect.DEPLOYED
        keys = [(tip.feed, seq) for seq in range(1, tip.seq + 1)]
        assert all(reader.chains[key].complete for key in keys if key in reader.chains)
        contents = [reassemble(reader.layouts[key], reader.chunks[key]).hex() for key in keys]
        assert contents == feed["contents"]
