"""First answers of every view through the real server, for the last day and for 30 days; and a copy in PostgreSQL."""

import os
import re
import sqlite3
import time
import urllib.request
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from spark_sink.limits import ROWS_AT_A_TIME
from spark_sink.page.scope import Question
from spark_sink.serving.address import is_address
from spark_sink.serving.connect import open_for_reading, open_for_writing
from spark_sink.serving.ddl import ARROW_TYPES, quoted
from spark_sink.serving.tables import TABLES
from tests.bench.figure import Figure
from tests.bench.sink_process import Sink, processor_s

ROUNDS: Final = 3
START_S: Final = 60.0
"""The time that the server has to start."""
DAY_US: Final = 86_400_000_000
RANGES: Final = {"last day": 1, "30 days": 30}
ANSWER_MAX_MS: Final = 300.0
SCOPES: Final = ("node", "feed", "hop")
ADDRESS: Final = re.compile(r"http://\S+[^.\s]")


@dataclass(frozen=True, slots=True)
class Answered:
    """How long an answer took, milliseconds: the least of some rounds in each of which nothing was kept from before."""

    wall: float
    processor: float
    """Of the server's."""


def first_answers(name: str, questions: dict[str, Question]) -> dict[tuple[str, str], Answered]:
    """Ask the database called *name* for all views, by name and range."""
    found = {}
    with Sink(["serve", "--db", name, "--port", "0"]) as server:
        base = _address(server)
        for view, path in paths(name, questions).items():
            for title, query in path.items():
                rounds = [_ask(server, f"{base}{query}&after={number}") for number in range(ROUNDS)]
                found[view, title] = Answered(
                    min(one.wall for one in rounds), min(one.processor for one in rounds)
                )
    return found


def cold_answer_ms(name: str, questions: dict[str, Question]) -> float:
    """Ask each view for 30 days in a server that has just started, for which nothing of the file is in memory; return
    the longest time. With PostgreSQL, its own memory stays."""
    found = []
    for path in paths(name, questions).values():
        if not is_address(name):
            with Path(name).open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with Sink(["serve", "--db", name, "--port", "0"]) as server:
            found.append(_ask(server, _address(server) + path["30 days"]).wall)
    return max(found)


def paths(name: str, questions: dict[str, Question]) -> dict[str, dict[str, str]]:
    """The addresses of each view, by range."""
    reader = open_for_reading(name)
    ((newest_us,),) = reader.rows("SELECT max(hour_us) FROM groups")
    reader.close()
    assert isinstance(newest_us, int)
    found = {}
    for title, asked in questions.items():
        view = title.partition(",")[0]
        path = f"/api/{view}{f'/{asked.name}' if asked.name else ''}{f'/{asked.seq}' if asked.seq else ''}"
        for scope in SCOPES if view == "delays" else ("",):
            more = [f"scope={scope}"] if scope else []
            more += [f"at={asked.at_us}"] if asked.at_us is not None else []
            found[f"{title}, {scope}" if scope else title] = {
                span: f"{path}?{'&'.join([*more, f'from={newest_us - days * DAY_US}'])}"
                for span, days in RANGES.items()
            }
    return found


def _address(server: Sink) -> str:
    said = ADDRESS.search(server.wait_for("The page is at", START_S))
    assert said is not None
    return said[0].rstrip("/")


def _ask(server: Sink, address: str) -> Answered:
    request = urllib.request.Request(address, headers={"accept-encoding": "gzip"})
    used_s, begun = processor_s(server.pids()[0]), time.perf_counter()
    with urllib.request.urlopen(request, timeout=120) as answer:
        answer.read()
    wall_s = time.perf_counter() - begun
    return Answered(1_000 * wall_s, 1_000 * (processor_s(server.pids()[0]) - used_s))


def copy(path: Path, url: str) -> None:
    """Copy an SQLite database into an empty schema of PostgreSQL."""
    with closing(sqlite3.connect(path)) as source, open_for_writing(url) as database:
        for table in TABLES.values():
            schema = pa.schema([(column.name, ARROW_TYPES[column.type]) for column in table.columns])
            rows = source.execute(f"SELECT {quoted(table.names)} FROM {table.name}")
            with database.transaction():
                database.execute(f"DELETE FROM {table.name}")
                while some := rows.fetchmany(ROWS_AT_A_TIME):
                    columns = zip(zip(*some, strict=True), schema, strict=True)
                    arrays = [pa.array(column, field.type) for column, field in columns]
                    database.insert(table.name, pa.Table.from_arrays(arrays, schema=schema))
        database.execute("ANALYZE")


def table(found: dict[tuple[str, str], Answered], cold_ms: float) -> list[Figure]:
    """Figures of all views of an SQLite database."""
    rows = [_figure(f"first answer, {view}, {title}", one.wall) for (view, title), one in found.items()]
    slowest = max(one.processor for one in found.values())
    return [
        *rows,
        Figure("the server's processor time for the slowest of them", slowest, "ms"),
        Figure("the slowest for 30 days, in a new server, the file not in memory", cold_ms, "ms"),
    ]


def postgres_table(found: dict[tuple[str, str], Answered]) -> list[Figure]:
    """Figures of the slowest views of the same database in PostgreSQL."""
    figures = []
    for title in RANGES:
        view = max((view for view, span in found if span == title), key=lambda view: found[view, title].wall)
        figures.append(
            _figure(f"PostgreSQL: slowest first answer, {title} ({view})", found[view, title].wall)
        )
    return figures


def _figure(name: str, ms: float) -> Figure:
    return Figure(name, ms, "ms", f"at most {ANSWER_MAX_MS:g} ms", ms <= ANSWER_MAX_MS)
