"""Connection to one database by its name, used by one thread: opened when the database exists, again if replaced."""

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from spark_sink import errors
from spark_sink.errors import BadQuestionError, NotKnownError
from spark_sink.page import limits
from spark_sink.page.queries.airtime import airtime
from spark_sink.page.queries.delays import delays
from spark_sink.page.queries.faults import faults
from spark_sink.page.queries.feed import feed
from spark_sink.page.queries.gossip import gossip
from spark_sink.page.queries.heatmap import heatmap
from spark_sink.page.queries.job import job
from spark_sink.page.queries.message import message
from spark_sink.page.queries.node import node
from spark_sink.page.queries.overview import overview, summary
from spark_sink.page.queries.packets import packets
from spark_sink.page.queries.topology import topology
from spark_sink.page.scope import Answer, Question, Scope, make_scope
from spark_sink.serving.address import is_address
from spark_sink.serving.connect import open_for_reading
from spark_sink.serving.database import Reader

State = Literal["ready", "empty", "missing", "unreadable"]

VIEWS: Final[dict[str, Callable[[Scope], Answer]]] = {
    view.__name__: view
    for view in (
        overview, heatmap, topology, airtime, delays, packets, message, node, feed, gossip, faults, job, summary,
    )
}  # fmt: skip
EMPTY_MESSAGE: Final = (
    "The database is ready, but no log has been read into it yet. Fill it with: tinyssb-sink run"
)


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """The state that a database is in; an equal one means that nothing was written in between."""

    state: State
    message: str
    identity: tuple[int, ...]
    """Identity of the file, and the number of transactions."""


class ReconnectingReader:
    """A database that is read. Belongs to one thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._reader: Reader | None = None
        self._place: tuple[int, ...] = ()

    def look(self) -> DatabaseState:
        """Return the current state of the database. Nothing is raised: errors are in the message."""
        try:
            reader = self._open()
            moment = DatabaseState("ready", "", (*self._place, reader.changes()))
        except errors.NoDatabaseError as error:
            moment = self._failed("missing", str(error))
        except errors.DatabaseFailedError as error:
            moment = self._failed("unreadable", self._explain(error))
        except (errors.SinkError, OSError) as error:
            moment = self._failed("unreadable", str(error))
        return moment

    def ask(self, view: str, question: Question) -> Answer:
        """Answer a view from one state of the database. Raises BadQuestionError, NotKnownError."""
        moment = self.look()
        if moment.state != "ready" or self._reader is None:
            return _unready(moment.state, moment.message)
        try:
            with self._reader.snapshot():
                changes = self._reader.changes()
                scope = make_scope(self._reader, question)
                if scope is None:
                    return {**_unready("empty", EMPTY_MESSAGE), "changes": changes}
                return {**_head(scope), "changes": changes, **VIEWS[view](scope)}
        except (BadQuestionError, NotKnownError):
            raise
        except errors.SinkError as error:
            failed = self._failed("unreadable", self._explain(error))
            return _unready(failed.state, failed.message)

    def read(self, work: Callable[[Scope], Answer]) -> Answer | None:
        """Compute something else from one state of the database; None if there is nothing to read."""
        if self.look().state != "ready" or self._reader is None:
            return None
        try:
            with self._reader.snapshot():
                scope = make_scope(self._reader, Question())
                return work(scope) if scope else None
        except errors.SinkError:
            self.close()
            return None

    def close(self) -> None:
        """Let go of the database."""
        if self._reader is not None:
            with contextlib.suppress(errors.SinkError):
                self._reader.close()
        self._reader = None

    def _open(self) -> Reader:
        place: tuple[int, ...] = ()
        if not is_address(self._name):
            path = Path(self._name)
            if not path.exists():
                raise errors.NoDatabaseError(path)
            found = path.stat()
            place = (found.st_dev, found.st_ino)
        if self._reader is None or place != self._place:
            self.close()
            self._reader, self._place = open_for_reading(self._name), place
        return self._reader

    def _failed(self, state: State, message: str) -> DatabaseState:
        self.close()
        return DatabaseState(state, message, ())

    def _explain(self, error: errors.SinkError) -> str:
        text = str(error)
        if any(words in text for words in ("no such table", "no such column", "does not exist")):
            return (
                "The database was made by an older tinyssb-sink and lacks a table or a column; it was left as it is. "
                "Start tinyssb-sink run or backfill with it once, which adds what is missing."
            )
        return f"The database cannot be read now; it was left as it is, and the page tries again by itself. ({text})"


def _unready(state: State, message: str) -> Answer:
    return {"v": limits.API_VERSION, "state": state, "message": message}


def _head(scope: Scope) -> Answer:
    return {
        "v": limits.API_VERSION,
        "state": "ready",
        "as_of_us": scope.as_of_us,
        "committed_us": scope.committed_us,
        "from_us": scope.from_us,
        "to_us": scope.to_us,
    }


def serialize(answer: Answer) -> bytes:
    """Return an answer as JSON on one line."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(
        "utf-8", "replace"
    )
