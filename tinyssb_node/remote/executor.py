"""Execution of commands, through the daemon's control socket, as the node's user would."""

import shutil
from collections.abc import Iterable, Sequence
from typing import Final

from tinyssb_node.codec.bipf import Value
from tinyssb_node.control.client import DaemonClient, DaemonUnreachableError
from tinyssb_node.control.rows import AirtimeRow, FaceRow, StatusRow
from tinyssb_node.errors import LocalError
from tinyssb_node.faces.spec import endpoint_name, parse_spec
from tinyssb_node.limits import TRIAL_DELAY_S
from tinyssb_node.remote import limits
from tinyssb_node.remote.messages import FaceFacts, NodeFacts, NodeProblem, RemoteOutcome, status_body
from tinyssb_node.store.home import Home

_NO_RADIO: Final = "Settings of radios cannot be changed remotely here: remote.radio in config.toml."


def execute(
    words: Sequence[str], client: DaemonClient, home: Home, *, radio: bool
) -> tuple[RemoteOutcome, tuple[Value, ...]]:
    """Execute the command *words* on the node in *home*. *radio*: settings of radios may be changed. Returns how it
    ended, and the body of the answer. Raises DaemonUnreachableError: then it is not known whether it took effect."""
    try:
        match words:
            case ("status",):
                return RemoteOutcome.DONE, status_body(_look(client, home))
            case ("face", "restart", name):
                client.restart_face(name)
                return RemoteOutcome.DONE, ()
            case ("log", level):
                return RemoteOutcome.DONE, (client.log_level(level).before,)
            case ("radio", "set" | "confirm", _, *_) if not radio:
                return RemoteOutcome.REFUSED, (_NO_RADIO,)
            case ("radio", "set", name, *pairs) if pairs:
                settings = dict(pair.partition("=")[::2] for pair in pairs)
                client.tune_face(name, settings, limits.TRIAL_MINUTES)
                return RemoteOutcome.DONE, (TRIAL_DELAY_S, limits.TRIAL_MINUTES)
            case ("radio", "confirm", name):
                client.confirm_face(name)
                return RemoteOutcome.DONE, ()
    except DaemonUnreachableError:
        raise
    except LocalError as error:
        return RemoteOutcome.REFUSED, (f"{error.message} {error.hint}".rstrip(),)
    return RemoteOutcome.UNKNOWN, ()


def _look(client: DaemonClient, home: Home) -> NodeFacts:
    status, faces, accounts = client.status(), list(client.faces()), list(client.airtime())
    return NodeFacts(
        version=status.version,
        uptime_minutes=status.uptime_us // 60_000_000,
        free_mib=shutil.disk_usage(home.root).free >> 20,
        entries=status.entries,
        problems=_problems(status),
        faces=tuple(
            FaceFacts(
                name=endpoint_name(parse_spec(endpoint.spec)),
                is_open=endpoint.problem is None,
                duty_percent=_duty_percent(endpoint.spec, faces, accounts),
            )
            for endpoint in status.endpoints
        ),
    )


def _problems(status: StatusRow) -> int:
    found = {
        NodeProblem.READ_ONLY: status.read_only is not None,
        NodeProblem.WAITS: status.waiting is not None,
        NodeProblem.FORKED: status.frozen_at is not None,
        NodeProblem.COMPANION: any(companion.problem for companion in status.companions),
    }
    return sum(problem for problem, is_there in found.items() if is_there)


def _duty_percent(spec: str, faces: Iterable[FaceRow], accounts: Iterable[AirtimeRow]) -> int | None:
    names = {face.face for face in faces if face.spec == spec}
    used = [
        100 * account.used_us // account.limit_us
        for account in accounts
        if account.limit_us and names & {*account.faces}
    ]
    return max(used, default=None)
