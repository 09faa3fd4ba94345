"""Answers of the control protocol about groups: rows, refusals, and how a group is named."""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.daemon.fakes import Bench, make_bench
from tests.daemon.groupfakes import FakeGroups, say
from tests.groups.test_late_forks import long_ago
from tests.groups.world import World, person, start
from tinyssb_node.content.files import File
from tinyssb_node.control.requests import GROUP_REQUESTS, read_request
from tinyssb_node.control.server import ControlConnection
from tinyssb_node.daemon.group_handler import GroupHandler
from tinyssb_node.errors import BadRequestError, LocalError, ProblemError
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.early_posts import EarlyEpoch, EarlyGroup
from tinyssb_node.groups.messages import GroupContent, GroupMessageError, OpenedGroupMessage, attach, post
from tinyssb_node.groups.plan import exclude
from tinyssb_node.groups.reader import GivenEpoch
from tinyssb_node.groups.reader_events import GroupEntryFault, InvalidGroupEntry
from tinyssb_node.groups.waits import GroupConsent
from tinyssb_node.groups.writer import draft_content
from tinyssb_node.ids import DEFAULT_NETWORK, MessageId
from tinyssb_node.node.node import Node


class PlayedNode(Node):
    """A node whose groups a world plays."""

    played: FakeGroups | None = None

    @property
    def groups(self) -> Any:
        return self.played

    def in_groups(self, deed: Any, now_us: int) -> Any:  # noqa: ARG002 - as of a node
        return deed(self.played, None), []


class Asked:
    """A desk, asked as the socket asks it."""

    def __init__(self, bench: Bench, groups: FakeGroups | None) -> None:
        node: Any = bench.runtime.networks.node(DEFAULT_NETWORK)
        node.__class__ = PlayedNode
        node.played = groups
        self.desk = GroupHandler(
            own=person("a"), runtime=bench.runtime, place=lambda _: bench.places[0], clock=bench.clock
        )

    async def __call__(self, command: str, **arguments: object) -> tuple[list[Any], Any]:
        items: list[Any] = []

        async def send(item: object) -> None:
            items.append(json.loads(json.dumps(item, default=msgspec.to_builtins)))

        (kind,) = (kind for kind in GROUP_REQUESTS if kind.command == command)
        request = read_request(kind, arguments)
        result = await self.desk.answer(request, ControlConnection(send, asyncio.Event()))
        return items, json.loads(json.dumps(result, default=msgspec.to_builtins))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with contextlib.closing(make_bench(tmp_path)) as bench:
        yield bench


def hexes(names: str) -> list[str]:
    return sorted(person(name).hex() for name in names)


async def test_a_group_is_listed_with_who_is_in_it_and_what_was_said_last(bench: Bench) -> None:
    world = start("abc")
    say(world["b"], "one")
    world["a"].receive(world.all.values())
    ask = Asked(bench, FakeGroups(Hut=world["a"]))
    (row,), result = await ask("group_list")
    assert result == {"count": 1}
    assert (row["name"], row["state"], row["epochs"], row["posts"]) == ("Hut", "member", 1, 1)
    assert row["group"] == world["a"].here.root.hex()
    assert row["members"] == hexes("abc")
    last = row["last"]
    assert (last["kind"], last["text"], last["feed"], last["own"]) == (
        "post",
        "one",
        person("b").hex(),
        False,
    )


def lost_and_late() -> tuple[World, OpenedGroupMessage, OpenedGroupMessage]:
    """A group of a, b and c, and two messages of b that reached nobody else."""
    world = start("abc")
    before = set(world.all)
    say(world["b"], "lost")
    say(world["b"], "late")
    lost, late = (one for id_, one in world.all.items() if id_ not in before)
    return world, lost, late


