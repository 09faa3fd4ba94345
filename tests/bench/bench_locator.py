"""The locator: messages that one node handles on one core, and memory of an idle one and of one with full tables.

Messages are timed by the processor, so that others on the machine matter less.
"""

import random
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

from tests.bench.figure import Figure
from tests.islands.locator.villages import GROUP, PORT, SETTINGS, befriend, located, peer, place
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import Peer
from tinyssb_node.islands.locator.locator import Locator
from tinyssb_node.islands.locator.packets import (
    LocatorPing,
    LocatorPost,
    LocatorQuery,
    LocatorReport,
    Message,
    serialize,
)
from tinyssb_node.islands.locator.values import Advert, Label, ResourceParameters

MESSAGES = 10_000
ROUNDS = 3
FRIENDS, LABELS = 60, 500
PER_S, IDLE_MB = 2_000, 10
RESOURCES = 10

_MEMORY = """
import dataclasses, gc, hashlib, heapq, ipaddress, enum, random, sys, typing
from tinyssb_node.codec import dmx
import tests
def resident_mb():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6
before = resident_mb()
from tests.bench import bench_locator
imported = resident_mb()
kept = bench_locator.filled(sys.argv[1])
print(resident_mb() - before)
"""


def label(number: int) -> Label:
    """One of many, anywhere."""
    return Label(random.Random(number).randbytes(limits.LABEL_SIZE))


def made(friends: int = FRIENDS, labels: int = LABELS, resources: int = RESOURCES) -> Locator:
    """A node that has been up for a while in a network of a thousand."""
    locator = Locator(SETTINGS, place(0), random.Random(1), bytes(32), 0)
    befriend(locator, *range(1, friends + 1))
    for number in range(labels):
        post = LocatorPost((Advert(label(number), located(number % 997 + 1, 5)),))
        locator.receive(serialize(post, GROUP), peer(1 + number % friends), 0)
    for number in range(resources):
        locator.offer(label(-1 - number), ResourceParameters(7), 0)
    return locator


def filled(how: str) -> Locator:
    """An idle node, or one whose tables are full."""
    if how == "idle":
        return made()
    locator = made(friends=400, labels=limits.LOCATIONS_MAX, resources=limits.RESOURCES_MAX)
    for number in range(limits.PROVED_MAX):
        locator.context.proved.put(peer(number), None, 0)
        locator.failed(place(number), 0)
    for number in range(limits.CREDITS_MAX):
        locator.context.earn(peer(number), limits.QUERY_SIZE, 0)
    return locator


def _post(number: int) -> LocatorPost:
    adverts = [
        Advert(label((number + more) % 2_000), located(number % 997 + 1, number % 9)) for more in range(4)
    ]
    return LocatorPost(tuple(adverts))


def _kinds() -> dict[str, Callable[[int], tuple[Message, int]]]:
    """Messages by kind: the one with a number, and who sends it."""
    return {
        "pings of strangers": lambda number: (LocatorPing(peer(1_000 + number), bytes(12)), 1_000 + number),
        "queries": lambda number: (
            LocatorQuery(Peer(b"", PORT), label(number % 800), bytes(12)),
            1 + number % FRIENDS,
        ),
        "posts of four adverts": lambda number: (_post(number), 1 + number % FRIENDS),
        "reports that nobody asked for": lambda number: (
            LocatorReport(None, bytes(12), label(number % 800), (located(5, 5), located(6, 6))),
            1 + number % FRIENDS,
        ),
    }


def _rate(datagrams: list[tuple[bytes, int]]) -> float:
    """Messages per second that one node takes."""
    locator = made()
    comes = [(datagram, peer(sender)) for datagram, sender in datagrams]
    now_us = 1_000
    begun_s = time.process_time()
    for datagram, source in comes:
        now_us += 500
        locator.receive(datagram, source, now_us)
        if locator.next_wake_us() <= now_us:
            locator.wake(now_us)
    return len(comes) / (time.process_time() - begun_s)


def run() -> list[Figure]:
    """All of it."""
    each = {
        name: [(serialize(message, GROUP), sender) for message, sender in map(make, range(MESSAGES))]
        for name, make in _kinds().items()
    }
    mixed = [pair for four in zip(*each.values(), strict=True) for pair in four][:MESSAGES]
    figures = []
    rate = median(_rate(mixed) for _ in range(ROUNDS))
    figures.append(
        Figure(
            "messages of all kinds, taken and answered",
            rate,
            "messages/s",
            f"at least {PER_S:,}",
            rate >= PER_S,
        )
    )
    figures += [
        Figure(f"{name}", median(_rate(datagrams) for _ in range(ROUNDS)), "messages/s")
        for name, datagrams in each.items()
    ]
    for how, words in (("idle", "an idle locator"), ("full", "one whose tables are full")):
        done = subprocess.run(
            [sys.executable, "-c", _MEMORY, how], capture_output=True, text=True, check=True
        )
        used_mb = float(done.stdout)
        target = f"at most {IDLE_MB} MB" if how == "idle" else ""
        figures.append(
            Figure(
                f"memory of {words}, with its code", used_mb, "MB", target, not target or used_mb <= IDLE_MB
            )
        )
    return figures
