"""Groups whose texts are erased by time: who lacks the key of a chain, who delivers it, and what a text becomes
(docs/formats/group-secrecy.md, decision 0075).

Membership, order and names are not encrypted a second time: they are computed from entries after each start.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.epochs import NOBODY, People
from tinyssb_node.groups.keys import GroupKeys
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import GroupContent, GroupInit, GroupMessage, OpenedGroupMessage
from tinyssb_node.groups.plan import unwelcome
from tinyssb_node.groups.reader import GroupReader
from tinyssb_node.groups.secrecy_keys import HeldChain, SecrecyKeys
from tinyssb_node.groups.text_chains import (
    CHAIN,
    PREKEY,
    ChainDelivery,
    Prekey,
    chain_name,
    cover,
    delivery_body,
    draw_salt,
    next_key,
    open_delivery,
    parse_delivery,
    parse_prekey,
    parse_text,
    prekey_body,
    public_part,
    text_key,
    uncover,
)
from tinyssb_node.ids import EpochKey, FeedId, MessageId
from tinyssb_node.replication.replica import Replica
from tinyssb_node.store.port import Store

TICK: Final = "day"
"""Name of the wait until the next step, among those of the plan."""
_ASK: Final = "text/"
"""Beginning of the names of waits before an answer."""


def erased_after_days(group: Group) -> int | None:
    """Return after how many days the texts of a group are erased; None: never. Raises KeyError without its first
    message."""
    first = group.said(group.root).message
    return first.erase_days if isinstance(first, GroupInit) else None


@dataclass(slots=True)
class _Traffic:
    """The messages of one group that carry keys."""

    prekeys: dict[MessageId, tuple[OpenedGroupMessage, Prekey]] = field(default_factory=dict)
    deliveries: dict[MessageId, tuple[OpenedGroupMessage, ChainDelivery]] = field(default_factory=dict)
    begun: dict[bytes, MessageId] = field(default_factory=dict)
    """Messages that began a chain, by its name."""
    hints: dict[bytes, set[bytes]] = field(default_factory=dict)
    """By name of a chain: the prekeys that it was delivered to."""
    steps: dict[bytes, int] = field(default_factory=dict)
    """By name of a chain: the highest step of a text."""


@dataclass(frozen=True, slots=True)
class KeyDraft:
    """A chain or a prekey that is about to be published."""

    key: bytes = field(repr=False)
    """The first key of the chain, or the secret part of the prekey: to be kept once the message is written."""
    kind: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Exposure:
    """How far back a thief of this device could read the texts of a group."""

    erase_days: int
    """Texts are erased after that many days."""
    open_days: int
    """Days of which texts can be read, today included; 0: none."""
    lacking: bool
    """True if texts are written that this device has no key for yet."""


class TextSecrecy:
    """The part of one identity in groups whose texts are erased."""

    def __init__(self, keys: GroupKeys, reader: GroupReader, replica: Replica, store: Store) -> None:
        self._identity = keys
        self._replica = replica
        self._reader = reader
        self._keys = SecrecyKeys(store)
        self._traffic: dict[MessageId, _Traffic] = {}

    # --- reading

    def read(self, root: MessageId, said: OpenedGroupMessage) -> None:
        """Take a message of a group, in any order. A message that is taken again changes nothing."""
        content = said.message
        if not isinstance(content, GroupContent) or erased_after_days(self._group(root)) is None:
            return
        traffic = self._traffic.setdefault(root, _Traffic())
        if (text := parse_text(content)) is not None:
            traffic.steps[text.chain] = max(text.step, traffic.steps.get(text.chain, 0))
            self._keys.saw(root, text.chain, text.step)
        elif (prekey := parse_prekey(content)) is not None:
            traffic.prekeys[said.id] = said, prekey
        elif (delivery := parse_delivery(content)) is not None:
            traffic.deliveries[said.id] = said, delivery
            name = delivery.chain or chain_name(said.id)
            traffic.hints.setdefault(name, set()).update(delivery.slots)
            if delivery.chain is None:
                traffic.begun.setdefault(name, said.id)
            for one, its in list(traffic.deliveries.values()):
                if (its.chain or chain_name(one.id)) == name:
                    self._open(root, name, one, its)

    def _open(self, root: MessageId, name: bytes, said: OpenedGroupMessage, delivery: ChainDelivery) -> None:
        """Take the key of a chain, if it was delivered to a prekey of ours.

        The prekey counts as used even if the key is known, or its chain is not: it opens that key as long as it exists.
        """
        if self._replica.read_only:
            return
        for public, prekey in self._keys.prekeys(root).items():
            key = open_delivery(delivery, prekey.secret, public, said.author)
            if key is None:
                continue
            self._keys.use(prekey)
            begun = self._traffic[root].begun.get(name)
            if begun is not None:
                self._keys.adopt(root, begun, delivery.step, key, self._rank(root))
                self._keys.saw(root, name, self._traffic[root].steps.get(name, 0))

    def _rank(self, root: MessageId) -> Callable[[bytes], tuple[bool, int, bytes]]:
        """Return the order in which chains are given up: those of other epochs first, then those of who began most."""
        group = self._group(root)
        view = group.view
        epoch = view.preference(self._identity.main).epoch
        here = None if epoch is None else view[epoch].key
        saids = {
            chain.begun: group.said(MessageId(chain.begun))
            for chain in self._keys.of(root).chains
            if MessageId(chain.begun) in group
        }
        by = [said.author for said in saids.values()]

        def rank(begun: bytes) -> tuple[bool, int, bytes]:
            said = saids.get(begun)
            if said is None:
                return False, 0, begun  # the one that is just adopted
            return said.key != here, by.count(said.author), begun

        return rank

    def opened(self, root: MessageId, said: OpenedGroupMessage) -> GroupMessage:
        """Return the message that *said* covers; itself if it covers none, or its key is erased or was never here."""
        content = said.message
        text = parse_text(content) if isinstance(content, GroupContent) else None
        if text is None or not isinstance(content, GroupContent):
            return content
        for key in self._keys.text_keys(root, text.chain, text.step):
            found = uncover(text, content, key, said.author)
            if found is not None:
                return found
        return content

    # --- time

    def pass_time(self, root: MessageId, since_us: int, now_us: int) -> int:
        """Count the days since *since_us*, and delete what is too old. Returns since when the next day counts."""
        days = erased_after_days(self._group(root))
        while days is not None and now_us - since_us >= group_limits.STEP_US:
            self._keys.pass_day(root, days)
            since_us += group_limits.STEP_US
        return since_us

    def exposure(self, root: MessageId) -> Exposure | None:
        """Return how far back a thief could read; None: all of it, in a group whose texts are not erased."""
        days = erased_after_days(self._group(root))
        if days is None:
            return None
        chains = self._keys.of(root).chains
        open_days = max((len(chain.marks) + 1 for chain in chains), default=0)
        return Exposure(days, open_days, bool(self._lacking(root)))

    # --- messages to write

    def prekey_due(self, root: MessageId) -> KeyDraft | None:
        """Return a prekey that we should publish now; None: none."""
        group = self._group(root)
        people = self._people(root)
        held = self._keys.of(root)
        if erased_after_days(group) is None or len(people) < 2 or self._identity.main not in people:
            return None
        if held.published >= group_limits.PREKEYS_A_DAY:
            return None
        lacking = self._lacking(root)
        latest = self._latest(root).get(self._identity.main)
        if latest is not None and not self._outdated(root, latest[1], lacking):
            return None
        secret = self._identity.draw(group_limits.SECRET_SIZE)
        return KeyDraft(secret, PREKEY, prekey_body(Prekey(public_part(secret), bool(lacking))))

    def published(self, root: MessageId, secret: bytes) -> None:
        """Keep a prekey that was published."""
        self._keys.keep_prekey(root, secret)

    def _outdated(self, root: MessageId, latest: Prekey, lacking: Iterable[bytes]) -> bool:
        """Return whether another prekey should follow our latest one: it was used, or lost, or an earlier one was
        answered that we lost."""
        held = self._keys.prekeys(root).get(latest.public)
        if held is None or held.used_days is not None:
            return True
        hints = self._traffic[root].hints
        return not latest.wanted and any(
            self._named(root, self._identity.main, hints[name]) for name in lacking
        )

    def requests(self, root: MessageId) -> dict[str, Prekey]:
        """Return the prekeys that we could answer, by the name of the wait before: their authors lack the chain that we
        write on."""
        chain = self._writing(root)
        if chain is None or self._keys.of(root).answered >= group_limits.ANSWERS_A_DAY:
            return {}
        begun = MessageId(chain.begun)
        hints = self._traffic[root].hints.get(chain_name(begun), set())
        group, me = self._group(root), self._identity.main
        people = self._people(root) - unwelcome(group, me) - {me, group.said(begun).author}
        return {
            _ASK + id_.hex(): prekey
            for person, (id_, prekey) in self._latest(root).items()
            if person in people
            and prekey.hint not in hints
            and (prekey.wanted or not self._named(root, person, hints))
        }

    def due_us(self, task: str, since_us: int) -> int:
        """Return when a request is to be answered, unless another member was faster: a random wait."""
        least, most = group_limits.REPAIR_WAIT_US
        drawn = sha256(self._identity.waits_seed + self._identity.main + task.encode()).digest()[:8]
        return since_us + least + int.from_bytes(drawn, "big") % (most - least + 1)

    def answer(self, root: MessageId, prekeys: Iterable[Prekey]) -> tuple[str, bytes] | None:
        """Return kind and body of a message that delivers the key of today to *prekeys*; None without one."""
        chain = self._writing(root)
        publics = [prekey.public for prekey in prekeys]
        if chain is None or not publics:
            return None
        key = next_key(chain.key, chain.head - chain.step)
        return CHAIN, self._delivery(key, chain.head, chain_name(MessageId(chain.begun)), publics)

    def answered(self, root: MessageId, count: int) -> None:
        """Note that so many requests were answered."""
        self._keys.answer(root, count)

    def first(self, root: MessageId) -> KeyDraft | None:
        """Return a chain to begin; None if we can write on one."""
        if self._writing(root) is not None:
            return None
        key = self._identity.draw(group_limits.SECRET_SIZE)
        return KeyDraft(key, CHAIN, self._delivery(key, 0, None, self._prekeys(root)))

    def _prekeys(self, root: MessageId) -> list[bytes]:
        """Return the latest prekeys of the other members."""
        people = self._people(root) - {self._identity.main}
        return [prekey.public for person, (_, prekey) in self._latest(root).items() if person in people]

    def sized(self, root: MessageId, kind: str, body: bytes, *, anew: bool) -> list[tuple[str, bytes]]:
        """Return kinds and bodies as long as those of the messages that covering one takes; *anew*: in a new epoch."""
        key, me = bytes(group_limits.SECRET_SIZE), self._identity.main
        begin = anew or self._writing(root) is None
        first = [(CHAIN, self._delivery(key, 0, None, self._prekeys(root)))] if begin else []
        salt = draw_salt(self._identity.draw)
        return [*first, cover(kind, body, key, chain_name(root), 0, me, salt)]

    def begin(self, root: MessageId, begun: MessageId, key: bytes) -> None:
        """Keep the chain that a message of ours began."""
        self._keys.adopt(root, begun, 0, key, self._rank(root))

    def covered(self, root: MessageId, kind: str, body: bytes) -> tuple[str, bytes]:
        """Return kind and body of the message that covers another one. There is a chain to write on."""
        chain = self._writing(root)
        assert chain is not None, "a chain is begun before a text is written"
        key = text_key(next_key(chain.key, chain.head - chain.step))
        name = chain_name(MessageId(chain.begun))
        salt = draw_salt(self._identity.draw)
        return cover(kind, body, key, name, chain.head, self._identity.main, salt)

    def _delivery(self, key: bytes, step: int, chain: bytes | None, prekeys: list[bytes]) -> bytes:
        secret = self._identity.draw(group_limits.SECRET_SIZE)
        return delivery_body(key, step, chain, prekeys, self._identity.main, secret)

    # --- the group

    def _group(self, root: MessageId) -> Group:
        return self._reader.groups[root].group

    def _people(self, root: MessageId) -> People:
        """Return the members of the epoch that we write in."""
        view = self._group(root).view
        preference = view.preference(self._identity.main)
        if preference.epoch is None or preference.excluded:
            return NOBODY
        return view[preference.epoch].members - view[preference.epoch].excluded

    def _here(self, root: MessageId) -> list[MessageId]:
        """Return the messages by members that began chains of the epoch that we write in."""
        group = self._group(root)
        epoch = group.view.preference(self._identity.main).epoch
        key: EpochKey | None = None if epoch is None else group.view[epoch].key
        people = self._people(root)
        traffic = self._traffic.get(root)
        begun = [] if traffic is None else traffic.begun.values()
        saids = [group.said(id_) for id_ in begun if id_ in group]
        return sorted(said.id for said in saids if said.key == key and said.author in people)

    def _writing(self, root: MessageId) -> HeldChain | None:
        """Return the chain that we write on."""
        held = (self._keys.chain(root, begun) for begun in self._here(root))
        return next((chain for chain in held if chain is not None and not chain.ended), None)

    def _lacking(self, root: MessageId) -> list[bytes]:
        """Return the names of the chains of our epoch whose keys are not here."""
        return [chain_name(begun) for begun in self._here(root) if self._keys.chain(root, begun) is None]

    def _latest(self, root: MessageId) -> Mapping[FeedId, tuple[MessageId, Prekey]]:
        """Return the latest prekey of each person: the last one by its place in the group, or read last of those
        without a place. Those follow messages that are not here, and may never come: of people who are excluded."""
        traffic, group = self._traffic.get(root), self._group(root)
        if traffic is None:
            return {}
        placed = dict.fromkeys(id_ for id_ in group.tangle if id_ in traffic.prekeys)
        waiting = (id_ for id_ in traffic.prekeys if id_ not in placed)
        found = (traffic.prekeys[id_] for id_ in (*placed, *waiting))
        return {said.author: (said.id, prekey) for said, prekey in found}

    def _named(self, root: MessageId, person: FeedId, hints: set[bytes]) -> bool:
        """Return whether a chain was delivered to any prekey of a person."""
        prekeys = self._traffic[root].prekeys.values()
        return any(said.author == person and prekey.hint in hints for said, prekey in prekeys)
