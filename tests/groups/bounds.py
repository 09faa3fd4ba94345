"""`python -m tests.groups.bounds`: the searches of `search.py` and `live.py` with every bound of groups lowered to 3.

Members reach the bounds within a few steps. Then nothing may fail, nobody may write what does not count, everybody
comes to rest, and where a bound keeps a member from acting, their plan says so.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from tests.groups import live
from tests.groups.mesh import HOUR_US
from tests.groups.search import Played, begin, check_own, heal, unfold
from tests.groups.seeds import parser, play_all
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.faults import GroupFaultError
from tinyssb_node.groups.plan import plan
from tinyssb_node.groups.writer import EpochNotCountedError

LOWERED: Final = (
    "EPOCHS_BY_ONE_MAX",
    "EPOCHS_UNASKED_MAX",
    "KEYS_BY_ONE_MAX",
    "KEYS_PUT_OFF_MAX",
    "FEEDS_OF_ONE_MAX",
    "HIDDEN_MAX",
    "UNREAD_MAX",
    "WAITING_MAX",
    "BROKEN_MAX",
    "TIPS_POST_MAX",
    "TIPS_MAX",
)
"""The bounds on what people write, and on what a reader keeps in memory."""
MOST: Final = 3
ROUNDS: Final = 4
"""How many times as much happens as in the other search."""


@contextmanager
def lowered(names: Sequence[str] = LOWERED, most: int = MOST) -> Iterator[None]:
    """Lower bounds for a while."""
    before = {name: getattr(group_limits, name) for name in names}
    for name in names:
        setattr(group_limits, name, most)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(group_limits, name, value)


def play(seed: int, steps: int | None = None) -> tuple[Played, str | None]:
    """Play a seed at the bounds. Returns what broke, in words; None: nothing."""
    played = begin(seed)
    try:
        with lowered():
            for _ in range(ROUNDS):
                unfold(played, steps)
            heal(played)
            if not played.hasty:  # else members follow those who had not heard everything yet
                check_own(played)
            for member in played.world.members.values():  # those who are held back can still write
                if member.prefers is not None:
                    member.say("still here")
            heal(played)
            bounded = _bounded(played)
            played.happened["members at a bound"] += len(bounded)
            played.happened["epochs"] += len(played.world.omniscient().view.epochs)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is to be told with its seed
        return played, f"{type(error).__name__}: {error}"
    return played, None


def _bounded(played: Played) -> set[str]:
    """Return the members whose plan says that they are at a bound."""
    return {
        name
        for name, member in played.world.members.items()
        if member.group is not None and plan(member.here, member.id, since_us={}, now_us=0, seed=b"").bounded
    }


def play_live(seed: int, steps: int | None = None) -> tuple[live.Played, str | None]:
    """Play a seed at the bounds on real nodes. Returns what broke, in words; None: nothing."""
    played = live.begin(seed)
    try:
        with lowered():
            live.unfold(played, steps)
            names = list(played.here)
            played.chance.shuffle(names)
            played.mesh.plant(played.chance, "".join(names))
            played.pass_time(12 * HOUR_US)
            for name in played.here:
                groups = played.mesh[name]
                for problem in groups.problems.values():
                    assert not isinstance(problem, GroupFaultError | EpochNotCountedError), problem.message
                    played.happened[type(problem).__name__] += 1
                if played.member(name):
                    played.happened["epochs"] += len(played.mesh.group(name, played.root).view.epochs)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is to be told with its seed
        return played, f"{type(error).__name__}: {error}"
    return played, None


def main(words: Sequence[str] | None = None) -> int:
    """Play seeds. Returns 1 if any broke something."""
    taken = parser("python -m tests.groups.bounds", __doc__)
    taken.add_argument("--live", action="store_true", help="on real nodes")
    asked = taken.parse_args(words)

    def one(seed: int) -> tuple[Mapping[str, int], str | None]:
        played, what = (play_live if asked.live else play)(seed, asked.steps)
        return played.happened, what

    return play_all(range(asked.first, asked.first + asked.seeds), one, asked.failures)


if __name__ == "__main__":
    sys.exit(main())
