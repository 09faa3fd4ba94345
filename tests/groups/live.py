"""`python -m tests.groups.live`: the search of `search.py` on real nodes, with everything from the seal to the store.

Each seed is a group of 3 to 20 people, each with a node of the simulator, and two beside it. Cables make trees of them,
which are cut to pieces and laid anew. People add, exclude, take on again and talk; power is lost, also just before
something is written, and in the middle of an exclusion; some never come back. Then all are connected, and after some
hours what docs/reference/groups.md promises is checked.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Final

import pytest

from tests.groups.mesh import HOUR_US, MINUTE_US, SECOND_US, Mesh
from tests.groups.pretender import on_node
from tests.groups.search import entitled
from tests.groups.seeds import happened_in, parser, play_all
from tinyssb_node import limits
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.epochs import NOBODY
from tinyssb_node.groups.manager import GroupManager
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import GroupContent, text_of
from tinyssb_node.groups.plan import GroupRefusalError
from tinyssb_node.groups.secrecy import Exposure
from tinyssb_node.groups.writer import GroupWriterPort
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.scheduling.link import stream_profile
from tinyssb_node.store.port import FeedRecord

NAMES: Final = "abcdefghijklmnopqrstuv"
BESIDE: Final = 2
"""People who are not in the group, and may be added."""
FOUNDERS: Final = (3, 20)
"""Least and most people that a group begins with; most groups are small."""
STEPS: Final = (8, 24)
"""Least and most things that happen while a group is in pieces."""
LATENCY_US: Final = 50_000
QUIET: Final = replace(stream_profile(), advert_max_us=15 * MINUTE_US)
"""Cables on which little is said while nothing happens: hours of silence cost more than all else."""
ERASE_DAYS: Final = 30
"""After how many days the texts of every other group are erased: later than a history lasts."""
LATE_US: Final = 12 * HOUR_US
"""How long after an exclusion a fork is late here: a week of silence would cost more than all else."""
DECISIONS_MAX: Final = 50
"""Most forks that people decide on until all is settled."""
PRETENCES_MAX: Final = 3
"""Most exclusions by the excluded person who pretends not to have heard of it."""
CALM_US: Final = 24 * HOUR_US
"""Time after which all has to be done that there is to do, and all feeds that ended have left the set."""


class Country(Mesh):
    """Nodes on sparse cables."""

    def _lay(self, wanted: set[tuple[str, str]]) -> None:
        for pair in sorted(self.cables - wanted):
            self.world.disconnect(*pair)
        for pair in sorted(wanted - self.cables):
            self.world.connect(*pair, LATENCY_US, LATENCY_US, QUIET)
        self.cables = wanted

    def plant(self, chance: Random, *parts: str) -> None:
        """Lay cables that make a tree of each part, and one more."""
        pairs = set()
        for part in parts:
            for number, name in enumerate(part[1:], 1):
                pairs.add((part[chance.randrange(number)], name))
            if len(part) > 2:
                pairs.add((chance.choice(part[:-1]), part[-1]))
        self._lay({(min(pair), max(pair)) for pair in pairs})

    def up(self, name: str) -> bool:
        """Return whether a person's node has power."""
        return self.world.inhabitants[name].up

    def records(self, name: str) -> Sequence[FeedRecord]:
        """Return the feeds of a person's set, and those beyond it."""
        return [record for record in self.world.inhabitants[name].node.feeds() if not record.retired]


@dataclass(slots=True)
class Played:
    """A history, as far as it was played."""

    mesh: Country
    chance: Random
    names: str
    root: MessageId
    gone: str
    """People who never come back."""
    happened: Counter[str] = field(default_factory=Counter)
    largest: int = 0
    """Most feeds that were in anybody's set."""

    @property
    def here(self) -> str:
        """People who are still there."""
        return "".join(name for name in self.names if name not in self.gone)

    def pass_time(self, span_us: int) -> None:
        """Let time pass."""
        self.mesh.settle(span_us)
        self.largest = max(self.largest, *(len(self.mesh.records(name)) for name in self.names))

    def member(self, name: str) -> bool:
        """Return whether a person can read the group, or could."""
        return self.root in self.mesh[name].reader.groups

    def prefers(self, name: str) -> MessageId | None:
        """Return the epoch that a person writes in."""
        return self.mesh.prefers(name, self.root) if self.member(name) else None


# --- events


