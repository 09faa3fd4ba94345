"""`python -m tests.groups.search`: groups that split and meet again, as often as you like.

Each seed is a group of 3 to 20 people, each with the messages that reached them and the keys that they were given. In
parts that have not heard of each other they add and exclude people, also each other, are interrupted, add people again,
and some never come back; in every other group somebody grinds keys. Then those who are left meet, and the promises of
docs/reference/groups.md are checked. A month later an excluded person pretends not to have heard of it.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.groups.pretender import in_model
from tests.groups.seeds import happened_in, parser, play_all
from tests.groups.world import Member, World, followed, start
from tinyssb_node.groups.epochs import NOBODY, Exclusion, People
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import (
    AddMember,
    ExcludeMember,
    GroupContent,
    GroupInit,
    MessageFlaw,
    OpenedGroupMessage,
)
from tinyssb_node.groups.plan import GroupRefusalError, RefusalReason, Step, add, exclude
from tinyssb_node.ids import FeedId, MessageId

NAMES: Final = "abcdefghijklmnopqrstuvwx"
FOUNDERS: Final = (3, 20)
"""Least and most people that a group begins with."""
BESIDE: Final = 4
"""People who are not in it, and may be added."""
STEPS: Final = (10, 40)
"""Least and most things that happen while a group is in pieces."""
STEP_US: Final = 600_000_000
"""Time between two of them: ten minutes, so that some waits are over before all meet."""
HASTY: Final = 0.5
"""Of how many groups messages come in any order, but for those of one feed."""
GRINDING: Final = 0.5
"""In how many groups somebody grinds keys: each of theirs is so small that it wins the tie-break."""
HURRIED: Final = 3
"""How often everybody in such a group acts before all messages have reached them."""
HEALED_US: Final = 10_000_000_000
"""When all meet."""
MONTH_US: Final = 30 * 86_400_000_000
"""How long an excluded person waits before they pretend not to have heard of it."""
PRETENCES_MAX: Final = 3
"""Most exclusions by each of them."""
DECISIONS_MAX: Final = 50
"""Most forks that people decide on until all is settled."""


@dataclass(frozen=True, slots=True)
class Played:
    """A history, as far as it was played."""

    world: World
    chance: Random
    names: str
    gone: str
    """People who never come back."""
    hasty: bool
    """True if people never have the time to exchange all their messages before all meet for good."""
    happened: Counter[str] = field(default_factory=Counter)


# --- events


def begin(seed: int) -> Played:
    """A group over which chance will reign."""
    chance = Random(seed)
    size = chance.randint(*FOUNDERS)
    names = NAMES[: size + BESIDE]
    gone = "".join(chance.sample(names, chance.choice([0, 0, 0, 1, 2])))
    world = start(names[:size], names[size:])
    grinder = Random(f"grinding in {seed}")
    if grinder.random() < GRINDING:
        world.grinding.add(grinder.choice(names))
    return Played(world, chance, names, gone, chance.random() < HASTY)


def unfold(played: Played, steps: int | None = None) -> None:
    """Play the events while the group is in pieces; only the first *steps*, if given."""
    chance = played.chance
    length = chance.randint(*STEPS)
    pieces = [played.names]
    for now in range(length if steps is None else min(length, steps)):
        if chance.random() < 0.2:
            pieces = _split(chance, played.names)
        _happen(played, now * STEP_US)
        piece = chance.choice(pieces)
        if len(piece) > 1 and chance.random() < 0.6:
            _meet(played, chance.sample(piece, chance.randint(2, len(piece))))


def heal(played: Played) -> None:
    """Let all who are left meet, and do what there is to do; some do it between two messages that reach them."""
    now_us = HEALED_US
    if played.hasty:
        left = [name for name in played.names if name not in played.gone]
        for _ in range(HURRIED):
            for name in played.chance.sample(left, len(left)):
                _meet(played, left)
                played.world[name].act(now_us)
            now_us += played.chance.choice([1, STEP_US])
    played.world.settle(now_us, played.gone)
    decide(played)


def decide(played: Played) -> None:
    """Let people accept what waits for them, one after the other: here nobody pretends, and none may be left."""
    world = played.world
    for _ in range(DECISIONS_MAX):
        waiting = [
            (member, late.tip)
            for name, member in world.members.items()
            if name not in played.gone and member.group is not None
            for late in member.here.late_forks
        ]
        played.chance.shuffle(waiting)
        if not any(_accepted(member, tip) for member, tip in waiting):
            return
        played.happened["accepted by a person"] += 1
        world.settle(world.now_us, played.gone)
    raise AssertionError("people decide for ever")


def _accepted(member: Member, tip: MessageId) -> bool:
    try:
        member.accept(tip)
    except GroupRefusalError:
        return False
    return True


def pretend(played: Played, people: int = 1) -> None:
    """Let excluded *people* come back after a month, pretend not to have heard of it, and exclude others one by one.

    Raises AssertionError if that takes anybody out."""
    world, chance = played.world, played.chance
    here = [name for name in played.names if name not in played.gone and world[name].group is not None]
    before = {name: _members_of(world[name]) for name in here}
    owed = entitled(world.omniscient(played.gone))
    inside = [name for name in here if world[name].id in owed]
    if not inside:
        return
    last = world[inside[0]].prefers
    assert last is not None
    epoch = world[inside[0]].here.view[last]
    excluded = epoch.without - epoch.members
    out = [name for name in here if before[name] is not None and world[name].id in excluded]
    world.now_us += MONTH_US
    for name in chance.sample(out, min(len(out), people)):
        if world.grinding:
            world.grinding.add(name)
        pretender = in_model(world[name])
        ahead = [world[other].id for other in chance.sample(here, len(here)) if other != name]
        for _ in range(PRETENCES_MAX):
            named = [one for one in ahead if one in pretender.members][: chance.choice([1, 1, 2])]
            if not named:
                break
            pretender.exclude(named, inside=chance.random() < 0.8)
            played.happened["exclusions by pretenders"] += 1
            world.settle(world.now_us, played.gone)
            after = {other: _members_of(world[other]) for other in here}
            lost = [one for one in inside if (before[one] or NOBODY) - (after[one] or NOBODY)]
            assert not lost, f"{name}, who is excluded, took others out of the epoch of {', '.join(lost)}"


def _members_of(member: Member) -> People | None:
    """Return the members of the epoch that a person prefers, without those excluded from it."""
    if member.prefers is None:
        return None
    epoch = member.here.view[member.prefers]
    return epoch.members - epoch.excluded


def _meet(played: Played, names: Sequence[str]) -> None:
    if played.hasty:
        played.world.meet_briefly(played.chance, *names)
    else:
        played.world.meet(*names)


def _split(chance: Random, names: str) -> list[str]:
    """The people in one to four pieces."""
    pieces: dict[int, list[str]] = {}
    count = chance.randint(1, 4)
    for name in names:
        pieces.setdefault(chance.randrange(count), []).append(name)
    return ["".join(piece) for piece in pieces.values()]


def _happen(played: Played, now_us: int) -> None:
    """Let an event happen to a person."""
    chance, names = played.chance, played.names
    member = played.world[chance.choice(names)]
    if member.group is None or member.prefers is None:
        return
    people = [played.world[name].id for name in names if name != member.name]
    inside = [one for one in people if one in member.here.view[member.prefers].members]
    outside = [one for one in people if one not in inside]
    known = [one for one in outside if one in member.here.resolved.barred]
    match chance.choice(["add", "add", "again", "exclude", "exclude", "say", "act"]):
        case "add" if outside:
            some = chance.sample(outside, 1)
            _attempt(played, member, lambda: add(member.here, member.id, some))
        case "again" if known:
            some = chance.sample(known, 1)
            _attempt(played, member, lambda: add(member.here, member.id, some))
        case "exclude" if inside:
            some = chance.sample(inside, chance.randint(1, min(3, len(inside))))
            _attempt(played, member, lambda: exclude(member.here, member.id, some))
        case "say":
            member.say("hello")
        case _:
            member.act(now_us, most=chance.randint(1, 3))


def _attempt(played: Played, member: Member, steps: Callable[[], tuple[Step, ...]]) -> None:
    """Write what is asked for, or stop in the middle of it; or nothing, if it is against the rules."""
    try:
        wanted = steps()
    except GroupRefusalError as refused:
        played.happened["refused at a bound"] += refused.refusal is RefusalReason.EPOCHS
        return
    chance = played.chance
    kept = wanted[: chance.randint(1, len(wanted))] if chance.random() < 0.3 else wanted
    played.happened["cut short"] += len(kept) < len(wanted)
    member.do(kept)


# --- conditions afterwards


def check(played: Played) -> None:
    """Raise AssertionError if entitled people do not agree, or if an excluded person can read their messages."""
    world, gone = played.world, played.gone
    check_own(played)
    group = world.omniscient(gone)
    view = group.view
    owed = entitled(group)
    names = {member.id: member.name for member in world.members.values()}
    remaining = [member for name, member in world.members.items() if member.id in owed and name not in gone]
    played.happened.update(happened_in(group, owed, len(remaining), len(played.gone)))
    preferred = {member.prefers for member in remaining}
    if not preferred:
        return
    assert len(preferred) == 1, f"{_names(owed, names)} prefer {len(preferred)} epochs"
    (last,) = preferred
    assert last is not None, f"{_names(owed, names)} are in no epoch"
    inside = view[last].members
    assert owed <= inside, f"{_names(owed - inside, names)} are locked out"
    out = _acted_on(group, remaining, inside)
    assert not out & inside, f"{_names(out & inside, names)} are excluded, and still in the epoch"
    readers = frozenset(member.id for member in world.members.values() if view[last].key in member.keys)
    assert readers <= inside, f"{_names(readers - inside, names)} have the key and are not in the epoch"
    _check_unasked(world, group)
    _check_measure(world, group)
    _talk(world, gone, remaining, inside)


def _acted_on(group: Group, remaining: Sequence[Member], inside: People) -> People:
    """Return the people whom somebody in the epoch excluded, by a message that another remaining person can read.

    There may be none who can: an exclusion from a fork whose other members never come back is readable by the people
    whom it names, and by nobody else (seed 102). Others cannot act on what they cannot read, and the people named
    cannot exclude themselves (R1). So these stay in the epoch; their own nodes know that they are out, and refuse to
    post (`test_told.py`).
    """
    return NOBODY.union(
        *(
            people
            for id_, people in group.resolved.standing.items()
            if group.view.exclusions[id_].by in inside
            and any(id_ in member.here for member in remaining if member.id not in people)
        )
    )


def check_own(played: Played) -> None:
    """Raise AssertionError if anybody wrote a message that they knew not to count."""
    for member in played.world.members.values():
        own = (
            []
            if member.group is None
            else [line for line in member.here.audit() if line.said.author == member.id]
        )
        flaws = {line.flaw.what for line in own if line.flaw is not None and not _unheard(played, line.flaw)}
        assert not flaws, f"{member.name} wrote what {', '.join(sorted(flaws))}"


def _check_unasked(world: World, group: Group) -> None:
    """Check that nobody is added again without a request by a person who had not heard of the exclusion."""
    messages = {id_: said.message for id_, said in world.all.items()}
    added = {
        id_: {*one.people} for id_, one in messages.items() if isinstance(one, AddMember) and id_ in group
    }
    for id_ in added.keys() & world.unasked.keys():
        for one in group.view.exclusions.values():
            again = added[id_] & one.people
            if again and one.id not in world.unasked[id_] and one.id in followed(messages, id_):
                asked = [other for other in added.keys() - world.unasked.keys() if added[other] & again]
                known = any(one.id in followed(messages, other) for other in asked)
                assert known, "somebody was taken on again unawares"


def _check_measure(world: World, group: Group) -> None:
    """Check that each epoch that a plan began is greater than all that it follows, as the argument needs by which plans
    come to rest (docs/reference/groups.md, why it ends)."""
    messages = {id_: said.message for id_, said in world.all.items()}

    def measure(init: MessageId) -> tuple[int, int]:
        asked = [id_ for id_ in followed(messages, init) - world.unasked.keys() if id_ in group]
        epoch = group.view[init]
        changes = sum(not isinstance(messages[id_], GroupContent) for id_ in asked)
        return changes, len(epoch.without) + len(epoch.without - epoch.members)

    for init, epoch in group.view.epochs.items():
        if init in world.unasked:
            assert measure(init) > max(map(measure, epoch.previous)), "an epoch leaves out nobody anew"


def _unheard(played: Played, flaw: MessageFlaw) -> bool:
    """Return whether the author may have written it without knowing: they followed a person who had heard of their
    exclusion."""
    return played.hasty and flaw.rule in {"R1", "R2"}


def _talk(world: World, gone: str, remaining: Sequence[Member], inside: People) -> None:
    """All who remain say something, which they and nobody outside can read."""
    before = set(world.all)
    for member in remaining:
        member.say("still here")
    world.meet(*(name for name in world.members if name not in gone))
    said = world.all.keys() - before
    for name, member in world.members.items():
        read = {id_ for id_ in said if member.group is not None and id_ in member.here}
        assert member not in remaining or read == said, f"{name} cannot read what others say"
        assert not read or member.id in inside, f"{name} can read what is none of his business"


def entitled(group: Group) -> People:
    """Return the entitled people: nobody excluded them, or an entitled person added them again, knowing of it."""
    view = group.view
    lines = group.audit()
    messages = {line.said.id: line.said.message for line in lines}
    additions = [
        (line.said, frozenset(line.said.message.people), followed(messages, line.said.id))
        for line in lines
        if line.flaw is None
        and isinstance(line.said.message, AddMember)
        and line.said.message.members_tangle.root in view.epochs
    ]
    excluded = NOBODY.union(*(exclusion.people for exclusion in view.exclusions.values()))
    owed = NOBODY.union(*(people for _, people, _ in additions)) - excluded
    owed = owed.difference(*group.resolved.doubtful.values())
    while True:
        again = frozenset(
            person
            for person in excluded - owed
            if all(
                any(
                    person in people and each.author in owed and _undoes(group, each, known, exclusion)
                    for each, people, known in additions
                )
                for exclusion in view.exclusions.values()
                if person in exclusion.people
            )
        )
        if not again:
            return owed
        owed |= again


def _undoes(group: Group, addition: OpenedGroupMessage, known: set[MessageId], exclusion: Exclusion) -> bool:
    """Return whether an addition adds people again: its author knew of the exclusion, and so did the epoch's
    creator."""
    message = addition.message
    assert isinstance(message, AddMember)
    epoch = message.members_tangle.root
    assert epoch is not None
    return (
        exclusion.id in known
        and addition.author not in exclusion.people
        and exclusion.epoch in group.view.chain(epoch)
        and (epoch == exclusion.epoch or exclusion.id in group.view[epoch].exclusions)
    )


def _names(people: People, names: Mapping[FeedId, str]) -> str:
    return ", ".join(sorted(names[person] for person in people))


# --- the command


def story(world: World) -> list[str]:
    """Return a line for each message but posts, with its predecessors."""
    names = {member.id: member.name for member in world.members.values()}
    numbers = {id_: number for number, id_ in enumerate(world.all)}
    epochs: dict[MessageId | None, str] = {}
    lines = []
    for id_, said in world.all.items():
        message = said.message
        if isinstance(message, GroupInit):
            epochs[id_] = f"E{len(epochs)}"
            behind = ", ".join(epochs[one] for one in message.epoch_tangle.previous)
            what = f"begins {epochs[id_]}" + (f" behind {behind}" if behind else "")
        elif isinstance(message, AddMember):
            what = f"adds {_names(frozenset(message.people), names)} to {epochs[message.members_tangle.root]}"
        elif isinstance(message, ExcludeMember):
            what = f"excludes {_names(message.people, names)} from {epochs[message.members_tangle.root]}"
        else:
            continue
        follows = ", ".join(str(numbers[one]) for one in message.group_tangle.previous)
        lines.append(f"{numbers[id_]:4} {names[said.author]} {what} (follows {follows or 'nothing'})")
    wanted = {name: epochs[member.prefers] for name, member in world.members.items() if member.prefers}
    return [*lines, "     " + ", ".join(f"{name} prefers {epoch}" for name, epoch in wanted.items())]


def broken(seed: int, steps: int | None = None, pretenders: int = 1) -> tuple[Played, str | None]:
    """Play a seed, with so many *pretenders* in the end. Returns what broke, in words; None: nothing."""
    played = begin(seed)
    try:
        unfold(played, steps)
        heal(played)
        check(played)
        pretend(played, pretenders)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is to be told with its seed
        return played, f"{type(error).__name__}: {error}"
    return played, None


def _shortest(seed: int, pretenders: int) -> int:
    """The fewest steps after which a seed that breaks something does so."""
    return next(steps for steps in range(STEPS[1] + 1) if broken(seed, steps, pretenders)[1] is not None)


def main(words: Sequence[str] | None = None) -> int:
    """Play seeds. Returns 1 if any broke something."""
    taken = parser("python -m tests.groups.search", __doc__)
    taken.add_argument("--show", action="store_true", help="print what was written")
    taken.add_argument(
        "--pretenders",
        type=int,
        default=1,
        metavar="P",
        help="how many excluded people pretend; the group is not protected from more than one (default: 1)",
    )
    asked = taken.parse_args(words)

    def play(seed: int) -> tuple[Mapping[str, int], str | None]:
        played, what = broken(seed, asked.steps, asked.pretenders)
        if asked.show:
            print(*story(played.world), sep="\n")
        if what is not None:
            steps = _shortest(seed, asked.pretenders) if asked.steps is None else asked.steps
            again = f"--first {seed} --seeds 1 --steps {steps} --show"
            if asked.pretenders > 1:
                again += f" --pretenders {asked.pretenders}"
            what += f'\n  again: make search-groups ARGS="{again}"'
        return played.happened, what

    return play_all(range(asked.first, asked.first + asked.seeds), play, asked.failures)


if __name__ == "__main__":
    sys.exit(main())
