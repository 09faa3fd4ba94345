"""Items that came in at the faces, and wait for the nodes' next turn.

Each face has a queue of its own, and the faces take turns, an item each: a flood at one of them neither crowds out what
the others receive nor delays it.
"""

from collections import OrderedDict, deque
from typing import Generic, TypeVar

from tinyssb_node.ids import FaceName

Item = TypeVar("Item")


class Inbox(Generic[Item]):
    """The items that wait, in order for each face."""

    def __init__(self) -> None:
        self._queues: OrderedDict[FaceName, deque[Item]] = OrderedDict()
        """Those that are not empty, the one whose turn is next first."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def count(self, face: FaceName) -> int:
        """Return the number of items of *face*."""
        return len(self._queues.get(face, ()))

    def put(self, face: FaceName, item: Item) -> None:
        """Queue *item* behind the others of *face*."""
        self._queues.setdefault(face, deque()).append(item)
        self._count += 1

    def take(self) -> Item:
        """Remove and return the next item, of the face whose turn it is. Raises KeyError if there is none."""
        face, queue = self._queues.popitem(last=False)
        item = queue.popleft()
        self._count -= 1
        if queue:
            self._queues[face] = queue
        return item