def begin(seed: int) -> Played:
    """A group over which chance will reign."""
    chance = Random(seed)
    least, most = FOUNDERS
    size = least + int((most - least + 1) * chance.random() ** 3)
    names = NAMES[: size + BESIDE]
    mesh = Country(names, seed, star=True)
    root = mesh.create("a", erase_days=ERASE_DAYS if seed % 2 else None)
    for at in range(1, size, limits.GROUP_ADD_MAX):
        mesh.add("a", root, names[at : min(size, at + limits.GROUP_ADD_MAX)])
    mesh.settle(10 * SECOND_US)
    gone = "".join(chance.sample(names, chance.choice([0, 0, 0, 1, 2])))
    return Played(mesh, chance, names, root, gone)


def unfold(played: Played, steps: int | None = None) -> None:
    """Play the events while the group is in pieces; only the first *steps*, if given."""
    chance = played.chance
    length = chance.randint(*STEPS)
    for now in range(length if steps is None else min(length, steps)):
        if not now or chance.random() < 0.3:
            played.mesh.plant(chance, *_split(chance, played.names))
        _happen(played)
        played.pass_time(chance.choice([0, SECOND_US, MINUTE_US, 10 * MINUTE_US, HOUR_US]))


def heal(played: Played) -> None:
    """Connect all who are left, and let them do what there is to do."""
    mesh = played.mesh
    for name in played.gone:
        mesh.crash(name, 1_000_000 * HOUR_US)
    for inhabitant in mesh.world.inhabitants.values():
        inhabitant.down_us = None  # power is lost no more
    names = list(played.here)
    played.chance.shuffle(names)
    mesh.plant(played.chance, "".join(names))
    back_us = max(0, mesh.world.calm_us - mesh.world.now_us) if not played.gone else 3 * HOUR_US
    played.pass_time(back_us + MINUTE_US)
    _until(played, lambda: not any(_busy(played, name) for name in played.here), "somebody is never done")
    for _ in range(DECISIONS_MAX):
        if not _decide(played):
            return
        played.happened["accepted by a person"] += 1
        played.pass_time(MINUTE_US)
        _until(played, lambda: not any(_busy(played, name) for name in played.here), "somebody is never done")
    raise AssertionError("people decide for ever")


def _decide(played: Played) -> bool:
    """Let somebody accept a fork that waits for them: here nobody pretends. Returns whether anybody did."""
    for name in played.chance.sample(played.here, len(played.here)):
        for late in played.mesh.group(name, played.root).late_forks if played.member(name) else ():
            try:
                played.mesh.do(name, partial(_accept, root=played.root, fork=late.tip))
            except GroupRefusalError:
                continue
            return True
    return False


def _accept(
    groups: GroupManager, pen: GroupWriterPort, now_us: int, *, root: MessageId, fork: MessageId
) -> object:
    return groups.accept(pen, root, fork, now_us)


def pretend(played: Played) -> None:
    """Let an excluded person come back, pretend not to have heard of it, and exclude others one by one. Raises
    AssertionError if that takes anybody out."""
    mesh, root, chance = played.mesh, played.root, played.chance
    readers = [name for name in played.here if played.member(name)]
    owed = entitled(together(played, readers))
    inside = [name for name in readers if mesh.id(name) in owed]
    last = played.prefers(inside[0]) if inside else None
    if last is None:
        return
    epoch = mesh.group(inside[0], root).view[last]
    excluded = epoch.without - epoch.members
    out = [name for name in readers if mesh.id(name) in excluded and played.prefers(name) is not None]
    if not out:
        return
    before = _members_of(played, inside[0])
    played.pass_time(LATE_US)
    pretender = on_node(mesh, chance.choice(out), root)
    for one in [mesh.id(name) for name in chance.sample(inside, len(inside))][:PRETENCES_MAX]:
        if one in pretender.members:
            pretender.exclude([one], inside=chance.random() < 0.8)
            played.happened["exclusions by pretenders"] += 1
            played.pass_time(HOUR_US)
            lost = [name for name in inside if before - _members_of(played, name)]
            assert not lost, f"an excluded person took others out of the epoch of {', '.join(lost)}"


def _members_of(played: Played, name: str) -> frozenset[FeedId]:
    """Return the members of the epoch that a person prefers, without those excluded from it."""
    init = played.prefers(name)
    epoch = None if init is None else played.mesh.group(name, played.root).view[init]
    return frozenset() if epoch is None else epoch.members - epoch.excluded


