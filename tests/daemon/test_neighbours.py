"""A daemon on a modelled channel says which nodes it hears, and how well."""

import re
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from tests.daemon.processes import PATIENCE_S, PROGRAM, daemon, make_home


def test_nodes_on_the_air_are_listed_with_their_signal(tmp_path: Path) -> None:
    with (
        subprocess.Popen([*PROGRAM, "ether", "--port", "0"], stdout=subprocess.PIPE) as ether,
        ExitStack() as stack,
    ):
        stack.callback(ether.send_signal, signal.SIGINT)
        assert ether.stdout is not None
        found = re.search(rb"127\.0\.0\.1:(\d+)", ether.stdout.readline())
        assert found is not None
        homes = [tmp_path / name for name in ("ana", "ben")]
        for home in homes:
            make_home(home, f"ether:127.0.0.1:{int(found[1])}?name={home.name}", name=home.name)
        ana, ben = (stack.enter_context(daemon(home)) for home in homes)
        with ana.client() as node, ben.client() as other:
            feed = other.publish(b"hello").feed
            node.follow(feed)
            end_s = time.monotonic() + PATIENCE_S
            # Either may have had nothing to request that the other did not give first.
            while not (rows := [*node.neighbours(), *other.neighbours()]):
                assert time.monotonic() < end_s, "nothing was heard"
    row = rows[0]
    assert row.face in {"ether:ana", "ether:ben"}
    assert re.fullmatch("[0-9a-f]{4}", row.name)
    assert row.heard_us >= 0
    assert row.rssi_dbm is not None
    assert row.snr_db is not None
