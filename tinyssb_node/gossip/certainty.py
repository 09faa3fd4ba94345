"""Certainty of the tip: a node writes its own feed only while it knows the feed's end (docs/formats/tip.md, decision
0041).

Two entries for one place freeze a feed for everybody, for ever. A node restored from a backup, run from a copied card,
or without its store may have written entries that are not here, and that others have. So it listens first: to WANTs,
which state how much of our feed their senders hold, and for the entries themselves. WANTs are not signed: a claim alone
makes a node that was certain wait for a minute, once a day, and only while the face that brought it is up (decision
0064).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tinyssb_node.errors import LocalError, phrase
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import LinkProfile
from tinyssb_node.store import limits


class TipUncertainty(StrEnum):
    """The reason why the end of our own feed may not be known."""

    RESTORED = "restored"
    """The key came from a backup."""
    UNMARKED = "unmarked"
    """Nothing here says how far the feed was written."""
    BEHIND = "behind"
    """The store lacks entries that were written here."""
    DIFFERENT = "different"
    """The store has another entry than the one that was written here."""
    COPIED = "copied"
    """The node's files are copies."""
    MOVED = "moved"
    """The node's files were on another machine."""
    TWIN = "twin"
    """An entry of our feed came that was not written here."""
    CLAIMED = "claimed"
    """A peer claims more of our feed than is stored here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TipWait:
    """The conditions that are waited for before our feed is written."""

    doubt: TipUncertainty
    """Why we wait."""
    held: int
    """Entries of our feed that are here."""
    expected: int
    """Entries that there are at least, as far as we know or are told."""
    heard: bool
    """True once a peer claimed as much as we hold, or gave us entries of it."""
    faces: int
    """Links that are up: without any, no time is counted."""
    left_us: int
    """Time that has to pass without news, at least; for what is only claimed, at most."""

    @property
    def reason(self) -> str:
        """The reason for the wait, as the first half of a sentence."""
        return _REASONS[self.doubt]

    @property
    def awaited(self) -> str:
        """The condition that is waited for, as the second half of a sentence."""
        if not self.faces:
            return phrase("waiting for a link: none is up")
        left_s = -(-self.left_us // 1_000_000)
        if self.held < self.expected:
            first, last = self.held + 1, self.expected
            which = phrase(f"entry {last}") if first == last else phrase(f"entries {first} to {last}")
            if self.doubt is TipUncertainty.CLAIMED:
                return phrase(f"waiting for {which}, for {left_s} s more at most")
            return phrase(f"waiting for {which}, which others should have")
        if not self.heard:
            return phrase("waiting to hear somebody who has this feed")
        return phrase(f"listening for {left_s} s more")


_REASONS: Final = {
    TipUncertainty.RESTORED: phrase("the key was restored from a backup"),
    TipUncertainty.UNMARKED: phrase("nothing here says how far the feed was written"),
    TipUncertainty.BEHIND: phrase("the store lacks entries that this node wrote"),
    TipUncertainty.DIFFERENT: phrase("the store has another entry than this node wrote"),
    TipUncertainty.COPIED: phrase("the node's files were copied, or put back from a backup"),
    TipUncertainty.MOVED: phrase("the node's files were on another machine"),
    TipUncertainty.TWIN: phrase("entries of this feed came that were written elsewhere"),
    TipUncertainty.CLAIMED: phrase("somebody says to have more of this feed than is here"),
}


class TipUncertainError(LocalError):
    """Our feed is not written, since newer entries may exist elsewhere."""

    code = "uncertain"

    def __init__(self, waiting: TipWait, identity: str | None = None) -> None:
        """*identity* is the name of a further identity."""
        self.waiting = waiting
        command = "tinyssb identity sure" if identity is None else f"tinyssb identity sure {identity}"
        super().__init__(
            f"Nothing was written: {waiting.reason}, so this feed may go on elsewhere, and two entries for one place "
            f"would freeze it for everybody. The node is {waiting.awaited}; all else goes on. Try again later. "
            f"`{command}` overrides it, for who knows that nothing is missing and nobody else uses the key."
        )


class TipCertainty:
    """The knowledge of our own feed's end, from what was heard of it."""

    def __init__(
        self,
        doubt: TipUncertainty | None = None,
        known: int = 0,
        *,
        watch: bool = True,
        waited_us: int | None = None,
    ) -> None:
        """*doubt* is the reason for uncertainty at the start, None for certainty; *known* the number of entries that
        were written for sure. *watch*: whether later events may raise doubts; where one key is used twice on purpose
        they must not. *waited_us* is when the node last began to wait for what was only claimed, on its clock, so
        before 0; None: never."""
        self._doubt = doubt
        self._known = known
        self._watch = watch
        self._listening: dict[FaceName, int] = {}
        """For how long each face that is up has to be listened to, in microseconds."""
        self._since_us = 0
        """When there was news last, or a face came up."""
        self._heard = False
        self._claimed = 0
        self._claimed_us: int | None = None
        """When we began to wait for what is only claimed; None: we do not."""
        self._claimant: FaceName | None = None
        """The face whose claim is the only reason for uncertainty."""
        self._waited_us = waited_us
        self._deaf = False
        """True once claims were not made good: no more is waited for them until an entry comes."""

    # --- what happens

    def face_up(self, face: FaceName, profile: LinkProfile, now_us: int) -> None:
        """A face can be used; again, after the node was loaded anew."""
        if face not in self._listening:
            listen_us = limits.LISTEN_ADVERTS * profile.advert_max_us
            self._listening[face] = min(listen_us, limits.LISTEN_MAX_US)
            self._since_us = now_us

    def face_down(self, face: FaceName) -> None:
        """A face is gone. A peer that claimed something and hung up is not waited for."""
        self._listening.pop(face, None)
        if self._doubt is TipUncertainty.CLAIMED and face == self._claimant:
            self.be_sure()

    def heard(self, face: FaceName, claimed: int, held: int, now_us: int) -> None:
        """A peer on *face* claimed that it holds our feed up to entry *claimed*; we hold *held*."""
        if claimed <= held:
            self._heard = self._heard or 0 < claimed == held
            return
        if self._deaf or not self._watch:
            return
        if self._doubt is None:
            if self._waited_us is not None and now_us - self._waited_us < limits.CLAIM_EVERY_US:
                return
            self._doubt, self._claimant, self._waited_us = TipUncertainty.CLAIMED, face, now_us
        if self._claimed_us is None:
            self._claimed_us = now_us
        self._claimed = max(self._claimed, claimed)

    def took(self, now_us: int) -> None:
        """An entry of our feed came from a peer: the best proof that newer entries exist."""
        if not self._watch:
            return
        if self._doubt in {None, TipUncertainty.CLAIMED}:
            self._doubt = TipUncertainty.TWIN
        self._heard, self._deaf = True, False
        self._since_us = now_us
        if self._claimed_us is not None:
            self._claimed_us = now_us

    def be_sure(self) -> None:
        """Nothing is missing, as our user confirms: claims count no more until an entry comes."""
        self._settle()
        self._deaf = True

    # --- what follows

    def is_certain(self, held: int, now_us: int) -> bool:
        """Return whether our feed may be written, of which we hold *held* entries."""
        if self._doubt is None:
            return True
        if self._claimed_us is not None and self._claimed > held:
            if now_us - self._claimed_us < self._patience_us():
                return False
            self._deaf = True
        if self._doubt is not TipUncertainty.CLAIMED and not self._is_quiet(held, now_us):
            return False
        self._settle()
        return True

    def waiting(self, held: int, now_us: int) -> TipWait | None:
        """Return what is waited for; None: the tip is certain."""
        if self.is_certain(held, now_us):
            return None
        assert self._doubt is not None
        claims = self._claimed if self._claimed_us is not None and not self._deaf else 0
        until_us = self._since_us + self._listen_us()
        if self._doubt is TipUncertainty.CLAIMED and self._claimed_us is not None:
            until_us = self._claimed_us + self._patience_us()
        return TipWait(
            doubt=self._doubt,
            held=held,
            expected=max(held, self._known, claims),
            heard=self._heard,
            faces=len(self._listening),
            left_us=max(0, until_us - now_us) if self._listening else 0,
        )

    @property
    def doubt(self) -> TipUncertainty | None:
        """The reason for uncertainty, as of the last check; None: the tip is certain."""
        return self._doubt

    def _is_quiet(self, held: int, now_us: int) -> bool:
        """Return whether a peer knows our feed, all that was written here is back, and no more has come for long
        enough."""
        return (
            bool(self._listening)
            and self._heard
            and held >= self._known
            and now_us - self._since_us >= self._listen_us()
        )

    def _patience_us(self) -> int:
        """Return for how long claimed entries are waited for."""
        if self._doubt is TipUncertainty.CLAIMED:
            return limits.CLAIM_WAIT_US
        return limits.CLAIM_PATIENCE * self._listen_us()

    def _listen_us(self) -> int:
        return max(self._listening.values(), default=limits.LISTEN_MAX_US)

    def _settle(self) -> None:
        self._doubt = None
        self._known = self._claimed = 0
        self._claimed_us = None
        self._heard = False