def _until(played: Played, reached: Callable[[], bool], otherwise: str) -> None:
    end_us = played.mesh.world.now_us + CALM_US
    while not reached():
        assert played.mesh.world.now_us < end_us, otherwise
        played.pass_time(30 * MINUTE_US)


def _busy(played: Played, name: str) -> bool:
    """Return whether a person has a task for the group, now or later."""
    groups, now_us = played.mesh[name], played.mesh.world.now_us
    return played.member(name) and bool(groups.due(played.root, now_us))


def _split(chance: Random, names: str) -> list[str]:
    """The people in one to three pieces."""
    pieces: dict[int, list[str]] = {}
    count = chance.randint(1, 3)
    for name in chance.sample(names, len(names)):
        pieces.setdefault(chance.randrange(count), []).append(name)
    return ["".join(piece) for piece in pieces.values()]


def _happen(played: Played) -> None:
    """Let an event happen to a person."""
    chance, mesh, names, root = played.chance, played.mesh, played.names, played.root
    name = chance.choice(names)
    prefers = played.prefers(name) if mesh.up(name) else None
    if prefers is None:
        return
    group = mesh.group(name, root)
    inside = [one for one in names if one != name and mesh.id(one) in group.view[prefers].members]
    outside = [one for one in names if one != name and one not in inside]
    known = [one for one in outside if mesh.id(one) in group.resolved.barred]
    match chance.choice(["add", "again", "exclude", "exclude", "say", "crash", "torn"]):
        case "add" if outside:
            _change(played, name, GroupManager.add, chance.sample(outside, 1), None)
        case "again" if known:
            _change(played, name, GroupManager.add, chance.sample(known, 1), None)
        case "exclude" if inside:
            _change(
                played,
                name,
                GroupManager.exclude,
                chance.sample(inside, chance.randint(1, min(3, len(inside)))),
            )
        case "crash":
            _lose_power(played, name, torn=False)
        case "torn":
            _lose_power(played, name, torn=True)
        case _:
            _say(played, name, f"{name} at {mesh.world.now_us}")


def _lose_power(played: Played, name: str, *, torn: bool) -> None:
    played.happened["crashes"] += 1
    down_us = played.chance.choice([SECOND_US, 10 * MINUTE_US, 3 * HOUR_US])
    played.mesh.world.crash(name, down_us, torn=torn)


def _change(
    played: Played, name: str, deed: Callable[..., object], people: Iterable[str], *more: object
) -> None:
    """Let a person change the members, or stop in the middle of it; it may do nothing, if it is against the rules."""
    mesh, chance = played.mesh, played.chance
    ids = [mesh.id(one) for one in people]

    def do(groups: GroupManager, pen: GroupWriterPort, now_us: int) -> object:
        return deed(groups, pen, played.root, ids, *more, now_us)

    try:
        if chance.random() < 0.8:
            mesh.do(name, do)
        elif not mesh.cut_short(name, do, chance.randint(1, 3)):
            played.happened["cut short"] += 1
            _lose_power(played, name, torn=False)
    except GroupRefusalError:
        played.happened["refused"] += 1


def _say(played: Played, name: str, text: str) -> bool:
    try:
        played.mesh.say(name, played.root, text)
    except GroupRefusalError:
        return False
    return True


# --- conditions afterwards


def check(played: Played) -> None:
    """Raise AssertionError if entitled people do not agree, or if an excluded person can read their messages."""
    mesh, root = played.mesh, played.root
    readers = [name for name in played.here if played.member(name)]
    for name in readers:
        own = [line for line in mesh.group(name, root).audit() if line.said.author == mesh.id(name)]
        flaws = {line.flaw.what for line in own if line.flaw is not None}
        assert not flaws, f"{name} wrote what {', '.join(sorted(flaws))}"
    group = together(played, readers)
    owed = entitled(group)
    remaining = [name for name in played.here if mesh.id(name) in owed]
    played.happened.update(happened_in(group, owed, len(remaining), len(played.gone)))
    played.happened["virtual hours"] += played.mesh.world.now_us // HOUR_US
    if not remaining:
        return
    preferred = {played.prefers(name) for name in remaining}
    assert len(preferred) == 1, f"{''.join(remaining)} prefer {len(preferred)} epochs"
    (last,) = preferred
    assert last is not None, f"{''.join(remaining)} are in no epoch"
    epoch = group.view[last]
    lost = mesh.names(owed - epoch.members)
    assert not lost, f"{lost} are locked out"
    out = NOBODY.union(
        *(
            people
            for id_, people in group.resolved.standing.items()
            if group.view.exclusions[id_].by in epoch.members
        )
    )
    assert not out & epoch.members, f"{mesh.names(out & epoch.members)} are excluded, and still in the epoch"
    keep = [name for name in played.names if epoch.key in mesh[name].reader.keys_of(root)]
    strangers = "".join(name for name in keep if mesh.id(name) not in epoch.members)
    assert not strangers, f"{strangers} have the key and are not in the epoch"
    _talk(played, remaining, epoch.members)


