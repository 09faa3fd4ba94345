"""How the gateway is shown to people."""

from msgspec.structs import replace

from tinyssb_node.islands.gateway.rows import (
    GatewayRow,
    LinkRow,
    LocatedRow,
    LocationRow,
    LocatorRow,
    ProblemRow,
    RelayRow,
)
from tinyssb_node.islands.lines import LOCATE_HEADER, located_text, location_line, status_text

LOCATOR: LocatorRow = LocatorRow(
    network="default",
    reached=True,
    historic=33,
    unconfirmed=12,
    confirmed=21,
    labels=300,
    locations=1_200,
    offers=40,
    sought=38,
    looking=2,
    lookups=1_041,
    newer=5,
    received={"ping": 30, "query": 1_000},
    sent={},
    received_bytes=100_000,
    sent_bytes=0,
    drops={"cookie": 2},
)
ROW: GatewayRow = GatewayRow(
    pid=4711,
    uptime_us=7_261_000_000,
    listen="0.0.0.0:8789",
    address="203.0.113.7:8789",
    away=False,
    networks=[LOCATOR],
    links=[
        LinkRow(
            network="default",
            address="198.51.100.2:8789",
            called=True,
            feed="ab" * 32,
            up_us=65_000_000,
            got=12,
            given=3,
            received_bytes=1_600,
            sent_bytes=700,
        )
    ],
    unsent=0,
    problems=[ProblemRow(what="198.51.100.9:1", problem="connection refused\n", ago_us=5_000_000)],
)
LOCATION: LocationRow = LocationRow(
    feed="ab" * 32,
    address="198.51.100.2:8789",
    connection="198.51.100.2:8789",
    entries=1_234,
    whole=127,
    old=True,
    elapsed_us=1_250_000,
)


def located(count: int, reports: int, denials: int) -> LocatedRow:
    return LocatedRow(feed="ab" * 32, count=count, reports=reports, denials=denials)


def test_all_of_it_can_be_read() -> None:
    assert status_text(ROW) == (
        "running:    2 h 1 min (process 4711)\n"
        "listening:  0.0.0.0:8789\n"
        "address:    203.0.113.7:8789 (others have reached it)\n"
        "way out:    yes\n"
        "\n"
        "network:      default\n"
        "peers:        21 that answer, 12 to try, 33 kept\n"
        "knows:        1,200 places of 300 feeds, mostly others'\n"
        "offers:       40 feeds\n"
        "seeks:        38 feeds, 2 now, 1,041 lookups so far\n"
        "told behind:  5 times\n"
        "received:     100,000 bytes: 30 ping, 1,000 query\n"
        "sent:         0 bytes\n"
        "dropped:      2 cookie\n"
        "\n"
        "CONNECTED             NETWORK  SINCE      GOT  GIVEN  BYTES IN  BYTES OUT  FOR\n"
        "to 198.51.100.2:8789  default  1 min 5 s   12      3      1600        700  abababababab\n"
        "\n"
        "LAST PROBLEM  WHERE           WHAT\n"
        "5.0 s ago     198.51.100.9:1  connection refused\\n"
    )


def test_what_is_missing_is_told() -> None:
    row: GatewayRow = replace(ROW, address=None, away=True, links=[], problems=[])
    text = status_text(row)
    assert "address:    none: others cannot call" in text
    assert "way out:    none: waiting for one" in text
    assert text.endswith("No other gateway is connected.")
    unseen: GatewayRow = replace(ROW, networks=[replace(LOCATOR, reached=False)])
    assert "nobody has shown that it can be reached" in status_text(unseen)


def test_both_addresses_are_shown() -> None:
    row = replace(ROW, also="[2001:db8::7]:8789")
    assert "203.0.113.7:8789 and [2001:db8::7]:8789 (others have reached it)" in status_text(row)


def test_places_stand_under_their_header() -> None:
    line = location_line(LOCATION)
    assert line == "   1.2 s      1,234   49 %  old   198.51.100.2:8789"
    assert LOCATE_HEADER.index("PLACE") == line.index("198")


def test_what_a_search_comes_to() -> None:
    assert located_text(located(2, 5, 1)) == "2 places, from 5 answers."
    assert located_text(located(1, 1, 0)) == "1 place, from 1 answer."
    assert located_text(located(0, 3, 3)) == "No known node has it, according to 3 answers."
    assert located_text(located(0, 1, 1)) == "No known node has it, according to 1 answer."
    assert located_text(located(1, 0, 0)) == "1 place, from memory: no node answered."
    assert located_text(located(0, 0, 0)) == "No node answered."
    assert located_text(replace(located(0, 0, 0), peers=2)) == "No node answered."
    assert located_text(replace(located(0, 0, 0), peers=0)).startswith("No known gateway answers")


def test_a_gateway_that_is_reached_by_relays_says_so() -> None:
    hidden = replace(ROW, address=None)
    assert "by relays" not in status_text(hidden)
    place = "192.0.2.1:8789/0011223344556677"
    relayed = replace(hidden, networks=[replace(LOCATOR, relays=(place,))])
    text = status_text(relayed)
    assert "others reach this gateway by relays" in text
    assert place in text


def test_what_a_relay_gives_is_shown_with_its_bounds() -> None:
    relay = RelayRow(
        registered=3,
        registered_max=32,
        pairs=1,
        pairs_max=16,
        used_bytes=1_572_864,
        quota_bytes=16 * 2**20,
        refused=5,
        refused_bytes=4,
        refused_ago_us=65_000_000,
    )
    text = status_text(replace(ROW, relay=relay))
    assert (
        "3 of 32 nodes registered, 1 of 16 pairs, 1.5 of 16 MiB this hour; refused 1 time (no place left) and "
        "4 times (bytes of the hour used up), the last time 1 min 5 s ago\n"
    ) in text
    unrefused = replace(relay, refused=0, refused_bytes=0, refused_ago_us=None)
    assert "this hour\n" in status_text(replace(ROW, relay=unrefused))
    assert "MiB" not in status_text(ROW)
    link = replace(ROW.links[0], relayed=True)
    assert "to 198.51.100.2:8789 (relay)" in status_text(replace(ROW, links=[link]))
