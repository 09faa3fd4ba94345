"""The pair test: two radios on one desk send to each other, and what they do is compared with the formula for airtime.

It sends within the law: each packet is charged to the node's account of airtime, like the node's own.
"""

import asyncio
import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, Self

from tinyssb_node.daemon.clock import Clock
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.faces.face import Endpoint, Face
from tinyssb_node.faces.store_port import FaceStorePort
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.budget import AirBudgets, AirUse, BootReference
from tinyssb_node.scheduling.link import LinkProfile, Reception
from tinyssb_node.store.port import Store

LENGTH: Final = 119
"""Bytes of a packet of the test: one less than an entry, so that nodes in reach drop it at once."""
UP_S: Final = 20.0
"""How long a radio may take until it listens: boards restart when their port is opened."""
LATE_S: Final = 1.0
"""How long after its end a packet may arrive: a radio on a cable delivers milliseconds later than it receives."""
_TRIES: Final = 20  # of a packet while the channel is busy
_Z95: Final = 1.96  # of a normal distribution, for an interval of 95 %


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketTime:
    """One packet of the test, by the clock of this machine."""

    sent_us: int
    """From handing it over until the radio reported its end."""
    heard_us: int | None
    """From handing it over until the other radio had delivered it; None: it was lost."""
    reception: Reception | None
    """Its signal at the other radio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDirection:
    """One radio as sender, the other as receiver."""

    sender: str
    """Its spec string."""
    receiver: str
    airtime_us: int
    """Time on air of each packet, by Semtech's formula (AN1200.13)."""
    packets: Sequence[PacketTime]

    @property
    def lost(self) -> int:
        """Packets that did not arrive whole."""
        return sum(packet.heard_us is None for packet in self.packets)

    @property
    def loss_max(self) -> float:
        """The share of lost packets (PER) that is exceeded with 2.5 % chance only, 0 to 1: Wilson's interval."""
        count = len(self.packets)
        if not count:
            return 1.0
        share, square = self.lost / count, _Z95**2
        spread = _Z95 * math.sqrt(share * (1 - share) / count + square / (4 * count**2))
        return (share + square / (2 * count) + spread) / (1 + square / count)

    @property
    def is_early(self) -> bool:
        """True if packets end earlier than the formula allows: the radio has other settings, or reports too soon."""
        return any(packet.sent_us < 0.98 * self.airtime_us for packet in self.packets)

    def fields(self) -> dict[str, object]:
        """Return its figures for JSON; times in microseconds."""
        heard = [packet.heard_us for packet in self.packets if packet.heard_us is not None]
        seen = [packet.reception for packet in self.packets if packet.reception is not None]
        rssi = [one.rssi_dbm for one in seen if one.rssi_dbm is not None]
        snr = [one.snr_db for one in seen if one.snr_db is not None]
        return {
            "sender": self.sender,
            "receiver": self.receiver,
            "length": LENGTH,
            "sent": len(self.packets),
            "lost": self.lost,
            "loss_max": round(self.loss_max, 4),
            "airtime_us": self.airtime_us,
            "sent_us": _spread([packet.sent_us for packet in self.packets]),
            "heard_us": _spread(heard),
            "rssi_dbm": median(rssi) if rssi else None,
            "snr_db": median(snr) if snr else None,
        }


def _spread(times_us: Sequence[int]) -> list[int] | None:
    """Return least, median and greatest; None without any."""
    return [min(times_us), round(median(times_us)), max(times_us)] if times_us else None


class AirAccount:
    """The airtime of the test, in the account of the node whose store this is."""

    def __init__(self, store: Store, boot: BootReference, clock: Clock) -> None:
        self._store = store
        self._budgets = AirBudgets(store, boot)
        self._clock = clock

    def charge(self, profile: LinkProfile) -> Callable[[bool], None] | None:
        """Charge a packet on a radio with *profile*, durably. Return how to settle it: with True if it was sent. None:
        the law leaves no airtime for it now."""
        if profile.allowance is None:
            return lambda _sent: None
        airtime_us, now_us = profile.airtime_us[LENGTH], self._clock.now_us()
        budget = self._budgets.open(profile.allowance, profile.airtime_us[-1], now_us)
        if budget.may_send_at(airtime_us, now_us, AirUse.OWN) != now_us:
            return None
        number = budget.charge(airtime_us, now_us, AirUse.OWN)
        self._store.commit(self._clock.wall_us())

        def settle(sent: bool) -> None:
            end = budget.settle if sent else budget.take_back
            end(number, self._clock.now_us())

        return settle