def together(played: Played, readers: Iterable[str]) -> Group:
    """Return the texts that all present people can read."""
    found: Group | None = None
    for name in readers:
        group = played.mesh.group(name, played.root)
        found = found or Group(group.group, group.root)
        for line in group.audit():
            found.add(line.said)
    assert found is not None, "nobody can read anything"
    return found


def _talk(played: Played, remaining: Sequence[str], inside: frozenset[FeedId]) -> None:
    """All who remain say something, which they and nobody outside can read; then feeds leave the set."""
    if _exposure(played, remaining[0]) is not None:
        assert _say(played, remaining[0], "who lacks a key?"), f"{remaining[0]} may not write"
        _until(
            played, lambda: all(map(partial(_has_keys, played), remaining)), "somebody lacks a key of texts"
        )
    texts = {f"still here, {name}" for name in remaining}
    for name in remaining:
        assert _say(played, name, f"still here, {name}"), f"{name} may not write"
    played.pass_time(5 * MINUTE_US)
    for name in played.here:
        read = texts & _texts(played, name)
        assert name not in remaining or read == texts, f"{name} cannot read {sorted(texts - read)}"
        assert not read or played.mesh.id(name) in inside, f"{name} can read what is none of his business"
    _until(played, lambda: _agreed(played), "the sets of feeds never agree")
    assert played.largest < limits.SET_MAX, "a set was full"
    problems = [name for name in played.here if played.mesh[name].problems]
    assert not problems, f"{problems} could not write"


def _exposure(played: Played, name: str) -> Exposure | None:
    return played.mesh[name].secrecy.exposure(played.root)


def _has_keys(played: Played, name: str) -> bool:
    """Return whether a person can read what is written now."""
    exposure = _exposure(played, name)
    return exposure is not None and exposure.open_days > 0 and "who lacks a key?" in _texts(played, name)


def _texts(played: Played, name: str) -> set[str]:
    """Return all texts that a person can read, also those that follow messages they no longer fetch (R25)."""
    if not played.member(name):
        return set()
    opened = partial(played.mesh[name].secrecy.opened, played.root)
    messages = [opened(line.said) for line in played.mesh.group(name, played.root).audit()]
    return {text for one in messages if isinstance(one, GroupContent) and (text := text_of(one)) is not None}


def _agreed(played: Played) -> bool:
    """Return whether all have the same set."""
    sets = {
        frozenset(record.feed for record in played.mesh.records(name) if record.in_set)
        for name in played.here
    }
    return len(sets) == 1


# --- the command


def broken(seed: int, steps: int | None = None) -> tuple[Played, str | None]:
    """Play a seed. Returns what broke, in words; None: nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_limits, "LATE_US", LATE_US)
        return _broken(seed, steps)


def _broken(seed: int, steps: int | None) -> tuple[Played, str | None]:
    played = begin(seed)
    try:
        unfold(played, steps)
        heal(played)
        check(played)
        pretend(played)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is to be told with its seed
        return played, f"{type(error).__name__}: {error}"
    return played, None


def main(words: Sequence[str] | None = None) -> int:
    """Play seeds. Returns 1 if any broke something."""
    taken = parser("python -m tests.groups.live", __doc__)
    taken.add_argument("--seed", type=int, metavar="K", help="this one only")
    asked = taken.parse_args(words)
    largest = 0

    def play(seed: int) -> tuple[Mapping[str, int], str | None]:
        nonlocal largest
        played, what = broken(seed, asked.steps)
        largest = max(largest, played.largest)
        if what is not None:
            what += f'\n  again: make search-groups-live ARGS="--seed {seed}"'
        return played.happened, what

    seeds = range(asked.first, asked.first + asked.seeds) if asked.seed is None else [asked.seed]
    return play_all(seeds, play, asked.failures, lambda: f"; largest set {largest} feeds")


if __name__ == "__main__":
    sys.exit(main())
