"""Answers to requests that published something, kept beyond the process: a page whose answer was lost sends its request
again, and it is published once."""

import json
import logging
from collections import OrderedDict
from pathlib import Path
from typing import Final

from tinyssb_node.store.durable import in_the_place_of
from tinyssb_node.web import limits
from tinyssb_node.web.shapes import Shape

_VERSION: Final = 1
_log: Final = logging.getLogger(__name__)


class PublishedAnswers:
    """The latest answers, by the id that the page gave its request (docs/formats/web-answers.md)."""

    def __init__(self, file: Path | None) -> None:
        """Read *file*; None: they end with the process."""
        self._file = file
        self._answers: OrderedDict[str, Shape] = OrderedDict()
        if file is not None and file.exists():
            try:
                self._answers.update(parse_answers(file.read_text("utf-8")))
            except (OSError, ValueError) as error:
                _tell(file, "read", error)

    def find(self, once: str) -> Shape | None:
        """Return the answer to a request; None: nothing was published for it that is still known."""
        return self._answers.get(once)

    def note(self, once: str, answer: Shape) -> None:
        """Remember the answer to a request, and forget the oldest one beyond the bound."""
        self._answers[once] = answer
        if len(self._answers) > limits.ANSWERS_MAX:
            self._answers.popitem(last=False)
        if self._file is not None:
            try:
                with in_the_place_of(self._file) as file:
                    file.write(serialize_answers(self._answers).encode())
            except OSError as error:
                _tell(self._file, "written", error)


def _tell(file: Path, done: str, error: Exception) -> None:
    """Say in the log what is lost; what was published stays so."""
    _log.warning(
        "tinyssb: %s cannot be %s: %s. If the page is started again, a phone that never got the answer to something it "
        "published may publish it twice.",
        file,
        done,
        error,
    )


def parse_answers(text: str) -> dict[str, Shape]:
    """Parse the file. Raises ValueError if it is another one."""
    try:
        found = json.loads(text)
        if found["version"] != _VERSION:
            raise ValueError(f"it has version {found['version']}, and not {_VERSION}")
        return {str(one["once"]): dict(one["answer"]) for one in found["answers"]}
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("it is not a list of answers") from error


def serialize_answers(answers: OrderedDict[str, Shape]) -> str:
    """Return the file's text."""
    rows = [{"once": once, "answer": answer} for once, answer in answers.items()]
    return json.dumps({"version": _VERSION, "answers": rows}) + "\n"
