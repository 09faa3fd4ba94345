"""Airtime budget: asked before a packet is handed to a radio, charged durably, settled when it has left.

There is one account per sub-band, whichever faces send there (decision 0008). Charges go to the store in the
transaction that precedes the packet; the account is rebuilt from them at start.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from tinyssb_node import limits
from tinyssb_node.scheduling.ledger import Ledger
from tinyssb_node.scheduling.link import Allowance
from tinyssb_node.store.port import AirtimeCharge, Store

_CLOCK_KEY = "air_clock"
"""Where the store keeps the ledger's clock (docs/formats/store.md)."""


@dataclass(frozen=True, slots=True)
class BootReference:
    """Where the node's clock stands in the system's life."""

    id: str
    """The same as long as the system runs, never the same again."""
    since_us: int
    """The system's boot time, microseconds, when the node's clock showed 0."""


UNKNOWN_BOOT = BootReference("unknown", 0)
"""For nodes of which nobody says: time counts from their start only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AirStatus:
    """The status of an account, for users."""

    band: str
    """The sub-band."""
    limit_us: int
    """Microseconds on the air that any window may hold."""
    window_us: int
    """Length of the window."""
    used_us: int
    """Spent in the window that ends now, or in the hands of a radio."""
    left_us: int
    """May still be spent."""
    advert_left_us: int
    """Of these, what adverts and requests may use."""
    content_left_us: int
    """Of these, what entries and chunks may use."""
    full_us: int
    """Airtime of a full packet."""
    wait_us: int | None
    """Until the next full entry of ours may be sent: 0 for now, None for never."""


class AirUse(IntEnum):
    """Purposes of airtime."""

    ADVERT = 0
    """Adverts and requests."""
    REPLY = 1
    """Packets that a peer requested: strangers can cause them without end."""
    RELAY = 2
    """New entries of others, relayed."""
    OWN = 3
    """New entries of our own."""


_GIVEN: Final = (AirUse.REPLY, AirUse.RELAY)
_CONTENT: Final = (*_GIVEN, AirUse.OWN)
_FOR_OTHERS: Final = (AirUse.ADVERT, *_GIVEN)
_ASKED: Final = (AirUse.ADVERT, AirUse.REPLY)


class AirClock:
    """Ledger time: the sum of time that the system vouches for. It stands still over a reboot and never goes back."""

    def __init__(self, store: Store, boot: BootReference, now_us: int) -> None:
        self._store = store
        self._boot = boot
        # A charge that ended tells that ledger time had come so far.
        reached_us = max((charge.ended_us or 0 for charge in store.charges()), default=0)
        boot_id, boot_us, ledger_us = _parse_clock(store.get_meta(_CLOCK_KEY))
        elapsed_us = boot.since_us + now_us - boot_us if boot_id == boot.id else 0
        self._offset_us = max(reached_us, ledger_us + max(0, elapsed_us)) - now_us
        self._kept_us = now_us

    def ledger_us(self, now_us: int) -> int:
        """Return ledger time at *now_us* of the node's clock."""
        return now_us + self._offset_us

    def node_us(self, ledger_us: int) -> int:
        """Return the node's clock at a ledger time."""
        return ledger_us - self._offset_us

    @property
    def keep_due_us(self) -> int:
        """When it is worth writing again."""
        return self._kept_us + limits.AIR_CLOCK_KEEP_US

    def keep(self, now_us: int) -> None:
        """Write it to the store."""
        boot_us = self._boot.since_us + now_us
        self._store.put_meta(_CLOCK_KEY, f"{self._boot.id} {boot_us} {self.ledger_us(now_us)}")
        self._kept_us = now_us


def _parse_clock(text: str | None) -> tuple[str, int, int]:
    if text is None:
        return "", 0, 0
    boot_id, boot_us, ledger_us = text.rsplit(" ", 2)
    return boot_id, int(boot_us), int(ledger_us)


