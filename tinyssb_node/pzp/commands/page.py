"""PZP messages as one page of text for screens: identities, then the last messages of each feed.

It only reads: messages in entries that came since are added by `tinyssb pzp` and by the gateway.
"""

from contextlib import closing

from tinyssb_node.pzp.commands.session import PzpSession, require_libraries
from tinyssb_node.store.home import Home

TITLE = "PZP messages"
_SHORT = 8  # characters of an id that are shown: commands take them
_FEEDS_MAX = 20  # feeds that are shown, those with the newest messages
_MESSAGES_MAX = 20  # messages of each
_FILE = "pzp.sqlite"  # as in ``database.sqlite``, which a node without PZP cannot load


def read_page(home: Home) -> tuple[str, list[str]]:
    """Return the title and the lines, unescaped; none if no PZP messages are stored. Raises LocalError."""
    path = home.root / _FILE
    if not path.exists():
        return TITLE, []
    require_libraries()
    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.daemon.setup import read_node_identity
    from tinyssb_node.pzp.database.database import PzpDatabase
    from tinyssb_node.pzp.database.sqlite import SqlitePzpRows

    with closing(PzpDatabase(SqlitePzpRows.open_readonly(path))) as database:
        pzp = PzpSession(home, read_config(home), database, {}, read_node_identity(home).feed)
        return TITLE, _lines(pzp)


def _lines(pzp: PzpSession) -> list[str]:
    from tinyssb_node.pzp.commands.lines import group_lines

    lines: list[str] = []
    for group in pzp.groups():
        lines += [*group_lines(group, pzp.own_key), ""]
    feeds = sorted(pzp.feeds(), key=lambda found: found[0].last_number, reverse=True)
    for summary, root in feeds[:_FEEDS_MAX]:
        owner = str(root.owner)[:_SHORT]
        lines.append(f"{root.kind} of {owner}, {summary.messages:,} messages, feed {summary.root[:_SHORT]}:")
        lines += [*_feed_lines(pzp, summary.root), ""]
    more = len(feeds) - _FEEDS_MAX
    return [*lines, f"{more:,} more feed{'' if more == 1 else 's'}: tinyssb pzp feeds"] if more > 0 else lines


def _feed_lines(pzp: PzpSession, feed: str) -> list[str]:
    from tinyssb_node.pzp.commands.lines import message_lines

    records, revoked = pzp.last_messages(feed, _MESSAGES_MAX)
    return [f"  {line}" for line in message_lines(records, revoked, short=True).split("\n")]
