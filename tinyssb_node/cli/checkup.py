"""What `doctor` looks at. Each check says what it found, and what to do where that is not well."""

import shlex
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from tinyssb_node import __version__, limits
from tinyssb_node.control.client import DaemonClient, DaemonUnreachableError
from tinyssb_node.control.rows import CompanionRow, EndpointRow, IdentityRow
from tinyssb_node.daemon.config import Config, read_config
from tinyssb_node.daemon.identities import names_of
from tinyssb_node.daemon.setup import read_node_identity
from tinyssb_node.errors import LocalError
from tinyssb_node.faces.spec import parse_spec
from tinyssb_node.ids import DEFAULT_NETWORK, NetworkName
from tinyssb_node.store.durable import can_write
from tinyssb_node.store.home import Home
from tinyssb_node.store.secrets import folder_reach
from tinyssb_node.store.sqlite import SqliteStore


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check's result."""

    check: str
    """What was looked at."""
    ok: bool
    """Whether it is well."""
    found: str
    """What it is like."""
    advice: str = ""
    """What to do, where there is something to do."""


def examine(home: Home) -> list[CheckResult]:
    """Look at everything a node needs, the most basic things first."""
    checks: tuple[tuple[str, Callable[[Home], CheckResult | list[CheckResult]]], ...] = (
        ("home", _check_home),
        ("identity", _check_identity),
        ("config", _check_config),
        ("store", _check_store),
        ("disk", _check_disk),
        ("clock", _check_clock),
        ("daemon", _check_daemon),
    )
    findings: list[CheckResult] = []
    for name, check in checks:
        try:
            found = check(home)
            findings += found if isinstance(found, list) else [found]
        except LocalError as error:
            findings.append(CheckResult(name, ok=False, found=error.message, advice=error.hint))
            if name == "home":
                break  # There is none, or none that we may look into.
    return findings


def _check_home(home: Home) -> CheckResult:
    home.require()
    if (mode := folder_reach(home.identity)) is not None:
        what = "change" if mode & 0o022 else "see"
        return CheckResult(
            "home",
            ok=False,
            found=f"others may {what} what is in {home.root}, where the secret key is (mode {mode:04o})",
            advice=f"Type: chmod 700 {shlex.quote(str(home.root))}",
        )
    if not can_write(home.root):
        return CheckResult(
            "home",
            ok=False,
            found=f"nothing can be written in {home.root}, as a node has to",
            advice="What is stored can be read (`tinyssb export`). See whose the folder is and that its disk can be "
            "written, or copy the whole home to where you can write, and name the copy with --home; run a node on one "
            "of the two only.",
        )
    return CheckResult("home", ok=True, found=str(home.root))


def _check_identity(home: Home) -> CheckResult:
    kept, names = read_node_identity(home), names_of(home)
    for name in names:
        try:
            read_node_identity(home.of_identity(name))
        except LocalError as error:
            return CheckResult(
                "identity", ok=False, found=f"the identity '{name}': {error.message}", advice=error.hint
            )
    further = f"; further ones: {', '.join(names)}" if names else ""
    return CheckResult(
        "identity", ok=True, found=f"feed {kept.feed.hex()}, dialect {kept.dialect.value}{further}"
    )


def _check_config(home: Home) -> CheckResult:
    config = read_config(home)
    for face in config.faces:
        parse_spec(face)
    if not config.faces:
        return CheckResult(
            "config",
            ok=False,
            found="it lists no faces, so the node hears nobody",
            advice=f"Add one to `faces` in {home.config}; docs/reference/faces.md has examples.",
        )
    return CheckResult("config", ok=True, found=f"name '{config.name}', faces {', '.join(config.faces)}")


def _check_store(home: Home) -> CheckResult:
    findings = [_check_network(home, network) for network in read_config(home).networks]
    bad = [finding for finding in findings if not finding.ok]
    return bad[0] if bad else CheckResult("store", ok=True, found="; ".join(each.found for each in findings))


def _check_network(home: Home, network: NetworkName) -> CheckResult:
    """The store of one network."""
    told = "" if network == DEFAULT_NETWORK else f"network {network}: "
    path = home.of(network).store
    if not path.exists():
        return CheckResult("store", ok=True, found=f"{told}none yet; it is made when the node first runs")
    with closing(SqliteStore.open_readonly(path)) as store:
        records = store.feeds()
    forked = [record.feed.hex() for record in records if record.own and record.forked_at is not None]
    if forked:
        return CheckResult(
            "store",
            ok=False,
            found=f"{told}the node's own feed {forked[0]} is forked: two programs wrote it with one key",
            advice="Nobody can repair that. Make a new node with `tinyssb init` in another home, and tell its feed id.",
        )
    entries = sum(record.seq for record in records)
    return CheckResult("store", ok=True, found=f"{told}{len(records)} feeds, {entries:,} entries")


