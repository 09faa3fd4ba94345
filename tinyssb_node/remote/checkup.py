"""Checks of `doctor`: whether administrators are suspended, and whether strangers give commands."""

from tinyssb_node.daemon.config import read_config
from tinyssb_node.remote.gate import AdminState
from tinyssb_node.remote.record_file import RemoteRecordError, read_record
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.screens.render import local_time
from tinyssb_node.store.home import Home


def examine(home: Home) -> list[CheckResult]:
    """Check the record of the node in *home*; nothing if it obeys no remote commands. Raises ConfigError."""
    table = read_config(home).optional.get("remote")
    if table is None or not table.enabled:
        return []
    try:
        record = read_record(home)
    except RemoteRecordError as error:
        return [CheckResult("remote", ok=False, found=error.message, advice=error.hint)]
    found = [
        CheckResult(
            "remote",
            ok=False,
            found=f"the feed {admin.feed.hex()[:8]} of an administrator is forked: its commands are not executed",
            advice=f"Allow another feed of theirs, and then: tinyssb remote revoke {admin.feed.hex()}",
            about=admin.feed.hex(),
        )
        for admin in record.admins
        if admin.state is AdminState.FORKED
    ]
    if record.ignored:
        came = local_time(record.ignored_s * 1_000_000)
        found.append(
            CheckResult(
                "remote",
                ok=True,
                found=f"{record.ignored} commands by feeds that are not allowed, the last at {came}",
            )
        )
    if not record.allowed():
        advice = "tinyssb remote allow FEED. Or set remote.enabled to false"
        found.append(
            CheckResult("remote", ok=True, found="nobody is allowed to give commands", advice=advice)
        )
    return found or [
        CheckResult("remote", ok=True, found=f"{len(record.allowed())} allowed to give commands")
    ]
