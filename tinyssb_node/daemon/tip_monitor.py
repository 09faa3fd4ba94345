"""Upkeep of the tip mark, and log lines when the certainty of the tip changes (docs/formats/tip.md)."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tinyssb_node.control.rows import WaitingRow
from tinyssb_node.daemon.clock import Clock
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.daemon.tip_mark import (
    MarkedTip,
    TipMark,
    judge_tip,
    read_mark,
    this_machine,
    write_mark,
)
from tinyssb_node.gossip.certainty import TipCertainty, TipUncertainty, TipWait
from tinyssb_node.ids import FeedId, NetworkName
from tinyssb_node.node.networks import Networks

_LASTING = frozenset(TipUncertainty) - {TipUncertainty.CLAIMED}
"""Doubts that survive a restart. A claim does not: only the time when it was waited for."""


class TipMonitor:
    """The tips of one of the daemon's own feeds, in all networks."""

    def __init__(
        self,
        path: Path,
        feed: FeedId,
        places: Iterable[NetworkStorage],
        *,
        clock: Clock,
        logger: Logger,
        sure: bool = False,
    ) -> None:
        """Read the tip mark of *feed* at *path* and compare it with the stores; *sure*: the user confirms that nothing
        is missing."""
        self._path = path
        self._feed = feed
        self._clock = clock
        self._logger = logger
        self._written_us: int | None = None
        machine = this_machine()
        try:
            mark = read_mark(path)
        except OSError as error:
            logger.warning("the tip mark cannot be read", path=str(path), error=error.strerror)
            mark = None
        if mark is None or mark.feed != feed:
            mark, known = TipMark(feed=feed, machine=machine, tips={}, doubt=TipUncertainty.UNMARKED), None
        else:
            known = mark
        self._certainties: dict[NetworkName, TipCertainty] = {}
        for place in places:
            doubt = None if sure else judge_tip(known, feed, machine, place.name, place.store)
            tip = mark.tip_in(place.name)
            waited_us = None if tip.waited_us is None else self._node_us(tip.waited_us)
            self._certainties[place.name] = TipCertainty(doubt, tip.seq, waited_us=waited_us)
        others = None if sure else mark.doubt
        self._mark = replace(mark, machine=machine, doubt=others, in_place=True)
        self._logged: dict[NetworkName, TipUncertainty | None] = dict.fromkeys(self._certainties)

    def _node_us(self, wall_us: int) -> int:
        """Return when that was, on the node's clock; a wall clock that went back may show a time to come."""
        return self._clock.now_us() - abs(self._clock.wall_us() - wall_us)

    def certainty(self, network: NetworkName) -> TipCertainty:
        """Return the certainty that the node of *network* checks before it writes."""
        return self._certainties[network]

    def tick(self, networks: Networks, now_us: int) -> None:
        """Log changes, and write the tip mark when it is due."""
        mark = self._marked(networks, now_us)
        changed = any(_standing(mark, name) != _standing(self._mark, name) for name in self._certainties)
        due = self._written_us is None or (
            # Every 10 s while entries are published: a late mark does no harm, and SD cards wear out.
            mark.tips != self._mark.tips and now_us - self._written_us >= 10_000_000
        )
        if changed or due:
            self._write(mark, now_us)

    def close(self, networks: Networks, now_us: int) -> None:
        """Write the final tip mark."""
        mark = self._marked(networks, now_us)
        if mark != self._mark:
            self._write(mark, now_us)

    def _marked(self, networks: Networks, now_us: int) -> TipMark:
        tips = dict(self._mark.tips)
        for name in self._certainties:
            node = networks.node(name)
            waiting = node.waiting(now_us, self._feed)
            doubt = None if waiting is None else waiting.doubt
            before = self._mark.tip_in(name)
            waited_us = before.waited_us
            if doubt != self._logged[name]:
                self._logged[name] = doubt
                if doubt is TipUncertainty.CLAIMED:
                    waited_us = self._clock.wall_us()
                if waiting is None:
                    self._logger.info(
                        "certain of the tip of the node's own feed: writing is allowed", network=name
                    )
                else:
                    self._logger.warning(
                        "the node's own feed is not written while its tip is uncertain",
                        network=name,
                        reason=waiting.reason,
                        state=waiting.awaited,
                    )
            record = node.own(self._feed)
            if doubt is not None:
                # The tip that was written once stays marked until it is stored again.
                lasting = doubt if doubt in _LASTING else None
                tips[name] = replace(before, doubt=lasting, waited_us=waited_us)
            elif record is not None and record.tip is not None:
                tips[name] = MarkedTip(record.seq, record.tip, waited_us=waited_us)
            else:
                tips[name] = MarkedTip(waited_us=waited_us)
        return replace(self._mark, tips=tips)

    def _write(self, mark: TipMark, now_us: int) -> None:
        self._written_us = now_us
        try:
            write_mark(self._path, mark, self._clock.wall_us())
        except OSError as error:
            # A mark that is behind does no harm; writing is retried with the next entry.
            self._logger.debug("the tip mark cannot be written", error=error.strerror)
            return
        self._mark = mark


def _standing(mark: TipMark, network: NetworkName) -> tuple[TipUncertainty | None, int | None]:
    """Return what of a tip is written at once."""
    tip = mark.tip_in(network)
    return tip.doubt, tip.waited_us


def waiting_row(waiting: TipWait | None) -> WaitingRow | None:
    """Return *waiting* as a row of the control protocol."""
    if waiting is None:
        return None
    return WaitingRow(
        doubt=waiting.doubt.value,
        reason=waiting.reason,
        awaited=waiting.awaited,
        held=waiting.held,
        expected=waiting.expected,
        heard=waiting.heard,
        left_us=waiting.left_us,
    )
