"""One message's way: by hand, and as plain Python finds it in simulations."""

from spark_sink.derive.facts import RX, TX
from spark_sink.derive.journeys import Hop, Journey, Sending, journey
from tests.spark_sink.derive import oracle_a
from tests.spark_sink.derive.facts_of import copies_of, sights_of
from tests.spark_sink.derive.handmade import facts
from tests.spark_sink.derive.test_heard import COMMITTED, HEARD, MESH, OURS, SENT, START_US, THEIRS
from tests.spark_sink.derive.worlds import world

RELAYED_US = START_US + 60_000_000


def test_who_had_it_by_whom_and_who_sent_it_to_whom() -> None:
    relayed = {**SENT, "node_no": 2, "mesh_us": RELAYED_US}
    third = (
        {**HEARD, "node_no": 3, "mesh_us": RELAYED_US},
        {**COMMITTED, "node_no": 3, "mesh_us": RELAYED_US + 7},
    )
    first = {**HEARD, "node_no": 1, "mesh_us": RELAYED_US, "verdict": 1}
    other = {**SENT, "hash": 6}, {**HEARD, "hash": 6, "seq": 2}
    copies = copies_of([THEIRS, OURS, {**OURS, "node_no": 3, "mesh_us": RELAYED_US + 7, "mesh": MESH}])
    sights = sights_of([SENT, HEARD, COMMITTED, relayed, *third, first, *other])
    assert journey(facts(sights=sights, copies=copies), 7, 1) == Journey(
        (
            Hop(2, START_US, 1, START_US, 5_000),
            Hop(3, RELAYED_US + 7, 2, RELAYED_US, 60_000_007),
        ),
        (Sending(1, START_US, "air", (2,), (2,)), Sending(2, RELAYED_US, "air", (1, 3), (3,))),
    )
    unknown = journey(facts(sights=sights, copies=copies_of([OURS])), 7, 1)
    assert [hop.hop_us for hop in unknown.hops] == [None]


def test_messages_of_a_simulation() -> None:
    heard = oracle_a.Heard(world("faults").facts)
    arrivals = heard.arrivals()
    for feed_no, seq in sorted({(commit["feed_no"], commit["seq"]) for commit, _, _ in arrivals})[::9]:
        found = journey(world("faults").facts, feed_no, seq)
        assert {(hop.node_no, hop.t_us, hop.sender, hop.sent_us, hop.hop_us) for hop in found.hops} == {
            (c["node_no"], c["mesh_us"], tx["node_no"], tx["mesh_us"], heard.delay_us(c, tx))
            for c, _, tx in arrivals
            if (c["feed_no"], c["seq"]) == (feed_no, seq)
        }
        rx = [row for row in heard.rows if row["kind"] == RX]
        known = [row for row in rx if row["packet"] in {0, 16}]
        hashes = {row["hash"] for row in known if (row["feed_no"], row["seq"]) == (feed_no, seq)}
        sent = [row for row in heard.rows if row["kind"] == TX and row["hash"] in hashes]
        assert sorted((row["node_no"], row["mesh_us"]) for row in sent) == sorted(
            (one.node_no, one.t_us) for one in found.sendings
        )
        reached = {node for one in found.sendings for node in one.heard_by}
        assert reached == {
            row["node_no"] for row in rx if row["hash"] in hashes and heard.sending[row["place"]]
        }
