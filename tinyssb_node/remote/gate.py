"""Rules that decide which commands are executed, and what must be remembered for that (docs/decisions/0120). Pure.

A record is a value; each step returns the next one. The process makes it durable before it acts on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tinyssb_node.errors import ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.remote import limits
from tinyssb_node.remote.messages import RemoteCommand, RemoteOutcome

_HARMLESS = ("status",)
"""Words that a node without a clock obeys, too."""


class AdminState(StrEnum):
    """The standing of a feed."""

    ALLOWED = "allowed"
    REVOKED = "revoked"
    FORKED = "forked"
    """Its key is in two hands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admin:
    """A feed that is or was allowed to give commands."""

    feed: FeedId
    seq: int
    """Its last entry that was read: commands up to there are never executed (again)."""
    state: AdminState = AdminState.ALLOWED
    tokens: int = limits.TOKENS_MAX
    """Commands that it may give at once."""
    tokens_s: int = 0
    """When they were counted, seconds since 1970."""
    dropped: int = 0
    """Commands for which there was no token."""

    def refilled(self, now_s: int) -> "Admin":
        """Return it with the tokens that have come back by *now_s*. A clock that was set back gives none, and one that
        was set forward as many as there may be."""
        back = max(0, now_s - self.tokens_s) // limits.TOKEN_S
        if self.tokens + back >= limits.TOKENS_MAX or now_s < self.tokens_s:
            return replace(self, tokens=min(self.tokens + back, limits.TOKENS_MAX), tokens_s=now_s)
        return replace(self, tokens=self.tokens + back, tokens_s=self.tokens_s + back * limits.TOKEN_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCommand:
    """The command that is being executed, or whose answer is to be published."""

    feed: FeedId
    seq: int
    words: tuple[str, ...]
    answer: bytes | None = None
    """Clear bytes of the answer; None: it is being executed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneCommand:
    """A command of the past."""

    time_s: int
    feed: FeedId
    seq: int
    words: tuple[str, ...]
    outcome: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRecord:
    """The memory of a node of its administrators and their commands."""

    admins: tuple[Admin, ...] = ()
    pending: PendingCommand | None = None
    done: tuple[DoneCommand, ...] = ()
    """The latest is last."""
    ignored: int = 0
    """Commands by feeds that are not allowed."""
    ignored_s: int = 0
    """When the last of them came, seconds since 1970; 0: none."""

    def allowed(self) -> Sequence[Admin]:
        """Return those whose commands are executed."""
        return [admin for admin in self.admins if admin.state is AdminState.ALLOWED]

    def find(self, feed: FeedId) -> Admin | None:
        """Return the administrator with this feed."""
        return next((admin for admin in self.admins if admin.feed == feed), None)

    def with_admin(self, admin: Admin) -> "RemoteRecord":
        """Return the record with *admin* in the place of what it was. Raises TooManyAdminsError."""
        others = [one for one in self.admins if one.feed != admin.feed]
        if len(others) >= limits.ADMINS_MAX:
            raise TooManyAdminsError
        return replace(self, admins=(*others, admin))

    def allow(self, feed: FeedId, seq: int, now_s: int) -> "RemoteRecord":
        """Return the record with *feed* allowed, from the entry behind *seq* on. Raises TooManyAdminsError."""
        known = self.find(feed)
        begin = seq if known is None else max(seq, known.seq)
        return self.with_admin(Admin(feed=feed, seq=begin, tokens_s=now_s))

    def end(self, feed: FeedId, state: AdminState) -> "RemoteRecord":
        """Return the record with *feed* no longer allowed. Its place stays: so does what it was obeyed in."""
        admins = tuple(replace(one, state=state) if one.feed == feed else one for one in self.admins)
        return replace(self, admins=admins)

    def read(self, feed: FeedId, seq: int) -> "RemoteRecord":
        """Return the record after entries up to *seq* that are no commands for this node."""
        admins = tuple(
            replace(one, seq=max(one.seq, seq)) if one.feed == feed else one for one in self.admins
        )
        return replace(self, admins=admins)

    def take(
        self, feed: FeedId, seq: int, command: RemoteCommand, now_s: int
    ) -> tuple["RemoteRecord", RemoteOutcome | None]:
        """Return the record after the *command* in the entry *seq* of *feed*, and how it ends; DONE: it is to be
        executed now; None: nothing is done, and nothing answered."""
        admin = self.find(feed)
        if admin is None or admin.state is not AdminState.ALLOWED or seq <= admin.seq:
            return self, None
        admin = replace(admin.refilled(now_s), seq=seq)
        if admin.tokens < 1:
            return self.with_admin(replace(admin, dropped=admin.dropped + 1)), None
        record = self.with_admin(replace(admin, tokens=admin.tokens - 1))
        pending = PendingCommand(feed=feed, seq=seq, words=command.words)
        return replace(record, pending=pending), _ruling(command, now_s)

    def answered(self, answer: bytes, outcome: RemoteOutcome, now_s: int) -> "RemoteRecord":
        """Return the record after the pending command ended so; *answer* is to be published."""
        pending = self.pending
        assert pending is not None, "a command was taken"
        done = DoneCommand(
            time_s=now_s, feed=pending.feed, seq=pending.seq, words=pending.words, outcome=outcome
        )
        return replace(
            self, pending=replace(pending, answer=answer), done=(*self.done, done)[-limits.DONE_MAX :]
        )


class TooManyAdminsError(ProblemError):
    """There is no room for another administrator."""

    def __init__(self) -> None:
        super().__init__(
            f"{limits.ADMINS_MAX} feeds were allowed before, the most there can be. Nothing was changed.",
            "Give one person's feed to the others, or begin anew: stop the daemon, and remove remote.json.",
        )


def _ruling(command: RemoteCommand, now_s: int) -> RemoteOutcome:
    if command.valid_minutes == 0:
        return RemoteOutcome.DONE
    behind = command.said_s is None or command.said_s > now_s + limits.CLOCK_SLACK_S
    if behind:
        return RemoteOutcome.DONE if command.words == _HARMLESS else RemoteOutcome.CLOCK
    assert command.said_s is not None
    over = now_s >= command.said_s + 60 * (command.valid_minutes + 1)  # the minute that was rounded off
    return RemoteOutcome.EXPIRED if over else RemoteOutcome.DONE
