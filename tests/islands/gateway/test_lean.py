"""Modules of the gateway: a daemon without one does not load them."""

import subprocess
import sys

CODE = """
import sys
from pathlib import Path
import tinyssb_node.daemon.process
from tinyssb_node.daemon.config import parse_config
from tinyssb_node.store.home import Home
parse_config(Home(Path("/nowhere")), {})
print([name for name in sys.modules if "gateway" in name or "locator" in name or "feedsync" in name])
"""


def test_a_daemon_without_a_gateway_loads_nothing_of_it() -> None:
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
