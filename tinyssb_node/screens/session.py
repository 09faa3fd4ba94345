"""Reading and writing with a node: messages, conversations, boards, people. All screens use it: shell, terminal, web
page.

    with NodeSession.at_home() as node:
        node.catch_up()
        for row in node.catalog.messages(PUBLIC):
            print(node.names().of(row.feed), row.text)
        node.say("Soup is ready.")

Reading needs only the node's files; writing needs its daemon. Blocking, and for one thread. Imports that only writing
needs happen on the first write: `tinyssb chat` must answer within a tenth of a second.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from tinyssb_node.catalog.catalog import Catalog, CatalogUpdate
from tinyssb_node.catalog.rows import PUBLIC, MessageRow, PersonRow, is_group
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import DEFAULT_NETWORK, Dialect, FeedId, MessageId
from tinyssb_node.limits import CONTENT_PUBLISH_MAX
from tinyssb_node.screens import limits
from tinyssb_node.screens.people import DisplayNames, alike
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.screens.subject_pages import SubjectPage, subject_pages
from tinyssb_node.store.home import Home

if TYPE_CHECKING:
    from tinyssb_node.catalog.queries import ConversationQueries
    from tinyssb_node.content.board import KanbanBoard, Operation
    from tinyssb_node.content.chat import Message
    from tinyssb_node.control.client import DaemonClient
    from tinyssb_node.control.group_rows import GroupWrittenRow
    from tinyssb_node.control.rows import FollowedRow, PublishedRow, ReceiptRow
    from tinyssb_node.screens.group_conversations import GroupConversation


class NodeSession:
    """The catalog of one network of a node, and its daemon, which is called to publish."""

    def __init__(self, home: Home, network: str | None, catalog: Catalog) -> None:
        """Create a session; use ``at_home``."""
        self._home = home
        self._network = network
        self._client: DaemonClient | None = None
        self._seen: object = None
        self.catalog = catalog
        """All queries of messages, people and boards (``catalog.queries``)."""
        self._before_publishing: Callable[[int], None] = _agree

    @classmethod
    def at_home(cls, home: str | None = None, network: str | None = None) -> Self:
        """Open the catalog of *network* (None: the default one) of the node in *home* (None: TINYSSB_HOME, else
        ~/.tinyssb). It has the state of its last update: ``catch_up`` updates it.

        Raises ProblemError, ConfigError, CatalogFailedError, the store's errors.
        """
        found = Home.find(home, os.environ)
        found.require()
        folder = found
        if network is not None and network != DEFAULT_NETWORK:
            from tinyssb_node.daemon.config import read_config

            folder = found.of(read_config(found).find_network(network)[0])
        return cls(found, network, Catalog.open(found.root, folder.root))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the catalog and the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None
        self.catalog.close()

    def subject_pages(self) -> list[SubjectPage]:
        """Return the pages of optional subjects that store something, such as PZP. Raises LocalError."""
        return subject_pages(self._home)

    @property
    def home(self) -> Home:
        """The node's folder."""
        return self._home

    # --- Reading ---

    def catch_up(self, progress: Callable[[int, int], None] = lambda *_: None) -> CatalogUpdate:
        """Update the catalog; without new entries this takes 2 ms. *progress* gets the number of appends read, and of
        all.

        Raises CatalogFailedError, the store's errors.
        """
        return self.catalog.catch_up(progress)

    def changed(self) -> bool:
        """Update the catalog, and return whether anything is new since the last call, whoever read it. True
        at first."""
        caught = self.catch_up()
        seen = self.catalog.data_version()
        changed = bool(caught.done) or seen != self._seen
        self._seen = seen
        return changed

    @property
    def own(self) -> FeedId:
        """The node's own feed. Raises what reading the identity does."""
        for person in self.catalog.people():
            if person.own:
                return person.feed
        from tinyssb_node.daemon.setup import read_node_identity

        return read_node_identity(self._home).feed

    def read_marks(self) -> dict[str, int]:
        """Return for each conversation the number of the last arrival that the user has seen."""
        from tinyssb_node.screens.read_marks import read_marks

        return read_marks(self.catalog.folder)

    def mark_read(self, seen: Mapping[str, int]) -> None:
        """Advance the marks of conversations, if the disk can be written."""
        from tinyssb_node.screens.read_marks import mark_read

        mark_read(self.catalog.folder, seen)

    def names(self) -> DisplayNames:
        """Return the names of all people, as of now."""
        from tinyssb_node.content.contacts import read_contacts

        contacts = read_contacts(self._home.root)
        petnamed = {feed for feed, contact in contacts.items() if contact.name is not None}
        return DisplayNames(self.catalog.people(), petnamed)

    def find_person(self, text: str) -> PersonRow:
        """Return the person that *text* names: see ``DisplayNames.find``. Raises UnknownPersonError, ProblemError."""
        return self.names().find(text)

    def find_message(self, text: str) -> MessageRow:
        """Return the message whose id begins with these digits, or that ``FEED.SEQ`` names.

        Raises ProblemError.
        """
        found = self.catalog.find(text)
        typed = one_line(text, limits.NAME_CELLS)
        if not found:
            raise ProblemError(
                f"This node has no message '{typed}'.",
                "`tinyssb chat` shows the first digits of each id; these are enough. FEED.SEQ works, too.",
                exit_code=ExitCode.MISSING,
            )
        if len(found) > 1:
            raise ProblemError(
                f"The ids of several messages begin with '{typed}'.",
                "Type more digits of the id.",
                exit_code=ExitCode.USAGE,
            )
        return found[0]

    def conversation_with(self, people: Iterable[FeedId]) -> str | None:
        """Return our private conversation with exactly these *people*; None: it has no messages yet."""
        name = self._circle_name(people)
        begun = self.catalog.messages(name, limit=1) or self.catalog.waiting(name, limit=1)
        return name if begun else None

    def _circle_name(self, people: Iterable[FeedId]) -> str:
        """Return the catalog's name of our conversation with *people*, begun or not."""
        from tinyssb_node.catalog.limits import CIRCLE_NAME_DIGITS
        from tinyssb_node.content.chat import conversation_root

        return conversation_root({*people, self.own}).hex()[:CIRCLE_NAME_DIGITS]

    def members(self, conversation: str) -> tuple[FeedId, ...]:
        """Return the readers of *conversation*; empty: everybody. Raises ProblemError."""
        if conversation == PUBLIC:
            return ()
        row = self.catalog.conversation(conversation)
        if row is not None:
            return row.members
        raise ProblemError(
            f"There is no conversation '{one_line(conversation, limits.NAME_CELLS)}'.",
            "List conversations: tinyssb chat list. To begin one: tinyssb chat say --with PERSON TEXT",
            exit_code=ExitCode.MISSING,
        )

    def receipts(self, rows: Sequence[MessageRow]) -> dict[MessageId, ReceiptRow]:
        """Return the receipts of those of *rows* that are our own, as far as the daemon knows; nothing if it does not
        run."""
        own = {row.id.hex(): row.id for row in rows if row.own}
        if not own or not self._may_have_daemon():
            return {}
        from tinyssb_node.control.client import DaemonError, DaemonUnreachableError

        try:
            listed = list(self.client.receipts(last=256))  # more than fit on any screen
        except (DaemonError, DaemonUnreachableError):
            # Not running, or an older version: the messages can still be read.
            self.hang_up()
            return {}
        return {own[row.id]: row for row in listed if row.id in own}

    # --- Posting ---

    def tell_before_publishing(self, tell: Callable[[int], None]) -> None:
        """Call *tell* with the number of packets of all that this session is about to publish; it raises to prevent
        it."""
        self._before_publishing = tell

    def say(
        self,
        text: str,
        conversation: str = PUBLIC,
        reply_to: MessageId | None = None,
        identity: str | None = None,
        voice: bytes | None = None,
    ) -> PublishedRow:
        """Post *text*, or recorded *voice* with a text that may be empty, in *conversation*, after all its messages,
        and as an answer to *reply_to*. The id of a private group is a conversation, too, for texts. *identity*: the
        further identity that writes it, in public alone.

        Raises ProblemError, UnencodableMessageError, and as
        ``DaemonClient.publish`` does.
        """

        if is_group(conversation):
            _require_no_voice(voice)
            answered = None if reply_to is None else reply_to.hex()
            return self.say_to_group(conversation, text, answered).entries[-1]
        if identity is not None and conversation != PUBLIC:
            raise ProblemError(
                "Only the node's own identity takes part in private conversations. Nothing was published.",
                "Leave out --as, or write in public.",
                exit_code=ExitCode.USAGE,
            )
        return self.publish(self.draft(text, conversation, reply_to, identity, voice), identity)

    def say_private(
        self,
        text: str,
        recipients: Iterable[FeedId],
        reply_to: MessageId | None = None,
        voice: bytes | None = None,
    ) -> PublishedRow:
        """Post *text*, or recorded *voice*, so that only *recipients* and we can read it; at most
        ``limits.CIRCLE_MAX`` with us.

        Raises ProblemError, RecipientCountError, ReaderKeyError, UnencodableMessageError,
        and as ``DaemonClient.publish`` does.
        """
        return self.publish(self.draft_private(text, recipients, reply_to, voice))

    def draft(
        self,
        text: str,
        conversation: str = PUBLIC,
        reply_to: MessageId | None = None,
        identity: str | None = None,
        voice: bytes | None = None,
    ) -> bytes:
        """Return the content that ``say`` would publish now, for an estimate of its cost. Raises as ``say`` does."""
        members = self.members(conversation)
        if members:
            return self.draft_private(text, members, reply_to, voice)
        from tinyssb_node.screens.drafts import public_draft

        ties = self._ties(text, PUBLIC, reply_to, voice)
        return public_draft(self.catalog, self._author(identity), text, ties, voice)

    def _author(self, identity: str | None) -> FeedId | None:
        """Return the feed of an *identity*; None: there is no such one. Raises as the client does."""
        if identity is None:
            return self.own
        named = (one.feed for one in self.client.status().identities if one.name == identity)
        feed = next(named, None)
        return None if feed is None else FeedId.from_hex(feed)

    def draft_private(
        self,
        text: str,
        recipients: Iterable[FeedId],
        reply_to: MessageId | None = None,
        voice: bytes | None = None,
    ) -> bytes:
        """Return the content that ``say_private`` would publish now."""
        from tinyssb_node.content.private import circle
        from tinyssb_node.screens.drafts import private_draft

        own = self.own
        others = [feed for feed in recipients if feed != own]
        readers = circle(own, others)
        ties = self._ties(text, self._circle_name(others), reply_to, voice)
        return private_draft(self.catalog, text, readers, ties, voice)

    def post_packets(
        self,
        text: str,
        conversation: str = PUBLIC,
        recipients: Sequence[FeedId] | None = None,
        reply_to: MessageId | None = None,
        group: str | None = None,
        voice: bytes | None = None,
    ) -> int:
        """Return the packets that a post would take. *recipients*: as for ``say_private``; *group*: the name or digits
        of a group. Raises as ``say`` does."""

        named = group if group is not None else conversation if is_group(conversation) else None
        if named is not None:
            _require_no_voice(voice)
            _require_text(text)
            answered = None if reply_to is None else reply_to.hex()
            return self.client.group_post_cost(named, text, answered).packets
        if recipients is None:
            content = self.draft(text, conversation, reply_to, voice=voice)
        else:
            content = self.draft_private(text, recipients, reply_to, voice)
        return self.packets_of(content)

    def packets_of(self, content: bytes, identity: str | None = None) -> int:
        """Return the packets of *content* in the feed of an *identity*. Raises as the client does."""
        from tinyssb_node.feeds.layout import packet_count

        status = self.client.status()
        further = (one.dialect for one in status.identities if one.name == identity)
        return packet_count(len(content), Dialect(next(further, None) or status.dialect))

    def cost_words(self, packets: int) -> str:
        """Return the cost of a post of *packets* in one line. Raises as the client does."""
        from tinyssb_node.screens.estimate import cost_line, estimate, packets_in_words

        costs = estimate(packets, list(self.client.faces()), list(self.client.airtime()))
        return "; ".join(map(cost_line, costs)) or packets_in_words(packets)

    def cost_question(self, packets: int) -> list[str]:
        """Return the cost of a post of *packets* in lines, if its author should agree to it first; else nothing. Raises
        as the client does."""
        from tinyssb_node.screens.estimate import cost_question

        if packets <= limits.POST_PACKETS_MAX:
            return []
        return cost_question(packets, list(self.client.faces()), list(self.client.airtime()))

    def call_me(self, alias: str) -> PublishedRow:
        """Publish our name; empty: withdraw it. Raises UnencodableMessageError, as ``say``."""
        from tinyssb_node.content.chat import Alias

        return self._say(Alias(name=alias))

    def _ties(
        self, text: str, conversation: str, reply_to: MessageId | None, voice: bytes | None
    ) -> tuple[MessageId, ...]:
        """Return the messages that *text* follows; at first the one that it answers. Raises ProblemError."""
        from tinyssb_node.content.chat import tips_form
        from tinyssb_node.content.references import message_ids

        if voice is None:
            _require_text(text)
        if reply_to is not None:
            answered = self.catalog.message(reply_to)
            if answered is None or answered.conversation is None or answered.conversation != conversation:
                # It would follow a message that is never in its tangle, and wait for ever on every node.
                raise ProblemError(
                    f"The message {reply_to.hex()} is in another conversation. Nothing was published.",
                    "Answer it in its own conversation, or write this without an answer.",
                    exit_code=ExitCode.USAGE,
                )
        # A message that answers none names the latest one first, which stands above it.
        tips = self.catalog.tips(conversation)
        first = reply_to or next(iter(tips), None)
        return message_ids(tips_form(tips, first=first))

    # --- Groups ---

    def groups(self) -> list[GroupConversation] | None:
        """Return private groups as conversations, the latest first; None: no daemon that reads them runs."""
        from tinyssb_node.control.client import DaemonError, DaemonUnreachableError
        from tinyssb_node.screens.group_conversations import rooms

        try:
            return rooms(self.client, self.names())
        except (DaemonError, DaemonUnreachableError):
            self.hang_up()
            return None

    def queries(self, conversation: str) -> ConversationQueries:
        """Return the queries of a conversation's messages: the catalog's, or those of a private group, which raise as
        the client does."""
        if is_group(conversation):
            from tinyssb_node.screens.group_conversations import GroupMessageQueries

            return GroupMessageQueries(self.client, self.names())
        return self.catalog

    def search(self, words: str, limit: int) -> tuple[list[MessageRow], bool]:
        """Return messages with all these words, the best of the catalog and then the latest of groups, at most *limit*
        of each; and whether groups were searched."""
        in_groups = self.search_groups(words, limit)
        return [*self.catalog.search(words, limit), *(in_groups or ())], in_groups is not None

    def search_groups(self, words: str, limit: int) -> list[MessageRow] | None:
        """Return messages of private groups with all these words, or longer ones that begin so, the latest first; None:
        no daemon that reads them runs. They are compared here and are in no index: their texts may be erased later."""
        from tinyssb_node.control.client import DaemonError, DaemonUnreachableError
        from tinyssb_node.screens.group_conversations import GroupMessageQueries
        from tinyssb_node.screens.word_search import WordSearch

        search, names, found = WordSearch(words), self.names(), list[MessageRow]()
        try:
            queries = GroupMessageQueries(self.client, names)
            for group in [
                one for one in self.client.group_list() if one.state not in {"invited", "declined"}
            ]:
                found += [row for row in queries.messages(group.group) if search.matches(row, names)]
        except (DaemonError, DaemonUnreachableError):
            self.hang_up()
            return None
        return sorted(found, key=lambda row: -row.committed_us)[:limit]

    def say_to_group(self, group: str, text: str, reply_to: str | None = None) -> GroupWrittenRow:
        """Post *text* to the group that *group* names: its name, or digits of its id. *reply_to*: digits of the id of
        the message that is answered.

        Raises ProblemError, and as ``DaemonClient.group_post`` does.
        """
        _require_text(text)
        if self._before_publishing is not _agree:
            self._before_publishing(self.client.group_post_cost(group, text, reply_to).packets)
        return self.client.group_post(group, text, reply_to)

    # --- Boards ---

    def board(self, board: MessageId) -> KanbanBoard:
        """Return *board* after all stored operations. Raises ProblemError."""
        from tinyssb_node.content.board import fold

        steps = self.catalog.steps(board)
        if not steps:
            raise ProblemError(
                f"This node has no board with the id {board.hex()}.",
                "List boards: tinyssb board",
                exit_code=ExitCode.MISSING,
            )
        return fold(board, steps)

    def find_board(self, text: str) -> KanbanBoard:
        """Return the board of the id *text*; else, of the boards that our user works on, the one with this name; else
        the one with any other name or beginning of an id. So no one else can take the name or the id of a board of
        ours.

        Raises ProblemError.
        """
        begins = self.catalog.find_boards(text)
        if len(text.strip()) == 2 * MessageId.SIZE and begins:
            return self.board(begins[0])
        word = alike(text)
        named = [row for row in self.catalog.boards() if word and alike(row.name) == word]
        found = {row.id for row in named if row.ours} or {*(row.id for row in named), *begins}
        typed = one_line(text, limits.NAME_CELLS)
        if not found:
            raise ProblemError(
                f"There is no board '{typed}'.", "List boards: tinyssb board", exit_code=ExitCode.MISSING
            )
        if len(found) > 1:
            raise ProblemError(
                f"Several boards match '{typed}'.",
                "Type more digits of its id. For whole ids: tinyssb board --json",
                exit_code=ExitCode.USAGE,
            )
        return self.board(found.pop())

    def new_board(self, name: str) -> PublishedRow:
        """Create a board; the id of the entry is the board's."""
        from tinyssb_node.content.board import create_step

        return self._say(create_step(name))

    def change_board(
        self, board: MessageId, operation: Operation, *arguments: str | MessageId | FeedId
    ) -> PublishedRow:
        """Apply *operation* to *board* as stored now. Raises ProblemError, UnencodableMessageError, as ``say``."""
        from tinyssb_node.content.board import make_operation

        return self._say(make_operation(self.board(board), operation, *arguments))

    def answer_invitation(self, board: MessageId, *, accept: bool) -> PublishedRow:
        """Accept or decline an invitation to *board*. Raises ProblemError, as ``say``."""
        from tinyssb_node.content.board import answer_step

        step = answer_step(self.board(board), self.own, accept=accept)
        if step is None:
            raise ProblemError(
                "You have no invitation to this board. Nothing was published.",
                "Boards need no invitation: you can read and edit it now.",
                exit_code=ExitCode.MISSING,
            )
        return self._say(step)

    # --- People ---

    def follow(self, feed: FeedId) -> FollowedRow:
        """Request *feed* from peers. Raises as ``DaemonClient.follow`` does."""
        return self.client.follow(feed.hex())

    def unfollow(self, feed: FeedId) -> FollowedRow:
        """Stop requesting *feed*; its stored entries stay. Raises as ``DaemonClient.unfollow`` does."""
        return self.client.unfollow(feed.hex())

    def petname(self, feed: FeedId, name: str | None) -> None:
        """Name *feed*, for our own eyes; None: remove the name. Raises ContactsError."""
        from tinyssb_node.content.contacts import set_petname

        set_petname(self._home.root, feed, name)

    def block(self, feed: FeedId) -> None:
        """Hide *feed* and stop requesting it, in this node alone. Its daemon notices within a second, or when it
        starts. Raises ContactsError."""
        from tinyssb_node.content.contacts import set_blocked

        set_blocked(self._home.root, feed, blocked=True)

    def unblock(self, feed: FeedId) -> None:
        """Undo ``block``, and exempt *feed* from the lists of others. It is followed, if the daemon runs.

        Raises ContactsError.
        """
        from tinyssb_node.content.contacts import set_blocked
        from tinyssb_node.control.client import DaemonUnreachableError

        set_blocked(self._home.root, feed, blocked=False)
        try:
            self.follow(feed)
        except DaemonUnreachableError:
            self.hang_up()

    # --- The daemon ---

    @property
    def client(self) -> DaemonClient:
        """The connection to the daemon, made when first needed. Raises ConfigError, DaemonUnreachableError."""
        if self._client is None:
            from tinyssb_node.control.client import DaemonClient

            self._client = DaemonClient.at_home(str(self._home.root), self._network)
        return self._client

    def _may_have_daemon(self) -> bool:
        """Return False if no daemon can run here: its socket is absent, and no setting gives another path. To find that
        out by the client would take a fifth of the time of `tinyssb chat`."""
        if self._client is not None or self._home.control_socket.exists():
            return True
        return self._home.may_configure(b"socket")

    def hang_up(self) -> None:
        """Close that connection; the next request makes a new one."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _say(self, message: Message) -> PublishedRow:
        from tinyssb_node.content.chat import serialize

        return self.publish(serialize(message))

    def publish(self, content: bytes, identity: str | None = None) -> PublishedRow:
        """Publish *content*, by a further *identity* if one is named. Raises as ``DaemonClient.publish`` does."""
        from tinyssb_node.control.client import DaemonUnreachableError

        try:
            if self._before_publishing is not _agree and len(content) <= CONTENT_PUBLISH_MAX:
                self._before_publishing(self.packets_of(content, identity))
            return self.client.publish(content, identity)
        except DaemonUnreachableError:
            # The connection is broken: the daemon may have been restarted since.
            self.hang_up()
            raise


def _agree(packets: int) -> None:
    """Publish without showing the cost."""


def _require_no_voice(voice: bytes | None) -> None:
    """Check that a message to a private group has no voice. Raises ProblemError."""
    if voice is not None:
        raise ProblemError(
            "Private groups carry no recorded voice. Nothing was published.",
            "Attach it as a file.",
            exit_code=ExitCode.USAGE,
        )


def _require_text(text: str) -> None:
    """Check that *text* is not blank. Raises ProblemError."""
    if not text.strip():
        raise ProblemError(
            "The message is empty. Nothing was published.",
            "Give a text; `-` reads it from standard input.",
            exit_code=ExitCode.DATA,
        )
