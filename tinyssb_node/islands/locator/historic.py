"""Historic peers: a list whose members have all ages (text, "Historic peers")."""

from collections.abc import Iterable

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import Peer
from tinyssb_node.islands.locator.randomness import LocatorRandomSource, pick


class HistoricPeers:
    """Grows with the logarithm of what was added: the ages of its members are spread evenly over all magnitudes."""

    def __init__(
        self, peers: Iterable[Peer], *, probability: float, threshold: int, chance: LocatorRandomSource
    ) -> None:
        self._peers = list(dict.fromkeys(peers))[: limits.HISTORIC_MAX]
        self._probability = probability
        self._threshold = threshold
        self._chance = chance

    @property
    def peers(self) -> tuple[Peer, ...]:
        """The newest first."""
        return tuple(self._peers)

    def __len__(self) -> int:
        return len(self._peers)

    def add(self, peer: Peer) -> None:
        """Remember *peer*, and perhaps forget another. One with its node address keeps its place, and so its age."""
        for index, known in enumerate(self._peers):
            if known.node == peer.node:
                self._peers[index] = peer
                return
        self._peers.insert(0, peer)
        if len(self._peers) > self._threshold:
            for index in range(len(self._peers)):
                if self._chance.random() < self._probability:
                    del self._peers[index]
                    break
        del self._peers[limits.HISTORIC_MAX :]

    def pick(self) -> Peer | None:
        """Any of them; None if there are none."""
        return pick(self._chance, self._peers) if self._peers else None
