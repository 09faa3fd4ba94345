"""What one identity needs to take part in groups: its keys, and those of its feeds, all grown from one seed.

So a crash finds the feeds again that it left half made, and who has the identity's words has everything.
"""

from collections.abc import Callable
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.content.private import SealKey
from tinyssb_node.groups.envelope import SlotKey
from tinyssb_node.groups.keys import derive_secret, member_slot, own_slot
from tinyssb_node.ids import EpochKey, FeedId


class GroupKeys:
    """The keys of one identity. Shown nowhere: ``repr`` names the main feed only."""

    def __init__(self, seed: bytes, draw: Callable[[int], bytes]) -> None:
        """*seed* is the identity's, 32 bytes (ValueError); *draw* makes that many random bytes."""
        self._seed = seed
        self.seal: Final = SealKey(seed)
        """Opens what was sealed for our main feed."""
        self.main: Final = self.seal.feed_id
        """Our main feed: what we are as a member."""
        self.own: Final[SlotKey] = own_slot(seed)
        """The slot of what we seal for ourselves."""
        self.draw: Final = draw
        self.waits_seed: Final = derive_secret(seed, b"waits")
        """Makes the waits of `planning.plan` random for others."""
        self._additions: SigningKey | None = None
        self._members: dict[FeedId, SlotKey | None] = {}

    def additions(self) -> SigningKey:
        """Of our feed of additions."""
        if self._additions is None:
            self._additions = SigningKey(derive_secret(self._seed, b"additions"))
        return self._additions

    def epoch(self, key: EpochKey, generation: int = 0) -> SigningKey:
        """Of our feed in the epoch with *key*; of the next *generation*, up to 255, if the one before has ended."""
        return SigningKey(derive_secret(self._seed, b"epoch", key, bytes([generation])))

    def member(self, person: FeedId) -> SlotKey | None:
        """The slot between us and somebody else, by his main feed. None: nobody can have that key.

        The first time it costs a multiplication on the curve. Raises ValueError for ourselves.
        """
        if person not in self._members:
            if len(self._members) >= limits.SET_MAX:
                self._members.clear()
            self._members[person] = member_slot(self.seal, person)
        return self._members[person]

    def __repr__(self) -> str:
        return f"GroupKeys(main={self.main.hex()})"