def _check_disk(home: Home) -> CheckResult:
    free = shutil.disk_usage(home.root).free
    found = f"{free // 2**20:,} MiB free"
    if free < limits.DISK_ROOM_MIN:
        return CheckResult(
            "disk",
            ok=False,
            found=found,
            advice="Make room, or lower `events.keep_mib` in config.toml: a full disk keeps the node from writing.",
        )
    return CheckResult("disk", ok=True, found=found)


def _check_clock(home: Home) -> CheckResult:
    now_s = time.time()
    made_s = home.identity.stat().st_mtime
    found = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(now_s))
    if now_s < made_s - limits.CLOCK_STEP_US / 1e6:
        return CheckResult(
            "clock",
            ok=False,
            found=f"{found}, which is before this node was made",
            advice="Set the clock. Nothing is refused for its date, but logs and lists show wrong times.",
        )
    return CheckResult("clock", ok=True, found=found)


def _check_written(one: IdentityRow) -> CheckResult | None:
    """What keeps a further identity from writing, None for nothing."""
    waiting, name = one.waiting, one.name
    if one.problem is not None:
        found, advice = (
            f"it does not use the identity '{name}': {one.problem}",
            "Start it anew when that is mended.",
        )
    elif one.frozen_at is not None:
        found = f"the feed of '{name}' is forked at entry {one.frozen_at}, and is written no more"
        advice = "See `tinyssb forks`, and docs/reference/forks.md for what to do."
    elif waiting is not None:
        found = f"it does not write the feed of '{name}' yet: {waiting.reason}; {waiting.awaited}"
        advice = "Wait until others with the feed are in reach; docs/reference/keys.md tells more."
    else:
        return None
    return CheckResult("daemon", ok=False, found=found, advice=advice)


def _check_open(end: EndpointRow) -> CheckResult | None:
    """What keeps a face from being open, None for nothing."""
    if not end.problem:
        return None
    return CheckResult(
        "daemon",
        ok=False,
        found=f"the face {end.spec} is not open: {end.problem}",
        advice="It is tried again every half minute; change `faces` in config.toml if it can never work.",
    )


def _check_beside(one: CompanionRow) -> CheckResult | None:
    """What keeps a process beside the daemon from running, None for nothing."""
    if one.problem is None:
        return None
    times = f" {one.ends:,} times" if one.ends > 1 else ""
    after = (
        "Restart the daemon when that is mended." if one.given_up else "It is started again until it runs."
    )
    return CheckResult(
        "daemon",
        ok=False,
        found=f"the {one.name} has ended{times}: {one.problem}",
        advice=f"{one.advice} {after}".lstrip(),
    )


def _check_daemon(home: Home) -> CheckResult | list[CheckResult]:
    """Several findings only if several of its parts are not well."""
    config: Config = read_config(home)
    try:
        with DaemonClient(config.control_socket) as node:
            status = node.status()
    except DaemonUnreachableError as error:
        return CheckResult("daemon", ok=False, found=error.message, advice=error.hint)
    if status.read_only:
        return CheckResult(
            "daemon", ok=False, found=status.read_only, advice="Make room on the disk; it then goes on."
        )
    if (frozen_at := status.frozen_at) is not None:
        return CheckResult(
            "daemon",
            ok=False,
            found=f"this node's own feed is forked at entry {frozen_at}, and is written no more",
            advice="See `tinyssb forks`, and docs/reference/forks.md for what to do.",
        )
    if (waiting := status.waiting) is not None:
        return CheckResult(
            "daemon",
            ok=False,
            found=f"it does not write its feed yet: {waiting.reason}; {waiting.awaited}",
            advice="Wait until others with the feed are in reach; docs/reference/keys.md tells more.",
        )
    parts = (
        *map(_check_written, status.identities),
        *map(_check_open, status.endpoints),
        *map(_check_beside, status.companions),
    )
    if findings := [finding for finding in parts if finding is not None]:
        return findings
    if status.version != __version__:
        return CheckResult(
            "daemon",
            ok=False,
            found=f"it is version {status.version}, this command {__version__}",
            advice="Restart the daemon: tinyssb run, or systemctl restart tinyssb.",
        )
    faces = status.faces
    return CheckResult("daemon", ok=True, found=f"running, {faces} face{'' if faces == 1 else 's'} up")
