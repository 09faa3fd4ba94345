"""structlog as the daemon loads it."""

import subprocess
import sys

from tinyssb_node.daemon import structured


def loaded(statements: str) -> str:
    """Return "True" if rich is loaded after *statements*, in a program of its own."""
    ask = f"{statements}; import sys; print('rich' in sys.modules)"
    return subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_daemons_log_does_not_load_rich() -> None:
    assert loaded("import structlog") == "True", "or else nothing has to be done"
    assert loaded("import tinyssb_node.daemon.logs") == "False"
    assert loaded("import tinyssb_node.daemon.runtime") == "False"


def test_who_wants_rich_can_still_have_it() -> None:
    assert loaded("import tinyssb_node.daemon.logs; import rich.table") == "True"
    assert loaded("import rich.table; import tinyssb_node.daemon.logs; import rich.tree") == "True"


def test_it_is_structlog() -> None:
    assert structured.structlog.get_logger() is not None