class AirBudget:
    """The account of one sub-band. All times are the node's clock, in microseconds."""

    def __init__(
        self,
        store: Store,
        clock: AirClock,
        allowance: Allowance,
        *,
        full_us: int,
        now_us: int,
        read_only: bool = False,
    ) -> None:
        """Load the account from *store*; *full_us* is the airtime of a full packet.

        While the store is *read_only* nothing can be charged, so nothing may be sent.
        """
        self.allowance = allowance
        self._store = store
        self._clock = clock
        self._full_us = full_us
        self._read_only = read_only
        self._seen_us = now_us
        """The latest moment anybody spoke of."""
        self._rows = OrderedDict(
            (charge.number, charge) for charge in store.charges() if charge.band == allowance.band
        )
        self._number = max(self._rows, default=0)
        self._uses: dict[int, AirUse] = {}
        """Uses of the charges since the start; those before it are not known."""
        self._unwritten: set[int] = set()
        """Charges that were settled since they were written."""
        for number, charge in self._rows.items():
            if charge.ended_us is None:
                # Nobody is left to say when it went: now at the latest.
                self._change(replace(charge, ended_us=clock.ledger_us(now_us) + charge.airtime_us), number)
        self._make_ledgers()

    def widen(self, full_us: int) -> None:
        """A face whose full packets take *full_us* sends in this sub-band too."""
        if full_us > self._full_us:
            self._full_us = full_us
            self._make_ledgers()

    def _make_ledgers(self) -> None:
        limit_us, window_us, full_us = self.allowance.limit_us, self.allowance.window_us, self._full_us

        def part(permille: int, most_us: int) -> int:
            # Where an hour has room for a few packets only, a share must not round down to none.
            return min(limit_us, max(min(limit_us * permille // 1_000, most_us), full_us))

        content_us = part(limits.AIR_CONTENT_PERMILLE, limit_us)
        # What is requested leaves room for a relayed entry at least, and that for one of ours; where there is room for
        # less than four packets in all, nothing is reserved.
        reserve_us = full_us if limit_us >= 4 * full_us else 0

        def within(permille: int, whole_us: int) -> int:
            return part(permille, whole_us - reserve_us) if reserve_us else whole_us

        given_us = within(limits.AIR_GIVEN_PERMILLE, content_us)
        others_us = within(limits.AIR_OTHERS_PERMILLE, limit_us)
        # The uses that a share limits, those that it counts, and its ledger. What strangers can cause counts relayed
        # entries, too: what is left for them, and for ours, has to be there in the middle of the hour as well.
        self._advert = Ledger(part(limits.AIR_ADVERT_PERMILLE, limit_us), window_us)
        self._asked = Ledger(within(limits.AIR_ASKED_PERMILLE, others_us), window_us)
        self._content = Ledger(content_us, window_us)
        self._whole = Ledger(limit_us, window_us)
        shares = (
            ((AirUse.ADVERT,), (AirUse.ADVERT,), self._advert),
            ((AirUse.REPLY,), _GIVEN, Ledger(within(limits.AIR_REPLY_PERMILLE, given_us), window_us)),
            (_GIVEN, _GIVEN, Ledger(given_us, window_us)),
            (_ASKED, _FOR_OTHERS, self._asked),
            (_FOR_OTHERS, _FOR_OTHERS, Ledger(others_us, window_us)),
            (_CONTENT, _CONTENT, self._content),
            (tuple(AirUse), tuple(AirUse), self._whole),
        )
        self._limiting = {use: tuple(each for uses, _, each in shares if use in uses) for use in AirUse}
        self._ledgers = {use: tuple(each for _, uses, each in shares if use in uses) for use in AirUse}
        for number, charge in sorted(self._rows.items(), key=lambda row: row[1].ended_us or 0):
            for ledger in self._ledgers_of(number, charge):
                ledger.hold(charge.airtime_us)
                if charge.ended_us is not None:
                    ledger.settle(charge.airtime_us, charge.ended_us)

    def _ledgers_of(self, number: int, charge: AirtimeCharge) -> tuple[Ledger, ...]:
        """Return the ledgers that count *charge*; none if it was taken back. Content that was charged before a restart
        counts as replies: that leaves most for our own entries."""
        if not charge.airtime_us:
            return ()
        return self._ledgers[self._uses.get(number, AirUse.ADVERT if charge.advert else AirUse.REPLY)]

    # --- asking

    def may_send_at(self, airtime_us: int, now_us: int, use: AirUse) -> int | None:
        """Return the time from which a packet may be handed to a radio, as far as is known now; None: never."""
        self._seen_us = max(self._seen_us, now_us)
        if self._read_only:
            return None
        ledger_us = self._clock.ledger_us(now_us)
        latest_us = ledger_us
        for ledger in self._limiting[use]:
            may_us = ledger.earliest_send_us(airtime_us, ledger_us)
            if may_us is None:
                return None
            latest_us = max(latest_us, may_us)
        return self._clock.node_us(latest_us)

    def may_send(self, now_us: int, use: AirUse) -> bool:
        """Return True if any packet may be handed to a radio now."""
        return self.may_send_at(self._full_us, now_us, use) == now_us

    def next_us(self, use: AirUse) -> int | None:
        """Return when that may be so, as seen from the latest time this account was asked for; None: never."""
        return self.may_send_at(self._full_us, self._seen_us, use)

    def spent(self, now_us: int) -> float:
        """Return which part of the airtime for entries and chunks is used up, 0 to 1."""
        return self._part_of(self._content, now_us)

    def asked_spent(self, now_us: int) -> float:
        """Return which part of the airtime for replies and adverts is used up, 0 to 1."""
        return self._part_of(self._asked, now_us)

    def _part_of(self, ledger: Ledger, now_us: int) -> float:
        ledger_us = self._clock.ledger_us(now_us)
        used_us = ledger.used_us(ledger_us)
        return used_us / (used_us + ledger.left_us(ledger_us))

    # --- charging

    def charge(self, airtime_us: int, now_us: int, use: AirUse) -> int:
        """Charge a packet that is handed to a radio once the store has committed. Return the number to settle it by."""
        assert airtime_us > 0
        assert self.may_send_at(airtime_us, now_us, use) == now_us
        self._prune(self._clock.ledger_us(now_us) - self.allowance.window_us)
        for number in sorted(self._unwritten & self._rows.keys()):
            self._store.put_charge(self._rows[number])
        self._unwritten.clear()
        self._number += 1
        charge = AirtimeCharge(
            band=self.allowance.band,
            number=self._number,
            advert=use is AirUse.ADVERT,
            airtime_us=airtime_us,
            ended_us=None,
        )
        self._rows[self._number] = charge
        self._uses[self._number] = use
        self._store.put_charge(charge)
        self._clock.keep(now_us)
        for ledger in self._ledgers[use]:
            ledger.hold(airtime_us)
        return self._number

    def settle(self, number: int, now_us: int) -> None:
        """The packet charged under *number* has left: now at the latest.

        This is written with the next charge. If there is none before a crash, the packet counts as leaving at the
        restart.
        """
        charge, ended_us = self._rows[number], self._clock.ledger_us(now_us)
        for ledger in self._ledgers_of(number, charge):
            ledger.settle(charge.airtime_us, ended_us)
        self._change(replace(charge, ended_us=ended_us), number)

    def take_back(self, number: int, now_us: int) -> None:
        """Take back the charge *number*: the radio reports that the packet was not sent and never will be."""
        charge = self._rows[number]
        for ledger in self._ledgers_of(number, charge):
            ledger.release(charge.airtime_us)
        self._change(replace(charge, airtime_us=0, ended_us=self._clock.ledger_us(now_us)), number)

    def _change(self, charge: AirtimeCharge, number: int) -> None:
        self._rows[number] = charge
        self._unwritten.add(number)

    def _prune(self, before_us: int) -> None:
        """Forget charges that no window can reach, and merge neighbouring ones where there are too many."""
        through = 0
        while self._rows:
            number, charge = next(iter(self._rows.items()))
            if charge.ended_us is None or charge.ended_us > before_us:
                break
            del self._rows[number]
            self._uses.pop(number, None)
            through = number
        if through:
            self._store.drop_charges(self.allowance.band, through)
        if len(self._rows) >= limits.LEDGER_RECORDS_MAX:
            self._store.drop_charges(self.allowance.band, self._number)
            paired = sorted(_paired(self._rows.values()), key=lambda charge: charge.number)
            self._rows = OrderedDict((charge.number, charge) for charge in paired)
            self._uses = {number: use for number, use in self._uses.items() if number in self._rows}
            self._unwritten.update(self._rows)

    # --- looking

    @property
    def busy_until_us(self) -> int | None:
        """Return when everything charged so far is forgotten; None: not known yet."""
        if not self._rows:
            return self._clock.node_us(0)
        last_us = self._rows[next(reversed(self._rows))].ended_us
        return None if last_us is None else self._clock.node_us(last_us + self.allowance.window_us)

    def status(self, now_us: int) -> AirStatus:
        """Return the status of the account."""
        ledger_us = self._clock.ledger_us(now_us)
        left_us = self._whole.left_us(ledger_us)
        at_us = self.may_send_at(self._full_us, now_us, AirUse.OWN)
        return AirStatus(
            band=self.allowance.band,
            limit_us=self.allowance.limit_us,
            window_us=self.allowance.window_us,
            used_us=self._whole.used_us(ledger_us),
            left_us=left_us,
            advert_left_us=min(left_us, self._advert.left_us(ledger_us)),
            content_left_us=min(left_us, self._content.left_us(ledger_us)),
            full_us=self._full_us,
            wait_us=None if at_us is None else at_us - now_us,
        )


def _paired(charges: Iterable[AirtimeCharge]) -> Iterator[AirtimeCharge]:
    """Return the same airtime in about half the rows, none of it earlier than it was."""
    alone: dict[bool, AirtimeCharge] = {}
    for charge in charges:
        if charge.ended_us is None:
            yield charge
            continue
        before = alone.pop(charge.advert, None)
        if before is None:
            alone[charge.advert] = charge
        else:
            ended_us = max(charge.ended_us, before.ended_us or 0)
            yield replace(charge, airtime_us=before.airtime_us + charge.airtime_us, ended_us=ended_us)
    yield from alone.values()


class AirBudgets:
    """All accounts of a node."""

    def __init__(self, store: Store, boot: BootReference, *, read_only: bool = False) -> None:
        self._store = store
        self._boot = boot
        self._read_only = read_only
        self._clock: AirClock | None = None
        self._budgets: dict[str, AirBudget] = {}

    def open(self, allowance: Allowance, full_us: int, now_us: int) -> AirBudget:
        """Return the account of a face that is up: the same for all faces in one sub-band."""
        if self._clock is None:
            self._clock = AirClock(self._store, self._boot, now_us)
        budget = self._budgets.get(allowance.band)
        if budget is None:
            budget = self._budgets[allowance.band] = AirBudget(
                self._store,
                self._clock,
                allowance,
                full_us=full_us,
                now_us=now_us,
                read_only=self._read_only,
            )
        assert budget.allowance == allowance, "a sub-band has one rule"
        budget.widen(full_us)
        return budget

    @property
    def next_us(self) -> int | None:
        """When ``wake`` is due; None: nothing depends on the time."""
        if self._clock is None or self._read_only:
            return None
        due_us = self._clock.keep_due_us
        for budget in self._budgets.values():
            until_us = budget.busy_until_us
            if until_us is None or until_us > due_us:
                return due_us
        return None

    def wake(self, now_us: int) -> None:
        """Write down, once in a while, how much time has passed."""
        if self._clock is not None and now_us >= self._clock.keep_due_us and self.next_us is not None:
            self._clock.keep(now_us)

    def status(self, now_us: int) -> list[AirStatus]:
        """Return the status of all accounts, by sub-band."""
        return [budget.status(now_us) for _, budget in sorted(self._budgets.items())]