class _DeskRadio:
    """One radio of the test: its endpoint, and the FaceSink that its face reports to."""

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self.endpoint = endpoint
        self._clock = clock
        self._face: asyncio.Future[Face] = asyncio.get_running_loop().create_future()
        self._awaited: tuple[bytes, asyncio.Future[tuple[int, Reception]]] | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.endpoint.run(self))
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None, "it was entered"
        self._task.cancel()
        await asyncio.wait([self._task])

    async def face(self) -> Face:
        """Return the face once it is up. Raises ProblemError, and what opening it raises."""
        assert self._task is not None, "it was entered"
        either: list[asyncio.Future[Any]] = [self._task, self._face]
        await asyncio.wait(either, timeout=UP_S, return_when=asyncio.FIRST_COMPLETED)
        if self._face.done():
            return self._face.result()
        if self._task.done():
            self._task.result()
        raise ProblemError(
            f"The radio {self.endpoint.spec} does not come up: {self.endpoint.problem or 'it does not answer'}.",
            "Examine it: tinyssb radio probe. A radio that the daemon uses cannot be tested.",
            exit_code=ExitCode.UNAVAILABLE,
        )

    def expect(self, packet: bytes) -> "asyncio.Future[tuple[int, Reception]]":
        """Return when and how *packet* arrives."""
        future: asyncio.Future[tuple[int, Reception]] = asyncio.get_running_loop().create_future()
        self._awaited = (packet, future)
        return future

    def up(self, face: Face, _spec: str) -> None:
        """See FaceSink."""
        if not self._face.done():
            self._face.set_result(face)

    def frame(self, _face: FaceName, packet: bytes, reception: Reception) -> bool:
        """See FaceSink."""
        if self._awaited is not None and self._awaited[0] == packet and not self._awaited[1].done():
            self._awaited[1].set_result((self._clock.now_us(), reception))
        return True

    def junk(self, _face: FaceName, _reason: str, _length: int) -> None:
        """See FaceSink. A damaged packet is a lost one."""

    async def room(self, _face: FaceName) -> None:
        """See FaceSink."""

    def down(self, _face: FaceName, _reason: str) -> None:
        """See FaceSink. A packet that is sent next fails."""

    def libraries(self) -> Sequence[FaceStorePort]:
        """See FaceSink."""
        return ()

    def appended(self) -> asyncio.Event:
        """See FaceSink."""
        return asyncio.Event()


async def run_pair_test(
    endpoints: tuple[Endpoint, Endpoint],
    count: int,
    account: AirAccount,
    clock: Clock,
    *,
    late_s: float = LATE_S,
) -> list[PairDirection]:
    """Let both radios send *count* packets, in turns. Fewer if the law leaves no more airtime. A packet that has not
    arrived *late_s* after its end is lost.

    Raises ProblemError, FaceOpenError and OSError if a radio fails.
    """
    async with _DeskRadio(endpoints[0], clock) as first, _DeskRadio(endpoints[1], clock) as second:
        pairs = [(first, second), (second, first)]
        profiles = [(await sender.face()).profile for sender, _ in pairs]
        times: list[list[PacketTime]] = [[], []]
        for _ in range(count):
            for index, (sender, receiver) in enumerate(pairs):
                time = await _send(sender, receiver, account, clock, late_s)
                if time is None:
                    return [*_directions(pairs, profiles, times)]
                times[index].append(time)
        return [*_directions(pairs, profiles, times)]


def _directions(
    pairs: Sequence[tuple[_DeskRadio, _DeskRadio]],
    profiles: Sequence[LinkProfile],
    times: Sequence[Sequence[PacketTime]],
) -> Iterator[PairDirection]:
    for (sender, receiver), profile, packets in zip(pairs, profiles, times, strict=True):
        yield PairDirection(
            sender=sender.endpoint.spec,
            receiver=receiver.endpoint.spec,
            airtime_us=profile.airtime_us[LENGTH],
            packets=packets,
        )


async def _send(
    sender: _DeskRadio, receiver: _DeskRadio, account: AirAccount, clock: Clock, late_s: float
) -> PacketTime | None:
    """Send one packet, and wait until it has arrived or is lost; None: the law leaves no airtime for it."""
    face = await sender.face()
    profile = face.profile
    packet = secrets.token_bytes(LENGTH)
    arrival = receiver.expect(packet)
    for _ in range(_TRIES):
        settle = account.charge(profile)
        if settle is None:
            return None
        begun_us = clock.now_us()
        sent = bool(await face.send([packet]))
        sent_us = clock.now_us() - begun_us
        settle(sent)
        await asyncio.sleep(profile.gap_us / 1e6)
        if sent:
            break
    else:
        raise ProblemError(
            f"The channel of {sender.endpoint.spec} is never free.",
            "Something else sends on it, or the receiver is disturbed: move the radio, or try another time.",
            exit_code=ExitCode.UNAVAILABLE,
        )
    await asyncio.wait([arrival], timeout=late_s)
    if not arrival.done():
        return PacketTime(sent_us=sent_us, heard_us=None, reception=None)
    heard_us, reception = arrival.result()
    return PacketTime(sent_us=sent_us, heard_us=heard_us - begun_us, reception=reception)
