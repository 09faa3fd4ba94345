"""Positions for a private group alone: members see them, nobody else does, and they are no messages."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_talk_daemons import Person
from tests.daemon.processes import daemon, make_home, tinyssb
from tests.daemon.test_process_networks import free_udp_port
from tests.telemetry.test_commands import HOUR_US, Walker
from tinyssb_node.errors import ExitCode


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Person, Person]]:
    """Ana and Bob in a group, beside Cyd, who is in none."""
    face = f"udp:239.5.5.8:{free_udp_port()}?interface=lo&ttl=0"
    with contextlib.ExitStack() as stack:
        people = []
        for name in ("Ana", "Bob"):
            home = tmp_path_factory.mktemp(name)
            feed = make_home(home, face, name=name)
            people.append(Person(stack.enter_context(daemon(home)), feed.hex()))
        ana, bob = people
        for person, other in ((ana, bob), (bob, ana)):
            person.types("follow", other.feed)
        ana.types("alias", "Ana")
        bob.types("alias", "Bob")
        ana.sees("Bob", "contacts")
        ana.types("group", "create", "Hut crew", bob.feed[:12], "--yes")
        bob.sees("Hut crew", "group")
        yield ana, bob


def test_members_see_a_position_and_it_is_no_message(two: tuple[Person, Person]) -> None:
    ana, bob = two
    told = ana.types("position", "share", "--at", "47.3769,8.5417", "--precision", "0", "--group", "Hut crew")
    assert "for the group" in told
    assert "3 packets" in told
    bob.sees("47.37690, 8.54170", "position")
    (row,) = bob.objects("position")
    assert (row["feed"], row["latitude"]) == (ana.feed, 4_737_690)
    assert row["group"] is not None
    assert "Hut crew" in bob.types("position")
    assert "47.37690" not in bob.types("group", "read", "Hut crew")
    assert "unread" not in bob.types("status")
    assert "POS" not in ana.types("log", "me"), "nobody else can read it"
    ana.types("position", "stop", "--group", "Hut crew")
    bob.sees("Nobody shares a position", "position")


def test_a_withdrawal_in_public_leaves_what_the_group_sees(two: tuple[Person, Person]) -> None:
    ana, _ = two
    ana.types("position", "share", "--at", "47.1,8.1", "--precision", "0", "--group", "Hut crew")
    ana.types("position", "share", "--at", "47.2,8.2", "--precision", "0", "--yes")
    assert [row["latitude"] for row in ana.objects("position")] == [4_720_000]
    ana.types("position", "stop")
    assert [row["latitude"] for row in ana.objects("position")] == [4_710_000]


def test_a_group_that_is_not_known_is_refused(two: tuple[Person, Person]) -> None:
    ended = tinyssb(two[0].running.home, "position", "share", "--at", "1,1", "--group", "Nobody's")
    assert ended.returncode != ExitCode.OK
    assert b"Traceback" not in ended.stderr


def test_it_is_shared_with_a_group_at_intervals(two: tuple[Person, Person]) -> None:
    ana, _ = two
    home: Path = ana.running.home
    ana.types("position", "share", "--at", "47.1,8.1", "--group", "Hut crew")
    before = (home / "config.toml").read_text()
    with (home / "config.toml").open("a") as config:
        config.write('\n[telemetry]\nenabled = true\nposition = "Hut crew"\nprecision_m = 0\nper_day = 4\n')
    try:
        walker = Walker(home)
        assert walker.look() == 0, "too soon"
        walker.ahead_us = 5 * HOUR_US
        assert walker.look() == 0, "an interval of a group keeps the number a day"
        walker.ahead_us = 7 * HOUR_US
        assert walker.look() == 1
        (row,) = ana.objects("position")
        assert (row["latitude"], row["group"] is not None) == (4_737_690, True)
    finally:
        (home / "config.toml").write_text(before)
    assert (
        json.loads(tinyssb(home, "telemetry", "status", "--json").stdout.splitlines()[0])["audience"] is None
    )
