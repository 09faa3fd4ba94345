"""The packets that a node wrote by itself for each group within a day: the budget that members can make it use.

Members can make a node write: forks to join, exclusions to complete, people to add, keys to hand on. All of it is in
the user's legal airtime, so it is limited for each group, and waits beyond that. What the user asks for is free.
"""

from collections.abc import Mapping, Sequence

from tinyssb_node.groups import limits as group_limits
from tinyssb_node.ids import MessageId

Charges = Sequence[tuple[int, int]]
"""Pairs of microseconds and packets."""


class GroupSpending:
    """The packets of the last 24 hours, as the node ran."""

    def __init__(self, ago: Mapping[MessageId, Charges]) -> None:
        """*ago*: what `ago` returned before a restart. While the node is off, no time passes."""
        self._ago = dict(ago)
        self._charges: dict[MessageId, list[tuple[int, int]]] = {}

    def used(self, root: MessageId, now_us: int) -> int:
        """Return the packets written for a group in the last 24 hours."""
        return sum(packets for _, packets in self._recent(root, now_us))

    def wait_us(self, root: MessageId, packets: int, now_us: int) -> int:
        """Return how long a group's next *packets* have to wait, 0 if they may be written now. An operation that takes
        more than half of the budget begins as soon as half of it is left: large groups have to be finished, too."""
        packets = min(packets, group_limits.UNASKED_PACKETS_A_DAY // 2)
        recent = self._recent(root, now_us)
        left, wait_us = sum(each for _, each in recent), 0
        for at_us, each in recent:
            if left + packets <= group_limits.UNASKED_PACKETS_A_DAY:
                break
            left -= each
            wait_us = at_us + group_limits.SPENDING_US - now_us
        return wait_us

    def charge(self, root: MessageId, packets: int, now_us: int) -> None:
        """Note that *packets* were written for a group."""
        recent = self._recent(root, now_us)
        if recent and now_us - recent[-1][0] < group_limits.SPENDING_STEP_US:
            at_us, before = recent.pop()
            recent.append((at_us, before + packets))
        else:
            recent.append((now_us, packets))

    def ago(self, now_us: int) -> dict[MessageId, Charges]:
        """Return how long ago packets were written, for the next start."""
        roots = [root for root in self._charges if self._recent(root, now_us)]
        return self._ago | {
            root: [(now_us - at_us, each) for at_us, each in self._charges[root]] for root in roots
        }

    def _recent(self, root: MessageId, now_us: int) -> list[tuple[int, int]]:
        if root in self._ago:
            self._charges[root] = [(now_us - ago_us, packets) for ago_us, packets in self._ago.pop(root)]
        charges = self._charges.setdefault(root, [])
        charges[:] = [one for one in charges if now_us - one[0] < group_limits.SPENDING_US]
        return charges
