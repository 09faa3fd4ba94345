"""The user's command for new messages: no shell, one at a time, not too often."""

import sys
from pathlib import Path

import pytest

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens import limits
from tinyssb_node.screens.message_hook import MessageHook


def hook_into(path: Path) -> MessageHook:
    """A hook that appends its input to a file, and a line of its arguments."""
    code = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + sys.argv[2] + '\\n')"
    return MessageHook(f"{sys.executable} -c {code!r} {path} '$(touch owned); `id`'")


def test_it_gets_a_line_for_each_message_and_no_shell(tmp_path: Path) -> None:
    hook = hook_into(tmp_path / "out")
    for line in ('{"text": "one"}', '{"text": "two; $(reboot)"}'):
        hook.add(line)
    hook.look(100.0)
    hook.close()
    assert (tmp_path / "out").read_text().splitlines() == [
        '{"text": "one"}',
        '{"text": "two; $(reboot)"}',
        "$(touch owned); `id`",
    ]


def test_it_runs_seldom_and_gets_what_came_meanwhile(tmp_path: Path) -> None:
    out = tmp_path / "out"
    hook = hook_into(out)
    for second in range(3 * limits.HOOK_EVERY_S):
        hook.add(str(second))
        hook.look(float(second))
        hook.close()
    runs = [line for line in out.read_text().splitlines() if line.startswith("$")]
    assert len(runs) == 3
    hook.look(1_000.0)
    hook.close()
    texts = [line for line in out.read_text().splitlines() if line.isdigit()]
    assert texts == [str(second) for second in range(3 * limits.HOOK_EVERY_S)]
    hook.look(2_000.0)
    hook.close()
    assert out.read_text().count("$") == 4, "without messages it does not run"


def test_a_backlog_is_bounded(tmp_path: Path) -> None:
    hook = hook_into(tmp_path / "out")
    for number in range(limits.HOOK_LINES_MAX + 5):
        hook.add(str(number))
    hook.look(0.0)
    hook.close()
    lines = (tmp_path / "out").read_text().splitlines()
    assert (len(lines) - 1, lines[0]) == (limits.HOOK_LINES_MAX, "5")


def test_a_run_that_takes_too_long_is_ended() -> None:
    hook = MessageHook("sleep 1000")
    hook.add("x")
    hook.look(0.0)
    hook.add("y")
    hook.look(limits.HOOK_TIMEOUT_S - 1.0)
    hook.look(limits.HOOK_TIMEOUT_S + 1.0)
    hook.close()


@pytest.mark.parametrize("command", ["", "  ", "'open", "/nothing/here"])
def test_what_cannot_be_run_is_said(command: str) -> None:
    def run() -> None:
        hook = MessageHook(command)
        hook.add("x")
        hook.look(0.0)

    with pytest.raises(ProblemError, match="cannot be run") as caught:
        run()
    assert caught.value.exit_code is ExitCode.USAGE
