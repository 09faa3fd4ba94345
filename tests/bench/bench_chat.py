"""The chat from the shell: the last fifty of 100,000 messages, as a whole process, and other commands beside it."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from statistics import median

from tests.bench.figure import Figure
from tests.catalog.mesh import Author, Home, id_of, post
from tinyssb_node.ids import MessageId
from tinyssb_node.screens.session import NodeSession

MESSAGES = 100_000
"""Messages of a mesh of fifty people after a hundred days of twenty messages each."""
AUTHORS = 50
FOLLOWS_LATEST = 0.8
"""Share of messages that follow the latest one; the others answer one of the last hundred."""
WORDS = ("bridge", "soup", "noon", "ridge", "rope", "battery", "snow", "hut", "north", "water", "sled", "fog")
RUNS = 15
CHAT_MS = 100
PROGRAM = [sys.executable, "-c", "import sys; from tinyssb_node.cli.main import main; sys.exit(main())"]


def fill(folder: Path, messages: int) -> None:
    """A node that holds so many messages of the public chat, its own user's among them."""
    random = Random(6)
    authors = [Author(f"person {number}") for number in range(AUTHORS)]
    home = Home(folder, authors[0])
    said: list[MessageId] = []
    for _ in range(messages // 1_000):
        composed = []
        for _ in range(1_000):
            latest = not said or random.random() < FOLLOWS_LATEST
            tips = said[-1:] if latest else [random.choice(said[-100:])]
            text = " ".join(random.choices(WORDS, k=random.randint(1, 6)))
            composed.append(random.choice(authors).say(post(text, *tips)))
            said.append(id_of(composed[-1]))
        home.keep(composed, commit=False)
    home.close()


def took(folder: Path, *arguments: str) -> tuple[float, float]:
    """Milliseconds of a whole process, the median of some runs: until it has ended, and of a core."""
    wall_ms, core_ms = [], []
    # As where it is installed: Python's compiled files are there.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ["PYTHONPYCACHEPREFIX"] = str(folder.with_name("compiled"))
    command = [*PROGRAM, "--home", str(folder), *arguments]
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environ, check=True)
    for _ in range(RUNS):
        begun_s = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environ)
        _, status, usage = os.wait4(process.pid, 0)
        wall_ms.append(1e3 * (time.perf_counter() - begun_s))
        core_ms.append(1e3 * (usage.ru_utime + usage.ru_stime))
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise ValueError(f"{arguments} ended with {process.returncode}")
    return median(wall_ms), median(core_ms)


def run() -> list[Figure]:
    """Fill a store, index it, and read it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "home"
        fill(folder, MESSAGES)
        with NodeSession.at_home(str(folder)) as talk:
            begun_s = time.perf_counter()
            talk.catch_up()
            indexed_s = time.perf_counter() - begun_s
            middle = talk.catalog.messages("public", limit=MESSAGES // 2)[0].id.hex()
        chat_ms, chat_core_ms = took(folder, "chat", "--last", "50")
        search_ms, _ = took(folder, "search", "rope", "fog")
        thread_ms, _ = took(folder, "thread", "show", middle)
    return [
        Figure(
            f"`tinyssb chat --last 50` of {MESSAGES:,} messages, whole process",
            chat_ms,
            "ms",
            f"at most {CHAT_MS} ms",
            chat_ms <= CHAT_MS,
        ),
        Figure("of which time of a core", chat_core_ms, "ms"),
        Figure(f"indexing {MESSAGES:,} messages the first time", indexed_s, "s"),
        Figure("`tinyssb search` for two words among them", search_ms, "ms"),
        Figure("`tinyssb thread show` in their middle, all of them put in canonical order", thread_ms, "ms"),
    ]
