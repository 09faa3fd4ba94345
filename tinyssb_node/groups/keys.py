"""Keys by which envelopes are shared, ids that only their readers know, and all keys of one identity, derived from its
seed (docs/formats/envelope.md).

Since everything derives from the seed, a node finds half-made feeds again after a crash, and the words of an identity
restore all of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Final

from nacl.bindings import crypto_sign_ed25519_pk_to_curve25519
from nacl.exceptions import RuntimeError as SodiumError

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.content.private import SealKey
from tinyssb_node.groups.bfe import bfe_feed, bfe_message, slp
from tinyssb_node.groups.derive import expand, hkdf
from tinyssb_node.groups.envelope import SlotKey, SlotScheme
from tinyssb_node.groups.messages import ADD, AddMember, GroupMessageError
from tinyssb_node.ids import EpochKey, FeedId, GroupId, MessageId

_DM_SALT: Final = sha256(b"envelope-dm-v1-extract-salt").digest()
_DM_LABEL: Final = b"envelope-ssb-dm-v1/key"
_DM_KEY: Final = b"\x03\x00"
"""BFE of a curve25519 key for direct messages."""
_CLOAKED: Final = b"cloaked_msg_id"
_SALT: Final = b"tinyssb"
_OURS: Final = b"tinyssb-group-v1"
_OWN: Final = b"own"


@dataclass(frozen=True, slots=True)
class SharedKeyParty:
    """One of the two feeds that share a key."""

    public: bytes
    """Its curve25519 key, 32 bytes."""
    feed: bytes
    """Its id in BFE."""

    def encode(self) -> bytes:
        """Return the bytes that are hashed into the key."""
        return _DM_KEY + self.public + self.feed


def dm_key(shared: bytes, mine: SharedKeyParty, yours: SharedKeyParty) -> bytes:
    """Return the key between two feeds, the same for both; *shared* is the shared secret of their curve25519 keys.

    The parties are in the order of their bytes, as specified. Programs in JavaScript order one pair in eight otherwise.
    """
    return hkdf(shared, _DM_SALT, slp((_DM_LABEL, *sorted((mine.encode(), yours.encode())))))


def member_slot(mine: SealKey, yours: FeedId) -> SlotKey | None:
    """Return the slot between my feed and *yours*, the same on both sides; None if *yours* is not a valid key.

    Raises ValueError for my own feed: content sealed for oneself has `own_slot`.
    """
    if yours == mine.feed_id:
        raise ValueError("one's own slot is own_slot's")
    public = _curve25519(yours)
    shared = None if public is None else mine.shared(public)
    if public is None or shared is None:
        return None
    mine_public = _curve25519(mine.feed_id)
    assert mine_public is not None, "the feed id was made from a seed"
    parties = SharedKeyParty(mine_public, bfe_feed(mine.feed_id)), SharedKeyParty(public, bfe_feed(yours))
    return SlotKey(dm_key(shared, *parties), SlotScheme.MEMBER)


def check_people(message: AddMember) -> None:
    """Raise GroupMessageError if one of the people added has a feed id that is not a valid key.

    Nothing can be sealed for such a member, so they would keep all others from beginning an epoch.
    """
    for person in message.people:
        if not _possible(person):
            raise GroupMessageError(ADD, "recps", f"names {person.hex()}, a key that nobody can have")


@lru_cache(maxsize=limits.SET_MAX)
def _possible(feed: FeedId) -> bool:
    return _curve25519(feed) is not None


def _curve25519(feed: FeedId) -> bytes | None:
    try:
        return crypto_sign_ed25519_pk_to_curve25519(feed)
    except SodiumError:
        return None


def own_slot(seed: bytes) -> SlotKey:
    """Return the slot of content that the identity with this *seed* seals for itself (decision 0032)."""
    return SlotKey(derive_secret(seed, _OWN), SlotScheme.OWN)


def derive_secret(seed: bytes, *names: bytes) -> bytes:
    """Derive 32 secret bytes for the purpose *names* from the *seed* of an identity, always the same."""
    return hkdf(seed, _SALT, slp((_OURS, *names)))


def epoch_slot(epoch_key: EpochKey) -> SlotKey:
    """Return the slot of all members of an epoch."""
    return SlotKey(epoch_key, SlotScheme.GROUP)


def cloaked_id(read_key: bytes, message: bytes) -> bytes:
    """Return the id, 32 bytes, of a message that only its readers can compute; *message* is its id in BFE."""
    return expand(read_key, slp((_CLOAKED, message)))


def group_id(read_key: bytes, init: MessageId) -> GroupId:
    """Return the id of the group whose first message is the entry *init*, an envelope opened by *read_key*."""
    return GroupId(cloaked_id(read_key, bfe_message(init)))


class GroupKeys:
    """The keys of one identity. They are never shown: ``repr`` names the main feed only."""

    def __init__(self, seed: bytes, draw: Callable[[int], bytes]) -> None:
        """Derive them from *seed*, the identity's 32 bytes (ValueError); *draw* makes that many random bytes."""
        self._seed = seed
        self.seal: Final = SealKey(seed)
        """Opens content that was sealed for our main feed."""
        self.main: Final = self.seal.feed_id
        """Our main feed, which names us as a member."""
        self.own: Final[SlotKey] = own_slot(seed)
        """The slot of content that we seal for ourselves."""
        self.draw: Final = draw
        self.waits_seed: Final = derive_secret(seed, b"waits")
        """Seed that makes the waits of `plan.plan` unpredictable for others."""
        self._additions: SigningKey | None = None
        self._members: dict[FeedId, SlotKey | None] = {}

    def additions(self) -> SigningKey:
        """Return the key of our feed of additions."""
        if self._additions is None:
            self._additions = SigningKey(derive_secret(self._seed, b"additions"))
        return self._additions

    def epoch(self, key: EpochKey, generation: int = 0) -> SigningKey:
        """Return the key of our feed in the epoch with *key*; of the next *generation*, up to 255, if the one before
        has ended."""
        return SigningKey(derive_secret(self._seed, b"epoch", key, bytes([generation])))

    def member(self, person: FeedId) -> SlotKey | None:
        """Return the slot between us and another person, by their main feed. None: that is not a valid key.

        The first time it costs a multiplication on the curve. Raises ValueError for ourselves.
        """
        if person not in self._members:
            if len(self._members) >= limits.SET_MAX:
                self._members.clear()
            self._members[person] = member_slot(self.seal, person)
        return self._members[person]

    def __repr__(self) -> str:
        return f"GroupKeys(main={self.main.hex()})"