async def test_messages_that_others_name_and_that_are_not_here_are_counted(bench: Bench) -> None:
    world, lost, late = lost_and_late()
    ask = Asked(bench, FakeGroups(Hut=world["a"]))
    for came, lacking, posts in ((late, 1, 0), (lost, 0, 2)):
        world["a"].receive([came])
        (row,), _ = await ask("group_list")
        assert (row["lacking"], row["posts"]) == (lacking, posts)
        _, shown = await ask("group_show", group=row["group"])
        assert (shown["lacking"], shown["waiting"]) == (lacking, lacking)


async def test_a_group_in_which_this_program_fails_hides_no_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = start("abc")["a"]
    ask = Asked(bench, FakeGroups(Bad=member))
    bad = member.here
    monkeypatch.setattr(type(bad), "view", property(lambda self: 1 // (self is not bad)))
    (row,), result = await ask("group_list")
    assert (row["group"], row["state"], row["stopped"], result) == (
        bad.root.hex(),
        "failed",
        True,
        {"count": 1},
    )
    for command, arguments in (("group_show", {}), ("group_post", {"text": "x"}), ("group_read", {})):
        with pytest.raises(ProblemError, match="ZeroDivisionError") as failed:
            await ask(command, group=bad.root.hex(), **arguments)
        assert failed.value.code == "group_failed"


async def test_a_group_is_read_page_by_page_and_what_changes_nothing_is_left_out(bench: Bench) -> None:
    world = start("abc")
    for name, text in (("a", "one"), ("b", "two"), ("c", "three")):
        say(world[name], text)
        world.meet(*"abc")
    groups = FakeGroups(Hut=world["a"])
    ask = Asked(bench, groups)
    root = groups.reader.groups.keys()
    (name,) = (each.hex()[:8] for each in root)
    rows, _ = await ask("group_read", group=name)
    assert [row["kind"] for row in rows] == ["group/init", "group/add-member", "post", "post", "post"]
    assert rows[1]["people"] == [person("b").hex(), person("c").hex()]
    assert [row["place"] for row in rows] == [1, 3, 4, 5, 6]
    orders = [row["order"] for row in rows]
    assert orders == sorted(orders)
    for arguments, texts in (
        ({"limit": 2}, ["two", "three"]),
        ({"limit": 1, "before_order": orders[4]}, ["two"]),
        ({"limit": 1, "after_order": orders[2]}, ["two"]),
        ({"after_order": orders[4]}, []),
        ({"after": 4, "limit": 1}, ["two"]),
        ({"after": 6}, []),
        ({"arrived": True, "limit": 2}, ["two", "three"]),
        ({"waiting": True}, []),
    ):
        assert [row["text"] for row in (await ask("group_read", group=name, **arguments))[0]] == texts
    assert (await ask("group_read", group=name, after=4))[1] == {"count": 2, "seen": orders[2]}
    with pytest.raises(BadRequestError, match="not a position"):
        await ask("group_read", group=name, before_order="yesterday")
    await ask("group_exclude", group=name, people=[person("c").hex()])
    await ask("group_post", group=name, text="without c")
    rows, _ = await ask("group_read", group=name, after=6)
    assert [row["kind"] for row in rows] == ["group/exclude-member", "post"]
    assert rows[0]["people"] == [person("c").hex()]
    await ask("group_add", group=name, people=[person("c").hex()])
    rows, _ = await ask("group_read", group=name, after=rows[-1]["place"])
    assert [(row["kind"], row["people"]) for row in rows] == [("group/add-member", [person("c").hex()])]


async def test_a_message_that_waits_is_listed_with_what_it_waits_for(bench: Bench) -> None:
    world, lost, late = lost_and_late()
    ask = Asked(bench, FakeGroups(Hut=world["a"]))
    world["a"].receive([late])
    epoch = world["b"].here.root
    ((row,), result) = await ask("group_read", group="Hut", waiting=True)
    assert (row["text"], row["place"], row["order"], row["missing"]) == ("late", None, "", [lost.id.hex()])
    assert (row["previous"], result["count"]) == ([lost.id.hex()], 1)
    rows, _ = await ask("group_read", group="Hut")
    assert "late" not in [row["text"] for row in rows]
    attached = File("map.webp", "image/webp", b"picture")
    sent = world["b"].publish(
        draft_content(world["b"].here, *attach(attached)), world["b"].here.view[epoch].key
    )
    world["a"].receive([sent])
    _, file = await ask("group_file", group="Hut", message=sent.id.hex())
    assert bytes.fromhex(file["data"]) == b"picture"
    world["a"].receive([lost])
    assert (await ask("group_read", group="Hut", waiting=True))[0] == []
    rows, _ = await ask("group_read", group="Hut", limit=3)
    assert [row["text"] for row in rows] == ["lost", "late", None]


async def test_only_what_counts_is_read_and_all_is_in_the_audit(bench: Bench) -> None:
    world = start("abc")
    world["a"].act(0)
    stranger = world.member("x")
    stranger.receive(world.all.values())
    stranger.keys |= world["a"].keys
    stranger.receive(world.all.values())
    stranger.group = world["b"].here
    message = draft_content(world["b"].here, *post("I am not here"))
    stranger.publish(message, next(iter(world["a"].keys)))
    world.meet(*"ab")
    ask = Asked(bench, FakeGroups(Hut=world["b"]))
    rows, _ = await ask("group_read", group="hut")
    assert "I am not here" not in [row["text"] for row in rows]
    lines, result = await ask("group_audit", group="hut")
    assert result == {"count": len(world["b"].here)}
    assert [(line["text"], line["rule"]) for line in lines if line["rule"]] == [("I am not here", "R23")]
    (flawed,) = [line["flaw"] for line in lines if line["flaw"]]
    assert "not in the epoch" in flawed


async def test_epochs_are_shown_with_forks_and_what_the_node_will_do(bench: Bench) -> None:
    world = start("abcd")
    world["a"].do(exclude(world["a"].here, person("a"), [person("c")]))
    world["b"].do(exclude(world["b"].here, person("b"), [person("d")]))
    world.meet(*"abcd")
    ask = Asked(bench, FakeGroups(Hut=world["a"]))
    epochs, shown = await ask("group_show", group="Hut")
    assert len(epochs) == 3
    assert epochs[0]["previous"] == []
    assert [one["previous"] for one in epochs[1:]] == [[epochs[0]["epoch"]]] * 2
    members = {one["feed"]: one for one in epochs[0]["members"]}
    assert members[person("c").hex()]["excluded_by"] == [person("a").hex()]
    assert members[person("d").hex()]["excluded_by"] == [person("b").hex()]
    assert members[person("b").hex()]["added_by"] == [person("a").hex()]
    assert (shown["interim"], shown["rules"], shown["state"]) == (True, ["4.6"], "member")
    (fork,) = shown["forks"]
    assert fork["relation"] == "overlap"
    (task,) = shown["tasks"]
    assert (task["purpose"], task["due_in_us"]) == ("resolve", 754_000_000)
    assert [step["step"] for step in task["steps"]][-2:] == ["begin", "add"]


async def test_costs_are_told_and_nothing_is_written(bench: Bench) -> None:
    world = start("abc")
    ask = Asked(bench, FakeGroups(Hut=world["a"]))
    before = len(world["a"].here)
    _, cost = await ask("group_exclude", group="Hut", people=[person("c").hex()], dry_run=True)
    assert (cost["messages"], cost["packets"], cost["steps"]) == (3, 12, ["exclude", "begin", "add"])
    _, cost = await ask("group_add", group="Hut", people=[person("x").hex()], dry_run=True)
    assert cost["steps"] == ["add"]
    _, cost = await ask("group_post", group="Hut", text="x" * 2_500, dry_run=True)
    assert (cost["packets"], cost["steps"]) == (26, ["post"])
    assert len(world["a"].here) == before


async def test_a_post_answers_a_message_of_its_group_only(bench: Bench) -> None:
    world = start("ab")
    ask = Asked(bench, FakeGroups(Hut=world["a"]))
    for text, answered in (("first", None), ("stranger", MessageId(b"\x01" * 20))):
        member = world["a"]
        key = member.here.view[member.here.root].key
        member.publish(draft_content(member.here, *post(text, answered)), key)
    rows, _ = await ask("group_read", group="Hut")
    first = next(row for row in rows if row["text"] == "first")
    await ask("group_post", group="Hut", text="yes", reply_to=first["id"][:10])
    rows, _ = await ask("group_read", group="Hut")
    assert {row["text"]: row["reply_to"] for row in rows if row["kind"] == "post"} == {
        "first": None,
        "stranger": None,
        "yes": first["id"],
    }
    with pytest.raises(ProblemError, match="No messages of this group"):
        await ask("group_post", group="Hut", text="yes", reply_to="00" * 20)


async def test_a_file_is_written_described_and_read(bench: Bench) -> None:
    world = start("ab")
    ask = Asked(bench, FakeGroups(Hut=world["a"]))
    arguments = {"group": "Hut", "name": "map.webp", "type": "image/webp", "data": "00ff10"}
    _, cost = await ask("group_attach", **arguments, dry_run=True)
    assert (cost["messages"], cost["packets"]) == (1, 1)
    assert (await ask("group_list"))[0][0]["posts"] == 0
    await ask("group_attach", **arguments)
    (*_, row), _ = await ask("group_read", group="Hut")
    assert (row["kind"], row["text"]) == ("file", None)
    assert row["file"] == {"name": "map.webp", "type": "image/webp", "size": 3}
    assert (await ask("group_list"))[0][0]["posts"] == 1
    await ask("group_attach", **arguments, reply_to=row["id"][:8])
    (*_, answer), _ = await ask("group_read", group="Hut")
    assert answer["reply_to"] == row["id"]
    _, file = await ask("group_file", group="Hut", message=row["id"][:8])
    assert (file["id"], file["name"], file["data"]) == (row["id"], "map.webp", "00ff10")
    await ask("group_post", group="Hut", text="a text")
    (*_, said), _ = await ask("group_read", group="Hut")
    for message in (said["id"], "00" * 20, ""):
        with pytest.raises(ProblemError):
            await ask("group_file", group="Hut", message=message)
    for wrong in ({"name": "n" * 65}, {"type": "t" * 41}, {"data": "00" * 32_001}, {"data": "00" * 70_000}):
        with pytest.raises(LocalError, match="Nothing was"):
            await ask("group_attach", **(arguments | wrong))
    with pytest.raises(BadRequestError):
        await ask("group_attach", **(arguments | {"data": "0"}))


async def test_groups_are_made_and_left(bench: Bench) -> None:
    ask = Asked(bench, FakeGroups())
    _, made = await ask("group_create", name="Hut")
    assert made["packets"] == 3 * len(made["entries"])
    (row,), _ = await ask("group_list")
    assert row["group"] == made["group"]
    _, left = await ask("group_leave", group=made["group"])
    assert left["group"] == made["group"]
    (row,), _ = await ask("group_list")
    assert row["state"] == "left"
    for command, arguments in (
        ("group_leave", {}),
        ("group_post", {"text": "x"}),
        ("group_add", {"people": [person("b").hex()]}),
    ):
        with pytest.raises(ProblemError, match=r"You left this group\. Nothing was written") as refused:
            await ask(command, group="hut", **arguments)
        assert refused.value.code == "group_refused"
    _, back = await ask("group_return", group="hut")
    assert back == {"group": made["group"], "entries": [], "packets": 0}
    assert (await ask("group_list"))[0][0]["state"] == "member"


async def test_an_invitation_is_listed_and_accepted_or_declined(bench: Bench) -> None:
    groups = FakeGroups(Hut=start("abc")["a"])
    (root,) = groups.groups
    groups.decided[root] = GroupConsent.INVITED
    ask = Asked(bench, groups)
    (row,), _ = await ask("group_list")
    creator = person("a").hex()
    invitation = {
        "group": root.hex(),
        "name": "Hut",
        "creator": creator,
        "added_by": [creator],
        "strangers": [creator],
    }
    assert (row["state"], row["invitation"]) == ("invited", invitation)
    _, shown = await ask("group_show", group="Hut")
    assert shown["budget"] == {"used": 7, "of": group_limits.UNASKED_PACKETS_A_DAY}
    assert (shown["invitation"], shown["tasks"]) == (invitation, [])
    for command, arguments in (("group_post", {"text": "x"}), ("group_leave", {})):
        with pytest.raises(ProblemError, match="You have not accepted this group") as refused:
            await ask(command, group="hut", **arguments)
        assert refused.value.code == "group_refused"
    await ask("group_consent", group="hut", accept=False)
    (row,), _ = await ask("group_list")
    assert (row["state"], row["invitation"]) == ("declined", None)
    with pytest.raises(ProblemError, match="You declined this group"):
        await ask("group_consent", group="hut", accept=False)
    await ask("group_consent", group="hut", accept=True)
    assert (await ask("group_list"))[0][0]["state"] == "member"
    with pytest.raises(ProblemError, match="You take part in this group"):
        await ask("group_consent", group="hut", accept=True)


def arriving(groups: FakeGroups, world: World) -> MessageId:
    """Let the history of a group of the world be missing, to which b added a. b and c said something there."""
    group = world["b"].here
    reader: Any = groups
    source: Any = None
    early = EarlyGroup()
    key = group.view[group.root].key
    early.epochs[key] = {
        person("b"): EarlyEpoch(group.root, GivenEpoch(key, group.root, person("b")), reader, source)
    }
    said = [group.said(id_) for id_ in group.tangle.order()]
    early.take([one for one in said if isinstance(one.message, GroupContent)])
    groups.early.held[group.root] = early
    return group.root


async def test_a_group_whose_history_is_missing_shows_its_newest_posts(bench: Bench) -> None:
    world = start("abc")
    say(world["b"], "one")
    say(world["b"], "two")
    groups = FakeGroups()
    root = arriving(groups, world)
    ask = Asked(bench, groups)
    (row,), result = await ask("group_list")
    assert (row["state"], row["name"], row["posts"], result) == ("arriving", None, 2, {"count": 1})
    added = {"added_by": [person("b").hex()], "people": [person("b").hex()], "requested": False}
    assert (row["last"]["text"], row["last"]["early"], row["arriving"]) == ("two", True, added)
    digits = root.hex()[:8]
    items, shown = await ask("group_show", group=digits)
    assert (items, shown["state"], shown["arriving"], shown["posts"]) == ([], "arriving", added, 2)
    (_, last), _ = await ask("group_read", group=digits)
    for arguments, texts in (
        ({}, ["one", "two"]),
        ({"limit": 1}, ["two"]),
        ({"after": last["place"] - 1}, ["two"]),
        ({"before_order": last["order"]}, ["one"]),
    ):
        said, _ = await ask("group_read", group=digits, **arguments)
        assert ([one["text"] for one in said], {one["early"] for one in said}) == (texts, {True})
    assert (await ask("group_read", group=digits, waiting=True))[0] == []
    for command, arguments in (
        ("group_post", {"text": "x"}),
        ("group_leave", {}),
        ("group_audit", {}),
        ("group_consent", {"accept": True}),
    ):
        with pytest.raises(ProblemError, match="older messages of this group are not here") as refused:
            await ask(command, group=digits, **arguments)
        assert (refused.value.code, digits in refused.value.hint) == ("group_refused", True)


async def test_the_history_of_a_group_is_requested_once_it_is_missing(bench: Bench) -> None:
    world = start("ab")
    groups = FakeGroups(Hut=world["a"])
    ask = Asked(bench, groups)
    with pytest.raises(ProblemError, match="are here, or are requested already"):
        await ask("group_history", group="Hut")
    root = arriving(groups, world)
    _, done = await ask("group_history", group=root.hex())
    assert (done["group"], done["entries"], groups.early.asked) == (root.hex(), [], [root])
    assert (await ask("group_show", group=root.hex()))[1]["arriving"]["requested"]


async def test_a_group_that_was_just_judged_shows_the_posts_that_wait(bench: Bench) -> None:
    world = start("ab")
    say(world["b"], "one")
    groups = FakeGroups(Hut=world["a"])
    root = arriving(groups, world)
    groups.early.lately.add(root)
    ask = Asked(bench, groups)
    (row,), _ = await ask("group_list")
    assert (row["state"], row["last"]["text"], row["last"]["early"]) == ("member", "one", True)
    said, _ = await ask("group_read", group="Hut")
    assert [one["text"] for one in said] == ["one"]
    assert (await ask("group_show", group="Hut"))[1]["state"] == "member"


@pytest.mark.parametrize(
    ("command", "people", "words"),
    [
        ("group_exclude", "a", "You cannot exclude yourself"),
        ("group_exclude", "x", f"Not in the epoch that you write in: {person('x').hex()[:8]}."),
        ("group_exclude", "uvwxyz", "… (+1)."),
        ("group_add", "b", f"already: {person('b').hex()[:8]}"),
    ],
)
async def test_what_is_against_the_rules_is_told_in_words(
    bench: Bench, command: str, people: str, words: str
) -> None:
    ask = Asked(bench, FakeGroups(Hut=start("abc")["a"]))
    for dry_run in (True, False):
        with pytest.raises(ProblemError, match="Nothing was written") as refused:
            await ask(command, group="Hut", people=hexes(people), dry_run=dry_run)
        assert words in refused.value.message
        assert (refused.value.code, bool(refused.value.hint)) == ("group_refused", True)


async def test_who_was_excluded_is_told_so(bench: Bench) -> None:
    world = start("abc")
    world["b"].do(exclude(world["b"].here, person("b"), [person("a")]))
    world.meet(*"abc")
    ask = Asked(bench, FakeGroups(Hut=world["a"]))
    (row,), _ = await ask("group_list")
    assert (row["state"], row["members"]) == ("excluded", hexes("bc"))
    with pytest.raises(ProblemError, match="You were excluded"):
        await ask("group_add", group="Hut", people=hexes("x"))


async def test_a_group_is_named_by_its_name_or_the_beginning_of_its_id(bench: Bench) -> None:
    one, other = start("ab")["a"], start("ac")["a"]
    other.here.root = MessageId(bytes(20))
    groups = FakeGroups(Hut=one)
    groups.hold(other, "hut ")
    ask = Asked(bench, groups)
    with pytest.raises(ProblemError) as refused:
        await ask("group_read", group="HUT")
    assert refused.value.code == "ambiguous_group"
    with pytest.raises(ProblemError) as refused:
        await ask("group_read", group="nothing")
    assert refused.value.code == "unknown_group"
    with pytest.raises(ProblemError):
        await ask("group_read", group="")
    assert (await ask("group_read", group=one.here.root.hex()[:6]))[0]


async def test_a_node_without_groups_says_so_and_wrong_arguments_are_refused(bench: Bench) -> None:
    with pytest.raises(ProblemError, match="keeps no groups"):
        await Asked(bench, None)("group_list")
    ask = Asked(bench, FakeGroups(Hut=start("ab")["a"]))
    for command, arguments in (
        ("group_create", {"name": ""}),
        ("group_create", {"name": "x" * 2_000}),
        ("group_add", {"group": "Hut", "people": []}),
        ("group_add", {"group": "Hut", "people": ["00" * 32]}),
        ("group_add", {"group": "Hut", "people": ["12"]}),
        ("group_post", {"group": "Hut"}),
        ("group_post", {"group": "Hut", "text": "\ud800"}),
        ("group_read", {"group": "Hut", "limit": 0}),
        ("group_list", {"group": "Hut"}),
    ):
        with pytest.raises(BadRequestError):
            await ask(command, **arguments)


async def test_messages_that_there_cannot_be_are_refused(bench: Bench) -> None:
    class Strict(FakeGroups):
        def add(self, *_: Any) -> Any:
            raise GroupMessageError("group/add-member", "text", "has more than 1024 bytes")

    ask = Asked(bench, Strict(Hut=start("ab")["a"]))
    with pytest.raises(ProblemError, match=r"no such message.*1024 bytes\. Nothing was written\.") as refused:
        await ask("group_add", group="Hut", people=hexes("x"), text="long")
    assert refused.value.code == "group_refused"


async def test_the_desk_waits_until_the_groups_have_been_read(bench: Bench) -> None:
    groups = FakeGroups(Hut=start("ab")["a"])
    held = dict(groups.held)
    groups.held.clear()
    groups.read_all = False
    listing = asyncio.ensure_future(Asked(bench, groups)("group_list"))
    await asyncio.sleep(0)
    groups.held.update(held)
    groups.read_all = True
    (row,), _ = await listing
    assert row["name"] == "Hut"


async def test_what_keeps_the_node_from_its_duty_is_told(bench: Bench) -> None:
    groups = FakeGroups(Hut=start("ab")["a"])
    (root,) = groups.held
    groups.problems[root] = LocalError("the set is full")
    groups.held[root].broken[MessageId(bytes(20))] = InvalidGroupEntry(
        MessageId(bytes(20)), person("b"), 3, person("b"), GroupEntryFault.FORM, "is no list"
    )
    ask = Asked(bench, groups)
    assert (await ask("group_show", group="Hut"))[1]["problem"] == "The set is full."
    lines, result = await ask("group_audit", group="Hut")
    assert result["count"] == len(lines)
    assert (lines[-1]["kind"], lines[-1]["rule"], lines[-1]["flaw"]) == ("broken", "form", "is no list")


async def test_a_group_whose_texts_are_erased_shows_how_far_back_a_thief_reads(bench: Bench) -> None:
    groups = FakeGroups()
    ask = Asked(bench, groups)
    _, made = await ask("group_create", name="Hut", erase_days=7)
    _, shown = await ask("group_show", group="hut")
    assert shown["erased"] == {"after_days": 7, "open_days": 0, "lacking": False}
    (member,) = groups.members.values()
    say(member, "the cover")
    said = member.here.said(list(member.here.tangle)[-1])
    assert isinstance(said.message, GroupContent)
    groups.covered[said.id] = replace(said.message, body=post("what was covered")[1])
    (*_, row), _ = await ask("group_read", group=made["group"])
    assert (row["kind"], row["text"]) == ("post", "what was covered")
    answered = member.here.root
    groups.covered[said.id] = replace(said.message, body=post("an answer", answered)[1])
    (*_, row), _ = await ask("group_read", group=made["group"])
    assert row["reply_to"] == answered.hex()
    other = Asked(bench, FakeGroups())
    _, kept = await other("group_create", name="Club")
    _, shown = await other("group_show", group=kept["group"])
    assert shown["erased"] is None
    before = len(groups.held)
    people = hexes("bc")
    _, cost = await ask("group_create", name="Club", erase_days=7, people=people, dry_run=True)
    assert (cost["group"], cost["messages"], cost["packets"]) == ("", 5, 18)
    assert len(groups.held) == before
    for days in (0, 366, "7"):
        with pytest.raises(LocalError, match="erase_days"):
            await ask("group_create", name="Long", erase_days=days)


async def test_a_fork_that_waits_is_shown_with_the_evidence_and_decided_on(bench: Bench) -> None:
    world, pretender = long_ago()
    fork = pretender.exclude([world["a"].id])
    world.settle(world.now_us)
    ask = Asked(bench, FakeGroups(Hut=world["d"]))
    (row,), _ = await ask("group_list")
    assert row["reviews"] == 1
    (review,), result = await ask("group_review", group="hut")
    assert result == {"count": 1}
    assert {name: review[name] for name in ("fork", "by", "excluded_by", "excludes", "out", "rejected")} == {
        "fork": fork.hex(), "by": hexes("c"), "excluded_by": hexes("a"), "excludes": hexes("a"),
        "out": hexes("a"), "rejected": False,
    }  # fmt: skip
    assert "days" in review["reasons"]
    _, cost = await ask("group_decide", group="hut", fork=review["fork"][:8], accept=True, dry_run=True)
    assert (cost["messages"], "begin" in cost["steps"]) == (4, True)
    for wrong in ("", "00", "zz"):
        with pytest.raises(ProblemError, match="Nothing was written"):
            await ask("group_decide", group="hut", fork=wrong, accept=True)

    _, written = await ask("group_decide", group="hut", fork=review["fork"], accept=False)
    assert (written["packets"], written["entries"]) == (0, [])
    (review,), _ = await ask("group_review", group="hut")
    assert review["rejected"]
    (row,), _ = await ask("group_list")
    assert row["reviews"] == 0

    _, written = await ask("group_decide", group="hut", fork=review["fork"], accept=True)
    assert written["packets"] > 0
    assert (await ask("group_review", group="hut"))[0] == []
    (row,), _ = await ask("group_list")
    assert row["members"] == hexes("bde")
    with pytest.raises(ProblemError, match="Nothing was written"):
        await ask("group_decide", group="hut", fork=review["fork"], accept=False)


async def test_a_group_is_renamed_and_muted(bench: Bench) -> None:
    world = start("ab")
    ask = Asked(bench, FakeGroups(Hut=world["a"]))
    _, cost = await ask("group_rename", group="Hut", name="Ski", dry_run=True)
    before = len(world["a"].here)
    assert cost["messages"] == 1
    await ask("group_rename", group="Hut", name="Ski")
    assert len(world["a"].here) == before + 1
    (*_, row), _ = await ask("group_read", group="Hut")
    assert (row["kind"], row["text"]) == ("group/name", "Ski")
    for name in ("", "x" * 1_025):
        with pytest.raises(BadRequestError, match="Nothing was written"):
            await ask("group_rename", group="Hut", name=name)
    for muted in (True, False):
        _, done = await ask("group_mute", group="Hut", muted=muted)
        assert (done["packets"], done["entries"]) == (0, [])
        (row,), _ = await ask("group_list")
        assert row["muted"] is muted
        assert (await ask("group_show", group="Hut"))[1]["muted"] is muted


async def test_members_who_wrote_after_a_message_are_known_to_have_it(bench: Bench) -> None:
    world = start("abc")
    a, b = world["a"], world["b"]
    ask = Asked(bench, FakeGroups(Hut=a))
    say(a, "one")
    b.receive(world.all.values())
    say(a, "two")
    say(b, "having one, and not two")
    a.receive(world.all.values())

    async def held() -> dict[str, list[str]]:
        rows, _ = await ask("group_read", group="Hut")
        assert {row["expected"] for row in rows} == {0, 2}
        return {row["text"]: row["holders"] for row in rows if row["kind"] == "post" and row["own"]}

    assert await held() == {"one": hexes("b"), "two": []}
    world["c"].receive(world.all.values())
    say(world["c"], "having both")
    a.receive(world.all.values())
    assert await held() == {"one": hexes("bc"), "two": hexes("c")}
    rows, _ = await ask("group_read", group="Hut")
    assert {row["expected"] for row in rows if not row["own"]} == {0}
