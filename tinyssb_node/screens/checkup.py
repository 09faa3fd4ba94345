"""Checks of `doctor` and of alerts: each states a finding and, if something is wrong, what to do."""

import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Final

from firmware_bridge.libraries import install_command
from tinyssb_node import limits, version
from tinyssb_node.control.client import DaemonClient, DaemonUnreachableError
from tinyssb_node.control.rows import AirtimeRow, CompanionRow, EndpointRow, IdentityRow, NetworkRow
from tinyssb_node.daemon.config import Config, read_config
from tinyssb_node.daemon.identities import names_of
from tinyssb_node.daemon.setup import read_node_identity
from tinyssb_node.daemon.subjects import present
from tinyssb_node.errors import LocalError
from tinyssb_node.faces.spec import parse_spec
from tinyssb_node.ids import DEFAULT_NETWORK, NetworkName
from tinyssb_node.maps.map_file import MapFileError, MapLibraryError
from tinyssb_node.maps.map_opener import open_map
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.screens.disk_words import disk_problem
from tinyssb_node.screens.error_texts import translated
from tinyssb_node.screens.languages import number, t, tn
from tinyssb_node.screens.limit_words import UNDECIDED, recent, what_to_do, what_was_refused
from tinyssb_node.screens.phone_words import phone_problem
from tinyssb_node.screens.render import duration
from tinyssb_node.store.durable import can_write
from tinyssb_node.store.home import Home
from tinyssb_node.store.secrets import folder_reach
from tinyssb_node.store.sqlite import SqliteStore

_LONG_WAIT_US: Final = 60_000_000
"""A message that waits for airtime as long as this is one that people ask about; radios pause for less all the time."""


def examine(home: Home, *, optional: bool = True) -> list[CheckResult]:
    """Check everything a node needs, the most basic things first; *optional* subjects, too, some of which ask their
    sources."""
    checks: tuple[tuple[str, Callable[[Home], CheckResult | list[CheckResult]]], ...] = (
        ("home", _check_home),
        ("identity", _check_identity),
        ("config", _check_config),
        ("store", _check_store),
        ("disk", _check_disk),
        ("clock", _check_clock),
        ("map", _check_map),
        ("daemon", _check_daemon),
        *(
            (subject.table, subject.load(subject.checks).examine)
            for subject in present()
            if optional and subject.checks
        ),
    )
    findings: list[CheckResult] = []
    for name, check in checks:
        try:
            found = check(home)
            findings += found if isinstance(found, list) else [found]
        except LocalError as error:
            finding = CheckResult(
                name, ok=False, found=translated(error.message), advice=translated(error.hint)
            )
            if not any((one.found, one.advice) == (finding.found, finding.advice) for one in findings):
                findings.append(
                    finding
                )  # several checks read config.toml; one of them names what is wrong with it
            if name == "home":
                break  # it does not exist, or cannot be read
    return findings


def _check_home(home: Home) -> CheckResult:
    home.require()
    if (mode := folder_reach(home.identity)) is not None:
        reach = {"folder": home.root, "mode": f"{mode:04o}"}
        found = t("other users can read files in {folder}, where the secret key is (mode {mode})", **reach)
        if mode & 0o022:
            found = t(
                "other users can change files in {folder}, where the secret key is (mode {mode})", **reach
            )
        return CheckResult(
            "home",
            ok=False,
            found=found,
            advice=t("Type: {command}", command=f"chmod 700 {shlex.quote(str(home.root))}"),
        )
    if not can_write(home.root):
        return CheckResult(
            "home",
            ok=False,
            found=t("{folder} cannot be written, but the node must write there", folder=home.root),
            advice=t(
                "Stored entries can still be read (`tinyssb export`). Check the folder's owner, and that its disk "
                "can be written. Or copy the whole home to a writable place, use the copy with --home, and never run "
                "both."
            ),
        )
    return CheckResult("home", ok=True, found=str(home.root))


def _check_identity(home: Home) -> CheckResult:
    kept, names = read_node_identity(home), names_of(home)
    for name in names:
        try:
            read_node_identity(home.of_identity(name))
        except LocalError as error:
            return CheckResult(
                "identity",
                ok=False,
                found=t("the identity '{name}': {problem}", name=name, problem=translated(error.message)),
                advice=translated(error.hint),
            )
    found = t("feed {feed}, dialect {dialect}", feed=kept.feed.hex(), dialect=kept.dialect.value)
    if names:
        found += f"; {t('further identities: {names}', names=', '.join(names))}"
    return CheckResult("identity", ok=True, found=found)


def _check_config(home: Home) -> CheckResult:
    config = read_config(home)
    for face in config.faces:
        parse_spec(face)
    if not config.faces:
        return CheckResult(
            "config",
            ok=False,
            found=t("it lists no faces, so the node has no links"),
            advice=t("Add a face to `faces` in {file}. Examples: docs/reference/faces.md", file=home.config),
        )
    return CheckResult(
        "config",
        ok=True,
        found=t("name '{name}', faces {faces}", name=config.name, faces=", ".join(config.faces)),
    )


