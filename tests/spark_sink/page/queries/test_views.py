"""The other views against counts of the story, and small databases made by hand."""

from collections import Counter, defaultdict
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from spark_sink.errors import BadQuestionError, NotKnownError
from spark_sink.page import limits, metrics
from spark_sink.page.queries.airtime import NO_SLOTS, Slots, fullest_ppm, window_ppm
from tests.spark_sink.page.asking import ask, opened
from tests.spark_sink.page.book import Book, bucket_of, feed_of, node_of
from tests.spark_sink.page.story import (
    ALONE,
    ALONE_SINCE,
    END_US,
    HOUR_US,
    KEYS,
    NODES,
    PHONES,
    SPLIT,
    T0_US,
    WRONG,
    Story,
)

NAMES = (*KEYS, *PHONES)
WHOLE = {"from_us": T0_US, "to_us": END_US + HOUR_US}
SLOT = limits.SLOT_US


def test_links_are_sums_over_the_hours_of_the_range(database: Path, story: Story) -> None:
    span = {"from_us": T0_US + 10 * HOUR_US, "to_us": T0_US + 20 * HOUR_US}
    found = ask(database, "topology", **span)
    heard: Counter[tuple[str, str]] = Counter()
    sent: Counter[tuple[str, str]] = Counter()
    for row in story.book.rows["links"].values():
        if span["from_us"] <= row["hour_us"] < span["to_us"]:
            key = (node_of(KEYS[row["sender"]]), node_of(KEYS[row["receiver"]]))
            heard[key] += row["heard"]
            sent[key] += row["sent"]
    links = {(link["sender"], link["receiver"]): link for link in found["links"]}
    assert {key: link["heard"] for key, link in links.items()} == dict(heard)
    assert {key: link["sent"] for key, link in links.items()} == dict(sent)
    link = links[node_of(KEYS[2]), node_of(KEYS[4])]
    assert (link["rssi_dbm"], link["snr_db"]) == (-88.0, 5.0)
    assert link["ratio"] == pytest.approx(link["heard"] / link["sent"], abs=1e-4)


def test_of_many_nodes_all_links_between_those_shown_are_there_and_metrics_are_of_the_first_always(
    tmp_path: Path,
) -> None:
    book = Book()
    count = limits.NODES_SHOWN_MAX + 40
    for place in range(count):
        number = book.started_node(f"n{place}", HOUR_US)
        # The first 40 lack nothing and hear each other well: these are the links with most packets.
        book.put("frontiers", node_no=number, feed_no=book.feed("n0"), seq=9 if place < 40 else 1)
    numbers = [book.node(f"n{place}") for place in range(count)]
    for first, last, heard in ((0, 40, 1_000), (40, count, 1)):
        for sender, receiver in permutations(numbers[first:last], 2):
            book.put("links", hour_us=0, sender=sender, receiver=receiver, heard=heard, sent=heard)
    book.write(tmp_path / "db")
    found = ask(tmp_path / "db", "topology", from_us=0, to_us=2 * HOUR_US)
    assert len(found["nodes"]) == limits.NODES_SHOWN_MAX
    shown = {node["node"] for node in found["nodes"]}
    assert {(link["sender"], link["receiver"]) for link in found["links"]} == set(permutations(shown, 2))
    with opened(str(tmp_path / "db")) as source:
        scraped = source.read(metrics.figures)
    assert scraped is not None
    assert len(scraped["nodes"]) == count


def test_groups_and_changes(database: Path) -> None:
    found = ask(database, "topology", **WHOLE)
    group = {node["node"]: node["group"] for node in found["nodes"]}
    alone = node_of(KEYS[ALONE])
    assert group[alone] == alone
    assert {group[node_of(key)] for key in KEYS[:ALONE]} == {node_of(KEYS[0])}
    assert [change["kind"] for change in found["changes"]] == ["isolated", "join", "split"]
    assert found["changes"][0]["detail"] == {"nodes": [alone]}
    parts = found["changes"][2]["detail"]["parts"]
    assert parts == [[node_of(key) for key in KEYS[:7]], [node_of(key) for key in KEYS[7:]]]
    during = ask(database, "topology", from_us=T0_US, to_us=T0_US + (SPLIT[0] + 2) * HOUR_US)
    assert len({node["group"] for node in during["nodes"]}) == 2
    assert SPLIT[1] < ALONE_SINCE


def test_airtime_of_every_face(database: Path, story: Story) -> None:
    found = ask(database, "airtime", **WHOLE)
    spent: Counter[str] = Counter()
    for row in story.book.rows["transmitted"].values():
        spent[node_of(KEYS[row["node_no"]])] += row["airtime_us"]
    assert {row["node"]: row["airtime_us"] for row in found["nodes"]} == spent
    assert found["nodes"][0]["node"] == node_of(KEYS[1])
    for row in found["nodes"]:
        assert sum(row["uses"].values()) == sum(row["packets"].values()) == row["airtime_us"]
    copies = len(story.copies) - len({(copy.feed_no, copy.seq) for copy in story.copies})
    assert found["delivered"] == copies
    assert found["cost_us"] == round(sum(spent.values()) / copies)


