"""The first line: the node's name and status, or why these are not known."""

from tinyssb_node.screens.disk_words import disk_problem
from tinyssb_node.screens.languages import t, tn
from tinyssb_node.screens.limit_words import UNDECIDED, recent, what_was_refused
from tinyssb_node.screens.phone_words import phone_problem
from tinyssb_node.tui.lines import ago, clock
from tinyssb_node.tui.screen_state import ScreenState

MINUTE_US = 60_000_000


def head_line(sight: ScreenState) -> str:
    """Return one line, unescaped; problems come first, in words."""
    status = sight.status
    who = " tinyssb" if status is None else f" {status.name} {status.feed[:8]}"
    if sight.away is not None:
        since = ""
        if sight.away_us is not None:
            since = " " + t("Shown: state of {time}.", time=clock(sight.away_us, sight.now_us))
        return f" ! {sight.away}{since} {t('Retrying.')}"
    if sight.fault is not None:
        return f" ! {sight.fault} {t('Retrying.')}"
    if status is None:
        return f"{who}: {t('connecting to the daemon …')}"
    wrong = [t("CANNOT WRITE: {reason}", reason=status.read_only)] if status.read_only else []
    if (waiting := status.waiting) is not None:
        wrong.append(
            t("CANNOT WRITE YET: {reason}; {awaited}", reason=waiting.reason, awaited=waiting.awaited)
        )
    if status.frozen_at is not None:
        wrong.append(t("CANNOT WRITE: your feed is forked"))
    if status.forked:
        wrong.append(tn(status.forked, "{n} forked feed", "{n} forked feeds"))
    wrong += [
        what_was_refused(one)
        for network in status.networks
        for one in recent(network.refusals, status.uptime_us)
        if one.rule in UNDECIDED
    ]
    wrong += [
        problem[0]
        for network in status.networks
        if network.disk is not None and (problem := disk_problem(network.disk)) is not None
    ]
    wrong += [
        problem[0] for network in status.networks if (problem := phone_problem(network.phones)) is not None
    ]
    words = [
        who,
        t("just started") if status.uptime_us < MINUTE_US else t("up {time}", time=ago(status.uptime_us)),
        tn(status.faces, "{n} link", "{n} links"),
        tn(status.feeds, "{n} feed", "{n} feeds"),
        tn(status.entries, "{n} entry", "{n} entries"),
    ]
    return " | ".join([*(f" ! {one}" for one in wrong), *words])