def _check_store(home: Home) -> CheckResult:
    findings = [_check_network(home, network) for network in read_config(home).networks]
    bad = [finding for finding in findings if not finding.ok]
    return bad[0] if bad else CheckResult("store", ok=True, found="; ".join(each.found for each in findings))


def _check_network(home: Home, network: NetworkName) -> CheckResult:
    """Check the store of one network."""
    prefix = "" if network == DEFAULT_NETWORK else f"{t('network {name}', name=network)}: "
    path = home.of(network).store
    if not path.exists():
        return CheckResult(
            "store", ok=True, found=prefix + t("no store yet; it is created when the node first runs")
        )
    with closing(SqliteStore.open_readonly(path)) as store:
        records = store.feeds()
    forked = [record.feed.hex() for record in records if record.own and record.forked_at is not None]
    if forked:
        return CheckResult(
            "store",
            ok=False,
            found=prefix
            + t("the node's own feed {feed} is forked: two programs wrote it with one key", feed=forked[0]),
            advice=t(
                "This cannot be repaired. Create a new node (`tinyssb --home FOLDER init`), and give people its id."
            ),
        )
    entries = sum(record.seq for record in records)
    found = f"{prefix}{tn(len(records), '{n} feed', '{n} feeds')}, {tn(entries, '{n} entry', '{n} entries')}"
    return CheckResult("store", ok=True, found=found)


