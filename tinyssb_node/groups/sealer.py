"""What is said to a group, as the content of an entry: encoded, and sealed for those who are to read it."""

from collections.abc import Collection
from typing import Final

from tinyssb_node.errors import LocalError
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.envelope import SlotKey, box
from tinyssb_node.groups.identity import GroupKeys
from tinyssb_node.groups.keys import epoch_slot
from tinyssb_node.groups.limits import BODY_BOX_MIN_SIZE, HEADER_BOX_SIZE, SECRET_SIZE, SLOT_SIZE
from tinyssb_node.groups.messages import AddMember, GroupInit, GroupMessage
from tinyssb_node.groups.short_form import encode, with_owner
from tinyssb_node.ids import EpochKey, FeedId, MessageId

_NOBODY: Final[Collection[FeedId]] = ()
_TAG: Final = BODY_BOX_MIN_SIZE - 1


class InvalidRecipientError(LocalError):
    """Nothing can be sealed for somebody: his feed id is no key that anybody can have. Nothing was written."""

    def __init__(self, person: FeedId) -> None:
        super().__init__(f"nothing was written: nobody can have the key of the feed {person.hex()}")
        self.person = person


class Sealer:
    """Seals in the name of one identity."""

    def __init__(self, keys: GroupKeys) -> None:
        self._keys = keys

    def seal(
        self,
        message: GroupMessage,
        epoch: EpochKey,
        feed: FeedId,
        previous: MessageId,
        *,
        first: bool,
        known: Collection[FeedId] = _NOBODY,
    ) -> bytes:
        """The content of the entry of *feed* behind *previous*, for the epoch with that key and whom the message names.

        *first*: it begins an epoch feed, and says whose that is. *known* may be named short: all who will read the
        message know them. Raises InvalidRecipientError.
        """
        slots = self._slots(message, epoch)
        return box(self._plain(message, first, known), context_of(feed, previous), slots, self._message_key())

    def size(self, message: GroupMessage, *, first: bool, known: Collection[FeedId] = _NOBODY) -> int:
        """Bytes of content that `seal` would make."""
        people = (
            len(message.people) if isinstance(message, AddMember) else int(isinstance(message, GroupInit))
        )
        return HEADER_BOX_SIZE + SLOT_SIZE * (1 + people) + _TAG + len(self._plain(message, first, known))

    def check(self, people: Collection[FeedId]) -> None:
        """Raises InvalidRecipientError if one of *people* is nobody who can read anything."""
        for person in people:
            self._slot(person)

    def _plain(self, message: GroupMessage, first: bool, known: Collection[FeedId]) -> bytes:
        plain = encode(message, known=known)
        return with_owner(plain, self._keys.main) if first else plain

    def _slots(self, message: GroupMessage, epoch: EpochKey) -> list[SlotKey]:
        slots = [epoch_slot(epoch)]
        if isinstance(message, AddMember):
            slots += [self._slot(person) for person in message.people]
        elif isinstance(message, GroupInit):
            # Whoever lost all but the words of his identity can read from it which epochs he began.
            slots.append(self._keys.own)
        return slots

    def _slot(self, person: FeedId) -> SlotKey:
        slot = self._keys.own if person == self._keys.main else self._keys.member(person)
        if slot is None:
            raise InvalidRecipientError(person)
        return slot

    def _message_key(self) -> bytes:
        """32 random bytes, which are all zero once in 2^256 times."""
        while not any(key := self._keys.draw(SECRET_SIZE)):
            pass
        return key