def test_the_slot_in_which_a_range_begins_counts_whole(database: Path) -> None:
    """The range begins with the first record by default: of a mesh that had just begun nothing was shown."""
    begin_us = END_US - HOUR_US - (END_US - HOUR_US) % SLOT
    late, early = (
        ask(database, "airtime", from_us=from_us, to_us=begin_us + SLOT)
        for from_us in (begin_us + SLOT - 60_000_000, begin_us)
    )
    assert [row["slots"] for row in late["nodes"]] == [row["slots"] for row in early["nodes"]]
    assert late["airtime_us"] == early["airtime_us"] > 0


def test_a_wrong_clocks_slots_are_shown_by_mesh_time(database: Path) -> None:
    rows = {row["node"]: row for row in ask(database, "airtime")["nodes"]}
    times = [slot_us for slot_us, _airtime_us in rows[node_of(KEYS[WRONG])]["slots"]]
    assert min(times) >= END_US - 24 * HOUR_US - SLOT
    assert max(times) <= END_US


def test_the_fullest_window_is_the_worst_of_all_that_end_with_a_slot() -> None:
    used = {
        place * SLOT: airtime_us for place, airtime_us in enumerate([0, 9, 0, 4, 4, 0, 0, 8, 1]) if airtime_us
    }
    slots = Slots(np.array(list(used)), np.array(list(used.values())))
    for size in (1, 2, 3, 6):
        window_us = size * SLOT
        worst = max(
            sum(airtime_us for slot_us, airtime_us in used.items() if end - window_us <= slot_us < end)
            for end in range(0, 12 * SLOT, SLOT)
        )
        assert fullest_ppm(slots, window_us) == round(worst * 1e6 / window_us)
        assert fullest_ppm(slots, window_us - SLOT + 1) == round(worst * 1e6 / window_us), "whole slots"
        late = max(window_ppm(slots, window_us, end) for end in (8 * SLOT, 9 * SLOT))
        assert fullest_ppm(slots, window_us, 7 * SLOT) == late
    assert fullest_ppm(NO_SLOTS, HOUR_US) == 0
    assert window_ppm(Slots(np.array([5 * SLOT]), np.array([HOUR_US // 100])), HOUR_US, 6 * SLOT) == 10_000


@pytest.mark.parametrize("scope", ["node", "feed", "hop"])
def test_delays_in_buckets(database: Path, story: Story, scope: str) -> None:
    found = ask(database, "delays", scope=scope, **WHOLE)
    counts: Counter[tuple[int, int]] = Counter()
    for row in story.book.rows["delays"].values():
        if row["scope"] == scope:
            counts[row["a"], row["b"]] += row["n"]
    assert [row["n"] for row in found["rows"]] == sorted(counts.values(), reverse=True)[: limits.ROWS_MAX]
    assert found["all"]["n"] == sum(counts.values())
    assert sum(n for _low, _high, n in found["all"]["buckets"]) == sum(counts.values())
    for low_us, high_us, _n in found["all"]["buckets"]:
        assert low_us <= high_us
        if high_us > 0:
            assert bucket_of(high_us - 1) == bucket_of(low_us)


@pytest.mark.parametrize("scope", ["node", "hop"])
def test_delays_over_time_are_all_of_them_in_stretches_and_bands(
    database: Path, story: Story, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    rows = [row for row in story.book.rows["delays"].values() if row["scope"] == scope]
    first_us = min(row["hour_us"] for row in rows)
    for most in (limits.STRETCHES_MAX, 5):
        monkeypatch.setattr(limits, "STRETCHES_MAX", most)
        found = ask(database, "delays", scope=scope, **WHOLE)
        wanted: Counter[tuple[int, int]] = Counter()
        for row in rows:
            stretch = (row["hour_us"] - first_us) // found["step_us"]
            wanted[
                first_us + stretch * found["step_us"], -1 if row["bucket"] < 0 else row["bucket"] // 8
            ] += row["n"]
        assert len({begin_us for begin_us, _band in wanted}) <= most
        assert {
            (begin_us, -1 if high_us == 0 else bucket_of(low_us) // 8): n
            for begin_us, low_us, high_us, n in found["over_time"]
        } == dict(wanted)
        assert all(bucket_of(high) == bucket_of(low) + 8 for _at, low, high, _n in found["over_time"] if high)


def test_an_unknown_scope_is_refused(database: Path) -> None:
    with pytest.raises(BadQuestionError, match="node, feed, hop"):
        ask(database, "delays", scope="sideways")


def test_packets_newest_first_and_those_since(database: Path) -> None:
    rows = ask(database, "packets")["rows"]
    assert [row["place"] for row in rows] == list(range(11_999, 11_799, -1))
    since = ask(database, "packets", after=11_990)["rows"]
    assert since == rows[:9]
    assert all(abs(row["t_us"] - (END_US - (11_999 - row["place"] + 1) * 400_000)) < 100 for row in rows)
    for limit in (0, limits.PACKETS_MAX + 1):
        with pytest.raises(BadQuestionError):
            ask(database, "packets", limit=limit)


def test_a_message_arrives_in_order_of_mesh_time(database: Path, story: Story) -> None:
    entry = next(entry for entry in story.entries if entry.owner == WRONG and entry.chunks)
    found = ask(database, "message", name=feed_of(NAMES[entry.feed_no]), seq=entry.seq)
    assert found["entry"]["t_us"] == pytest.approx(entry.t_us, abs=5)
    assert found["entry"]["publisher"] == node_of(KEYS[WRONG])
    copies = [copy for copy in story.copies if (copy.feed_no, copy.seq) == (entry.feed_no, entry.seq)]
    arrivals = {row["node"]: row for row in found["arrivals"]}
    assert set(arrivals) == {node_of(KEYS[copy.node_no]) for copy in copies}
    for copy in copies:
        assert arrivals[node_of(KEYS[copy.node_no])]["t_us"] == pytest.approx(copy.t_us, abs=5)
        assert arrivals[node_of(KEYS[copy.node_no])]["delay_us"] == pytest.approx(
            copy.t_us - entry.t_us, abs=10
        )
    assert [row["t_us"] for row in found["arrivals"]] == sorted(row["t_us"] for row in found["arrivals"])
    lacking = {
        node_of(key) for place, key in enumerate(KEYS) if place not in {copy.node_no for copy in copies}
    }
    assert {row["node"] for row in found["missing"]} == lacking


def test_a_message_is_told_by_whom_it_came(database: Path, story: Story) -> None:
    chosen = [story.entries[place] for place in (3, 40, 150, 260, 330)]
    chosen += [entry for entry in story.entries if entry.owner == WRONG][:2]
    for entry in chosen:
        found = ask(database, "message", name=feed_of(NAMES[entry.feed_no]), seq=entry.seq)
        copies = [copy for copy in story.copies if (copy.feed_no, copy.seq) == (entry.feed_no, entry.seq)]
        had = {copy.node_no: copy.t_us for copy in copies}
        arrivals = {row["node"]: row for row in found["arrivals"]}
        came = [copy for copy in copies if copy.sender >= 0]
        for copy in came:
            row = arrivals[node_of(KEYS[copy.node_no])]
            assert row["from"] == node_of(KEYS[copy.sender])
            if copy.sender in had:
                assert row["hop_us"] == pytest.approx(copy.t_us - had[copy.sender], abs=10)
        sent = [(row["node"], row["new_at"]) for row in found["transmissions"]]
        assert sorted(sent) == sorted((node_of(KEYS[c.sender]), [node_of(KEYS[c.node_no])]) for c in came)
        assert {row["face"] for row in found["transmissions"]} <= {"lora"}


def test_what_no_log_tells_of(database: Path) -> None:
    for view, asked in (
        ("message", {"name": feed_of(KEYS[0]), "seq": 999_999}),
        ("message", {"name": "0" * 64, "seq": 1}),
        ("feed", {"name": "0" * 64}),
        ("node", {"name": "0" * 16}),
    ):
        with pytest.raises(NotKnownError):
            ask(database, view, **asked)


def test_a_node_page(database: Path, story: Story) -> None:
    found = ask(database, "node", name=node_of(KEYS[4]), **WHOLE)
    assert [(boot["boot"], boot["clean"], boot["stop_reason"]) for boot in found["boots"]] == [
        (2, None, None),
        (1, False, "SIGTERM"),
    ]
    assert [face["face"] for face in found["faces"]] == ["lora"]
    assert {link["receiver"] for link in found["hears"]} == {found["node"]}
    assert {link["sender"] for link in found["heard_by"]} == {found["node"]}
    labels = {node["node"]: node["label"] for node in ask(database, "topology", **WHOLE)["nodes"]}
    assert found["hears"]
    assert all(link["label"] == labels[link["sender"]] for link in found["hears"])
    assert all(link["label"] == labels[link["receiver"]] for link in found["heard_by"])
    assert sum(row["behind"] for row in found["feeds_behind"]) == found["behind"]
    counted: Counter[tuple[str, str, str]] = Counter()
    for row in story.book.rows["traffic"].values():
        if row["node_no"] == 4:
            counted[row["packet"], row["direction"], row["verdict"]] += row["packets"]
    rows = {(row["packet"], row["direction"], row["verdict"]): row["packets"] for row in found["traffic"]}
    assert rows == dict(counted)


def test_a_feed_page(database: Path, story: Story) -> None:
    number = 2
    found = ask(database, "feed", name=feed_of(NAMES[number]))
    held = {node: seq for (node, feed), seq in story.frontiers.items() if feed == number}
    assert {row["node"]: row["seq"] for row in found["nodes"]} == {
        node_of(key): held.get(place, 0) for place, key in enumerate(KEYS)
    }
    copies: dict[int, list[int]] = defaultdict(list)
    for copy in story.copies:
        if copy.feed_no == number:
            copies[copy.seq].append(copy.t_us)
    assert [row["seq"] for row in found["entries"]] == sorted(
        (entry.seq for entry in story.entries if entry.feed_no == number), reverse=True
    )
    for row in found["entries"]:
        assert row["copies"] == len(copies[row["seq"]])
    forked = ask(database, "feed", name=feed_of(NAMES[13]))
    assert [(fork["seq"], fork["node"]) for fork in forked["forks"]] == [
        (2, node_of(KEYS[2])),
        (2, node_of(KEYS[0])),
    ]


def test_gossip_counts(database: Path, story: Story) -> None:
    found = ask(database, "gossip", **WHOLE)
    expected: dict[str, Counter[str]] = defaultdict(Counter)
    for row in story.book.rows["counts"].values():
        sums = expected[node_of(KEYS[row["node_no"]])]
        for (kind, detail), name in {
            ("want", "tx"): "wants_sent",
            ("want", "rx"): "wants_heard",
            ("claim", "tx"): "set_packets",
            ("sketch", "tx"): "set_packets",
            ("set", ""): "set_grown",
        }.items():
            sums[name] += row["records"] * ((row["kind"], row["detail"]) == (kind, detail))
        sums["places_asked"] += row["total"] * (row["kind"] in ("want", "chnk") and row["detail"] == "tx")
        sums["spared"] += row["total"] * (row["kind"] == "spared")
    for row in found["nodes"]:
        for name, value in expected[row["node"]].items():
            assert row[name] == value, (row["label"], name)
    assert found["all"]["spared"] == 31
    answers = Counter[str]()
    for row in story.book.rows["uses"].values():
        if row["packet"] in ("entry", "chunk"):
            answers[row["use"]] += row["packets"]
    assert found["all"]["answers_new"] == answers["news"] + answers["repair"]
    assert found["all"]["answers_redundant"] == answers["redundant"]
    assert found["all"]["answers_sent"] == answers.total()
    agreed = {row["node"]: row["agreed_us"] for row in found["nodes"]}
    assert agreed[node_of(KEYS[ALONE])] is None
    assert agreed[node_of(KEYS[WRONG])] == pytest.approx(T0_US + WRONG * 60_000_000, abs=10)
    assert found["all"]["agreed_us"] is None


def test_faults(database: Path) -> None:
    found = ask(database, "faults", **WHOLE)
    assert [(row["reason"], row["packets"]) for row in found["invalid"]] == [
        ("signature", 4),
        ("<b>length</b>", 2),
    ]
    assert [(row["rule"], row["total"]) for row in found["refused"]] == [("budget", 17)]
    assert [(row["face"], row["downs"]) for row in found["flapping"]] == [("lora", 4)]
    assert {row["node"]: (row["boots"], row["unclean"]) for row in found["restarts"]} == {
        node_of(key): (2 if place % 4 == 0 else 1, int(place == 4)) for place, key in enumerate(KEYS)
    }
    assert len(found["forks"]) == 2
    assert [(row["node"], row["first_offset"]) for row in found["gaps"]] == [(node_of(KEYS[3]), 120)]
    assert [row["text"] for row in found["bad_lines"]] == ["<script>"]
    assert [row["label"] for row in found["oddities"]] == ["emil"]
    (jump,) = [row for row in found["incidents"] if row["kind"] == "clock"]
    assert jump["t_us"] == pytest.approx(T0_US + 40 * HOUR_US, abs=10)
    assert (jump["node"], jump["n"]) == (node_of(KEYS[WRONG]), 2_500_000)
    assert len(found["incidents"]) == 12
    assert len(ask(database, "node", name=node_of(KEYS[6]), **WHOLE)["incidents"]) == 9


def test_the_job(database: Path) -> None:
    found = ask(database, "job")
    assert found["lag_us"] == 1_500_000
    assert found["behind_bytes"] == 10
    assert len(found["batches"]) == limits.BATCHES_SHOWN_MAX
    records = sum(1_900 + place % 7 for place in range(381, 400))
    assert found["rate"] == pytest.approx(records / 38, abs=0.1)
    assert found["meta"]["program"] == "0.1.0"
    assert len(NODES) == 12
