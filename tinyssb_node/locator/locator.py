# ruff: noqa: ARG002
"""The locator: bytes and time in, effects out (docs/formats/locator.md)."""

from collections.abc import Sequence

from tinyssb_node.locator.addresses import Peer, Place
from tinyssb_node.locator.chance import Chance
from tinyssb_node.locator.counts import Counts
from tinyssb_node.locator.effects import Effect
from tinyssb_node.locator.labels import Label
from tinyssb_node.locator.packets import Hint
from tinyssb_node.locator.settings import Settings
from tinyssb_node.locator.values import ResourceParameters


class Locator:
    """One node of the distributed hash table."""

    def __init__(
        self,
        settings: Settings,
        me: Place,
        chance: Chance,
        secret: bytes,
        now_us: int,
        *,
        historic: Sequence[Peer] = (),
        recent: Sequence[Peer] = (),
    ) -> None:
        """Begin as *me*: its node address is empty if nobody outside can reach us.

        *secret* is SECRET_SIZE bytes that nobody knows; a new one after each start is good. *historic*, the newest
        first, and *recent* are what was kept of the time before, or what a person configured.
        """
        self.settings = settings
        self.me = me

    def receive(self, datagram: bytes, source: Peer, now_us: int) -> list[Effect]:
        """Take any bytes that came from *source*. Raises nothing; what is dropped is counted by reason."""
        return []

    def wake(self, now_us: int) -> list[Effect]:
        """Do what is due."""
        return []

    def next_wake_us(self) -> int:
        """When ``wake`` is due next."""
        return 2**62

    def offer(self, label: Label, parameters: ResourceParameters, now_us: int) -> None:
        """We have this resource; or have it otherwise than before. Raises ResourcesFullError."""

    def withdraw(self, label: Label) -> None:
        """We do not have it any more; others forget after the age limit of locations."""

    def seek(self, label: Label, now_us: int, hint: Hint = Hint.TIME) -> list[Effect]:
        """Begin a lookup, which goes on until ``stop_seeking`` or ``Ended``. Raises SeeksFullError."""
        return []

    def stop_seeking(self, label: Label) -> None:
        """Enough was found."""

    def failed(self, place: Place, now_us: int) -> None:
        """A connection to it failed, or it did not have what was promised: it is not handed up for PLACE_SHUN_US."""

    def historic(self) -> tuple[Peer, ...]:
        """For stable storage: peers of all ages, the newest first."""
        return ()

    def recent(self) -> tuple[Peer, ...]:
        """For stable storage: some peers that were confirmed lately, RECENT_MAX at most."""
        return ()

    def counts(self) -> Counts:
        """What it did and holds."""
        return Counts(0, 0, 0, 0, 0, 0, 0, False, {}, {}, 0, 0, {})
