"""Commands and answers in words."""

from collections.abc import Sequence
from typing import Final

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.remote.messages import (
    FaceFacts,
    NodeProblem,
    RemoteAnswer,
    RemoteOutcome,
    read_status_body,
)
from tinyssb_node.screens.render import duration, local_time
from tinyssb_node.screens.safetext import one_line

LEVELS: Final = ("debug", "info", "warning", "error")
_USAGE: Final = (
    "There are: status, face restart NAME, log LEVEL (debug, info, warning, error), radio set NAME KEY=VALUE..., "
    "radio confirm NAME."
)
_OUTCOMES: Final = {
    RemoteOutcome.DONE: "done",
    RemoteOutcome.EXPIRED: "not executed: it came after its time was over",
    RemoteOutcome.CLOCK: "not executed: the node's clock is behind. Set it, or give the command with --for ever",
    RemoteOutcome.UNKNOWN: "not executed: the node does not know this command",
    RemoteOutcome.REFUSED: "failed",
    RemoteOutcome.INTERRUPTED: "interrupted: the node stopped meanwhile. Look whether it took effect",
}
_PROBLEMS: Final = {
    NodeProblem.READ_ONLY: "it does not write, such as on a full disk",
    NodeProblem.WAITS: "it waits before it writes its feed",
    NodeProblem.FORKED: "its own feed is forked",
    NodeProblem.COMPANION: "a process beside the daemon fails",
}
_TEXT_CELLS: Final = 200


def check_words(words: Sequence[str]) -> None:
    """Raise ProblemError for a command that this version does not know."""
    match words:
        case ("status",) | ("face", "restart", _) | ("radio", "confirm", _):
            return
        case ("radio", "set", _, *pairs) if pairs and all("=" in pair for pair in pairs):
            return
        case ("log", level) if level in LEVELS:
            return
    typed = one_line(" ".join(words), _TEXT_CELLS)
    raise ProblemError(
        f"There is no remote command '{typed}'. Nothing was published.", _USAGE, exit_code=ExitCode.USAGE
    )


def outcome_word(outcome: int) -> str:
    """Return the name of an outcome, for tables and programs; of one that we do not know its number."""
    try:
        return RemoteOutcome(outcome).name.lower()
    except ValueError:
        return str(outcome)


def answer_lines(words: Sequence[str], answer: RemoteAnswer) -> list[str]:
    """Return the *answer* to the command *words*, for a terminal."""
    outcome = _OUTCOMES.get(answer.outcome, f"outcome {answer.outcome}, which this version does not know")  # type: ignore[call-overload]  # any number
    time = "unknown" if answer.said_s is None else local_time(answer.said_s * 1_000_000)
    lines = [f"{' '.join(words)}: {outcome} (the node's clock: {time})"]
    if answer.outcome == RemoteOutcome.REFUSED and answer.body and isinstance(answer.body[0], str):
        lines.append(one_line(answer.body[0], _TEXT_CELLS))
    if answer.outcome == RemoteOutcome.DONE:
        lines += _body_lines(words, answer)
    return lines


def _body_lines(words: Sequence[str], answer: RemoteAnswer) -> list[str]:
    if words[:1] == ["log"] or words[:1] == ("log",):
        before = answer.body[0] if answer.body and isinstance(answer.body[0], str) else "unknown"
        return [f"The level before was {one_line(before, _TEXT_CELLS)}."]
    if tuple(words[:2]) == ("radio", "set"):
        if len(answer.body) != 2 or not all(isinstance(number, int) for number in answer.body):
            return []
        tried = f"In {answer.body[0]} s it tries these settings, for {answer.body[1]} min."  # type: ignore[str-bytes-safe]  # numbers
        return [tried, f"They go back then, unless you send: radio confirm {one_line(words[2], _TEXT_CELLS)}"]
    facts = read_status_body(answer.body) if tuple(words) == ("status",) else None
    if facts is None:
        return []
    faces = [_face_words(face) for face in facts.faces]
    if facts.more:
        faces.append(f"{facts.more} more")
    running = (
        duration(facts.uptime_minutes * 60_000_000) if facts.uptime_minutes else "for less than a minute"
    )
    problems = [text for problem, text in _PROBLEMS.items() if facts.problems & problem]
    return [
        f"version    {one_line(facts.version, _TEXT_CELLS)}",
        f"running    {running}",
        f"disk free  {facts.free_mib:,} MiB",
        f"entries    {facts.entries:,}",
        f"faces      {', '.join(faces) or 'none'}",
        f"problems   {'; '.join(problems) or 'none'}",
    ]


def _face_words(face: FaceFacts) -> str:
    state = "open" if face.is_open else "not open, or nobody there"
    duty = "" if face.duty_percent is None else f", {face.duty_percent} % of its airtime used"
    return f"{one_line(face.name, _TEXT_CELLS)} ({state}{duty})"
