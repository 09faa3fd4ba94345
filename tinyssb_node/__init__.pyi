from tinyssb_node.catalog.rows import PUBLIC
from tinyssb_node.codec import bipf
from tinyssb_node.content import chat
from tinyssb_node.control.client import DaemonClient, DaemonError, DaemonUnreachableError
from tinyssb_node.errors import LocalError, PeerError, ProblemError
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.tail import event_folder, follow_lines, last_lines
from tinyssb_node.store.sqlite import SqliteStore

__all__ = [
    "PUBLIC",
    "DaemonClient",
    "DaemonError",
    "DaemonUnreachableError",
    "FeedId",
    "LocalError",
    "MessageId",
    "NodeSession",
    "PeerError",
    "ProblemError",
    "SqliteStore",
    "bipf",
    "chat",
    "event_folder",
    "follow_lines",
    "last_lines",
    "version",
]

def version() -> str: ...
