"""Unconfirmed peers: heard of, not from (text, "Unconfirmed peers")."""

from tinyssb_node.islands.locator.addresses import Peer
from tinyssb_node.islands.locator.labels import Label, label_of_address, position
from tinyssb_node.islands.locator.randomness import LocatorRandomSource, flip_coin, pick


class UnconfirmedPeers:
    """A set of peers for each bit position of our label."""

    def __init__(self, mine: Label, limit: int, chance: LocatorRandomSource) -> None:
        self._mine = mine
        self._limit = limit
        self._chance = chance
        self._sets: dict[int, dict[bytes, Peer]] = {}
        """By position, then by node address. No set is empty."""

    def __len__(self) -> int:
        return sum(len(peers) for peers in self._sets.values())

    def peers(self, at: int) -> tuple[Peer, ...]:
        """The set of one position."""
        return tuple(self._sets.get(at, {}).values())

    def add(self, peer: Peer) -> None:
        """Put it into its set; if that is full, any member goes. The caller sees to it that its address is valid."""
        at = position(self._mine, label_of_address(peer.node))
        if at is None:
            return
        peers = self._sets.setdefault(at, {})
        peers[peer.node] = peer
        while len(peers) > self._limit:
            del peers[pick(self._chance, list(peers))]

    def depth(self) -> int:
        """How many sets there are above the uppermost empty one: what the periods of the text vary with."""
        at = 0
        while at in self._sets:
            at += 1
        return at

    def levels(self) -> int:
        """n of "Peer discovery": nonempty sets, those beyond the first empty one counted as part of the one before."""
        return self.depth() or min(len(self._sets), 1)

    def wants_historic(self) -> bool:
        """Throw for it: True with probability 2**-n, and always if nobody is here."""
        return all(flip_coin(self._chance) for _ in range(self.levels()))

    def take(self) -> Peer | None:
        """Choose a set, choose a peer of it and remove that; None if nobody is here."""
        levels = self.levels()
        if levels == 0:
            return None
        chosen = int(self._chance.random() * levels)
        beyond = [at for at in self._sets if at >= levels] if chosen == levels - 1 else []
        candidates = [(at, node) for at in (chosen, *beyond) for node in self._sets.get(at, {})]
        at, node = pick(self._chance, candidates)
        peer = self._sets[at].pop(node)
        if not self._sets[at]:
            del self._sets[at]
        return peer
