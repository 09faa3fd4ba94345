"""The erasable keys of groups whose texts are erased: chains and prekeys, stored so that a deleted version cannot be
opened (docs/formats/group-secrecy.md, docs/formats/store.md).

This module decides when a key is gone. What is asked for and delivered is decided in `secrecy`.
"""

from collections.abc import Callable, Mapping

import msgspec

from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.text_chains import chain_name, next_key, public_part, text_key
from tinyssb_node.ids import MessageId
from tinyssb_node.store.port import Store


class HeldChain(msgspec.Struct):
    """A chain from one step on. Nothing before that step can be computed."""

    begun: bytes
    """Id of the message that began it."""
    step: int
    key: bytes
    """The key of that step."""
    head: int
    """The step of today."""
    marks: list[int]
    """The step of each of the last days, the earliest first."""

    def pass_day(self, days: int) -> None:
        """Count a day, and delete the keys of steps that ended *days* before."""
        self.head = min(self.head + 1, group_limits.STEP_MAX + 1)
        self.marks.append(self.head)
        while len(self.marks) > days:
            step = self.marks.pop(0)
            self.key, self.step = next_key(self.key, step - self.step), step

    @property
    def ended(self) -> bool:
        """True if it has no further step."""
        return self.head > group_limits.STEP_MAX


class HeldPrekey(msgspec.Struct):
    """A prekey of ours."""

    secret: bytes
    used_days: int | None = None
    """How many days ago a chain was first delivered to it; None: none was."""


class HeldKeys(msgspec.Struct):
    """The keys of one group."""

    chains: list[HeldChain] = []
    prekeys: list[HeldPrekey] = []
    published: int = 0
    """How many prekeys were published today."""
    answered: int = 0
    """How many requests were answered today."""


class SecrecyKeys:
    """The erasable keys of all groups of one identity."""

    def __init__(self, store: Store) -> None:
        """Load them from *store*."""
        self._store = store
        kept = store.get_secret()
        self._groups = {} if kept is None else msgspec.msgpack.decode(kept, type=dict[bytes, HeldKeys])
        self._text_keys: dict[tuple[bytes, int], bytes] = {}
        """Keys of texts, while they are in use."""

    def of(self, root: MessageId) -> HeldKeys:
        """Return the keys of a group, to be looked at only."""
        return self._groups.get(root) or HeldKeys()

    def _change(self, root: MessageId) -> HeldKeys:
        return self._groups.setdefault(bytes(root), HeldKeys())

    def _save(self) -> None:
        self._store.put_secret(msgspec.msgpack.encode(self._groups))

    def pass_day(self, root: MessageId, days: int) -> None:
        """Count a day of a group, and delete what is *days* old."""
        held = self._change(root)
        for chain in held.chains:
            chain.pass_day(days)
        for prekey in held.prekeys:
            if prekey.used_days is not None:
                prekey.used_days += 1
        held.prekeys = [one for one in held.prekeys if one.used_days is None or one.used_days <= days]
        held.published = held.answered = 0
        self._text_keys.clear()
        self._save()

    # --- chains

    def chain(self, root: MessageId, begun: MessageId) -> HeldChain | None:
        """Return the chain that a message began, if its key is here."""
        return next((chain for chain in self.of(root).chains if chain.begun == begun), None)

    def adopt(
        self,
        root: MessageId,
        begun: MessageId,
        step: int,
        key: bytes,
        rank: Callable[[bytes], tuple[bool, int, bytes]],
    ) -> None:
        """Keep a chain from *step* on, if it is new. If there are too many, the one with the highest *rank* is
        deleted."""
        if self.chain(root, begun) is not None:
            return
        held = self._change(root)
        held.chains.append(HeldChain(bytes(begun), step, key, step, []))
        if len(held.chains) > group_limits.CHAINS_MAX:
            held.chains.remove(max(held.chains, key=lambda chain: rank(chain.begun)))
        self._save()

    def saw(self, root: MessageId, name: bytes, step: int) -> None:
        """Note that a text of *step* arrived: this step has begun."""
        for chain in self.of(root).chains:
            if chain_name(MessageId(chain.begun)) == name:
                chain.head = max(chain.head, step)

    def text_keys(self, root: MessageId, name: bytes, step: int) -> list[bytes]:
        """Return the keys that may open a text of a chain with that name: none if its step was erased."""
        found = []
        for chain in self.of(root).chains:
            if chain_name(MessageId(chain.begun)) == name and chain.step <= step:
                place = (chain.begun, step)
                if place not in self._text_keys:
                    if len(self._text_keys) >= group_limits.TEXT_KEYS_MAX:
                        self._text_keys.clear()
                    self._text_keys[place] = text_key(next_key(chain.key, step - chain.step))
                found.append(self._text_keys[place])
        return found

    # --- prekeys

    def keep_prekey(self, root: MessageId, secret: bytes) -> None:
        """Keep a prekey that was published."""
        held = self._change(root)
        for earlier in held.prekeys:
            earlier.used_days = earlier.used_days or 0  # nobody should deliver to it any more
        held.prekeys.append(HeldPrekey(secret))
        del held.prekeys[: -group_limits.PREKEYS_MAX]
        held.published += 1
        self._save()

    def prekeys(self, root: MessageId) -> Mapping[bytes, HeldPrekey]:
        """Return our prekeys of a group, by their public part."""
        return {public_part(one.secret): one for one in self.of(root).prekeys}

    def use(self, prekey: HeldPrekey) -> None:
        """Note that a chain was delivered to a prekey, so that it is deleted after a while."""
        if prekey.used_days is None:
            prekey.used_days = 0
            self._save()

    def answer(self, root: MessageId, count: int) -> None:
        """Note that we answered requests."""
        self._change(root).answered += count
        self._save()
