"""Playing groups by seed, as the two searches do: what is asked for, how far it is, and what came of it."""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final

from tests.groups.world import followed
from tinyssb_node.groups.epochs import NOBODY, People
from tinyssb_node.groups.membership import Group

REPORT_S: Final = 10
"""Seconds between two lines on how far it is."""


def happened_in(group: Group, owed: People, remaining: int, gone: int) -> dict[str, int]:
    """Return the figures of a group that was played: *owed* are those entitled, *remaining* and *gone* how many."""
    view = group.view
    excluded = NOBODY.union(*(exclusion.people for exclusion in view.exclusions.values()))
    return {
        "messages": len(group),
        "epochs": len(view.epochs),
        "forks joined": sum(len(epoch.previous) > 1 for epoch in view.epochs.values()),
        "exclusions": len(view.exclusions),
        "people who excluded each other, not knowing": _mutual(group),
        "taken on again": len(owed & excluded),
        "gone for good": gone,
        "remaining": remaining,
    }


def _mutual(group: Group) -> int:
    """Return the number of pairs of exclusions whose authors name each other, and had not heard of the other's."""
    messages = {line.said.id: line.said.message for line in group.audit()}
    return sum(
        one.by in other.people
        and other.by in one.people
        and other.id not in followed(messages, one.id)
        and one.id not in followed(messages, other.id)
        for one, other in combinations(group.view.exclusions.values(), 2)
    )


def parser(prog: str, about: str | None) -> argparse.ArgumentParser:
    """Return the parser of both commands."""
    made = argparse.ArgumentParser(prog=prog, description=about)
    made.add_argument("--seeds", type=int, default=1_000, metavar="N", help="how many groups (default: 1000)")
    made.add_argument("--first", type=int, default=1, metavar="S", help="the first seed (default: 1)")
    made.add_argument("--steps", type=int, metavar="K", help="only the first things that happen in each")
    made.add_argument(
        "--failures", type=int, default=10, metavar="F", help="stop after so many (default: 10)"
    )
    return made


def play_all(
    seeds: Sequence[int],
    play: Callable[[int], tuple[Mapping[str, int], str | None]],
    failures: int,
    ending: Callable[[], str] = str,
) -> int:
    """Play *seeds*, until so many *failures*. *play* returns what happened, and what to print if something broke;
    *ending* what else to say at the end. Returns 1 if anything broke."""
    happened: Counter[str] = Counter()
    begun_s = said_s = time.monotonic()
    failed = count = 0
    for seed in seeds:
        counts, what = play(seed)
        count += 1
        happened.update(counts)
        if what is not None:
            failed += 1
            print(f"seed {seed}: {what}", flush=True)
        if time.monotonic() - said_s >= REPORT_S:
            said_s = time.monotonic()
            speed = count / (said_s - begun_s)
            told = f"{count} of {len(seeds)} seeds, {failed} failed, {speed:.2f} a second"
            print(told, file=sys.stderr, flush=True)
        if failed >= failures:
            break
    seen = ", ".join(f"{number:,} {name}" for name, number in happened.items())
    spent_s = time.monotonic() - begun_s
    print(f"{count:,} seeds played in {spent_s:.0f} s, {failed} failed: {seen}{ending()}.")
    return 1 if failed else 0