def _check_disk(home: Home) -> CheckResult:
    free = shutil.disk_usage(home.root).free
    found = t("{n} MiB free", n=number(free // 2**20))
    if free < limits.DISK_ROOM_MIN:
        return CheckResult(
            "disk",
            ok=False,
            found=found,
            advice=t(
                "Free disk space, or lower `events.keep_mib` in config.toml: on a full disk the node cannot write."
            ),
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
            found=t("{time}, which is before this node was created", time=found),
            advice=t("Set the clock. The node works, but logs and lists show wrong times."),
        )
    return CheckResult("clock", ok=True, found=found)


def _check_map(home: Home) -> list[CheckResult]:
    """Check the file of the map, if there is one."""
    path = read_config(home).web.map
    if path is None:
        return []
    try:
        with closing(open_map(path)) as file:
            zooms = {"first": file.about.zoom_min, "last": file.about.zoom_max}
            return [
                CheckResult("map", ok=True, found=t("{file}, zoom {first} to {last}", file=path, **zooms))
            ]
    except MapLibraryError as error:
        advice = t("Type: {command}", command=install_command("web"))
        reason = error.reason
    except MapFileError as error:
        advice = t(
            "The page shows places without it. Put another file there, or remove `web.map` from config.toml: "
            "docs/howto/web-map.md"
        )
        reason = error.reason
    found = t("the map {file} cannot be used: {problem}", file=path, problem=reason)
    return [CheckResult("map", ok=False, found=found, advice=advice)]


def problems(home: Home) -> list[CheckResult]:
    """Return what is wrong with the node, without asking the sources of optional subjects: what an alert is about."""
    return [finding for finding in examine(home, optional=False) if not finding.ok]


def _check_written(one: IdentityRow) -> CheckResult | None:
    """Check that a further identity can write; None if it can."""
    waiting, name = one.waiting, one.name
    if one.problem is not None:
        found = t("the identity '{name}' is not used: {problem}", name=name, problem=one.problem)
        advice = t("Solve this, then restart the daemon.")
    elif one.frozen_at is not None:
        found = t(
            "the feed of '{name}' is forked at entry {n}, and can never be written again",
            name=name,
            n=one.frozen_at,
        )
        advice = t("Type `tinyssb forks`. What to do: docs/reference/forks.md")
    elif waiting is not None:
        found = t(
            "the feed of '{name}' cannot be written yet: {reason}; {awaited}",
            name=name,
            reason=waiting.reason,
            awaited=waiting.awaited,
        )
        advice = t("Wait until peers with the feed are in reach. Details: docs/reference/keys.md")
    else:
        return None
    return CheckResult("daemon", ok=False, found=found, advice=advice, about=f"identity {name}")


def _check_open(end: EndpointRow) -> CheckResult | None:
    """Check that a face is open; None if it is."""
    if not end.problem:
        return None
    return CheckResult(
        "daemon",
        ok=False,
        found=t("the face {spec} is not open: {problem}", spec=end.spec, problem=end.problem),
        advice=t(
            "The node retries every half minute. If the face can never work, change `faces` in config.toml."
        ),
        about=f"face {end.spec}",
    )


def _check_airtime(account: AirtimeRow) -> CheckResult | None:
    """Check that a full packet may be sent; None if it may, or if a full disk is what keeps it back."""
    if account.wait_us is None or account.wait_us < _LONG_WAIT_US:
        return None
    return CheckResult(
        "airtime",
        ok=False,
        found=t(
            "{band}: the airtime that the law allows is used up; the next message is sent in {time}",
            band=account.band,
            time=duration(account.wait_us),
        ),
        advice=t(
            "Messages wait, and none is lost. What took the airtime: {command}", command="tinyssb airtime"
        ),
        about=account.band,
    )


def _check_limits(network: NetworkRow, now_us: int) -> Iterator[CheckResult]:
    """Report what was kept out of a network, or stopped, in the last hour although nobody here decided that."""
    for one in recent(network.refusals, now_us):
        if one.rule in UNDECIDED:
            found = _where(network) + what_was_refused(one)
            about = f"{one.rule} in {network.name}"
            yield CheckResult("limits", ok=False, found=found, advice=what_to_do(one), about=about)


def _check_use(network: NetworkRow) -> CheckResult | None:
    """Check that feeds which nobody here follows have room; None if they do."""
    return _found_in(network, "disk", None if network.disk is None else disk_problem(network.disk))


def _check_phones(network: NetworkRow) -> CheckResult | None:
    """Check that phones near survive the set; None if they do, or none are near."""
    return _found_in(network, "phones", phone_problem(network.phones))


def _found_in(network: NetworkRow, part: str, problem: tuple[str, str] | None) -> CheckResult | None:
    """Return a *problem* of a network, and what to do, as a result; None for none."""
    if problem is None:
        return None
    found = _where(network) + problem[0]
    return CheckResult(part, ok=False, found=found, advice=problem[1], about=f"network {network.name}")


def _where(network: NetworkRow) -> str:
    """Return the beginning of what is found in a network."""
    return "" if network.name == DEFAULT_NETWORK else f"{t('network {name}', name=network.name)}: "


def _check_companion(one: CompanionRow) -> CheckResult | None:
    """Check that a companion process runs; None if it does."""
    if one.problem is None:
        return None
    ended = {"name": one.name, "problem": one.problem}
    found = t("the {name} has ended: {problem}", **ended)
    if one.ends > 1:
        found = tn(
            one.ends,
            "the {name} has ended {n} time: {problem}",
            "the {name} has ended {n} times: {problem}",
            **ended,
        )
    after = t("Then restart the daemon.") if one.given_up else t("It is started again automatically.")
    return CheckResult(
        "daemon",
        ok=False,
        found=found,
        advice=f"{one.advice} {after}".lstrip(),
        about=one.name,
    )


def _check_daemon(home: Home) -> CheckResult | list[CheckResult]:
    """Check the daemon. Return several findings only if several of its parts have problems."""
    config: Config = read_config(home)
    try:
        with DaemonClient(config.control.socket) as node:
            status, accounts = node.status(), list(node.airtime())
    except DaemonUnreachableError as error:
        return CheckResult("daemon", ok=False, found=translated(error.message), advice=translated(error.hint))
    if status.read_only:
        return CheckResult(
            "daemon",
            ok=False,
            found=status.read_only,
            advice=t("Free disk space; the node then continues automatically."),
        )
    if (frozen_at := status.frozen_at) is not None:
        return CheckResult(
            "daemon",
            ok=False,
            found=t(
                "this node's own feed is forked at entry {n}, and can never be written again", n=frozen_at
            ),
            advice=t("Type `tinyssb forks`. What to do: docs/reference/forks.md"),
        )
    if (waiting := status.waiting) is not None:
        return CheckResult(
            "daemon",
            ok=False,
            found=t(
                "the node's own feed cannot be written yet: {reason}; {awaited}",
                reason=waiting.reason,
                awaited=waiting.awaited,
            ),
            advice=t("Wait until peers with the feed are in reach. Details: docs/reference/keys.md"),
        )
    parts = (
        *map(_check_written, status.identities),
        *map(_check_open, status.endpoints),
        *map(_check_companion, status.companions),
        *map(_check_airtime, accounts),
        *map(_check_use, status.networks),
        *map(_check_phones, status.networks),
        *(one for network in status.networks for one in _check_limits(network, status.uptime_us)),
    )
    if findings := [finding for finding in parts if finding is not None]:
        return findings
    if status.version != version():
        return CheckResult(
            "daemon",
            ok=False,
            found=t(
                "the daemon has version {daemon}, this command {command}",
                daemon=status.version,
                command=version(),
            ),
            advice=t(
                "Restart the daemon: sudo systemctl restart tinyssb (or end `tinyssb run`, and type it again)"
            ),
        )
    faces = status.faces
    return CheckResult("daemon", ok=True, found=tn(faces, "running, {n} face up", "running, {n} faces up"))
