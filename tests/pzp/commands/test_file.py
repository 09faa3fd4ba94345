"""Files of PZP messages: the good lines are taken, in whatever order, and the others told by their number."""

import io
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pzp.database.memory import MemoryPzpRows
from tests.pzp.database.messages import BOB, Author, changed, filled, state, without
from tinyssb_node.pzp.commands.files import LineImporter, PzpImportCounts, RejectedLine
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.messages import limits as pzp_limits
from tinyssb_node.pzp.messages.jsontext import Json, canonical
from tinyssb_node.screens import limits


def told() -> Author:
    author = Author()
    author.says(3)
    author.add_key(BOB)
    author.say({"text": "from the other device"}, key=BOB)
    return author


def lines(*messages: Json) -> bytes:
    return b"".join(canonical(one) + b"\n" for one in messages)


def take(
    data: bytes, database: PzpDatabase | None = None, *, strict: bool = True
) -> tuple[PzpImportCounts, list[RejectedLine]]:
    bad: list[RejectedLine] = []
    taker = LineImporter(database or PzpDatabase(MemoryPzpRows()), strict=strict, wall_us=7, tell=bad.append)
    counts = taker.take(io.BytesIO(data), lambda _lines, _bytes: None)
    assert counts.lines == counts.new + counts.known + counts.gone + counts.bad
    assert counts.bad == len(bad)
    return counts, bad


def names(bad: list[RejectedLine]) -> list[tuple[int, str]]:
    return [(one.line, one.error.rule.code) for one in bad]


@given(st.randoms(use_true_random=False))
def test_all_is_taken_in_any_order(chance: random.Random) -> None:
    author, database = told(), PzpDatabase(MemoryPzpRows())
    shuffled = chance.sample(author.written, len(author.written))
    counts, _ = take(lines(*shuffled), database)
    assert (counts.new, counts.bad) == (len(author.written), 0)
    whole = PzpDatabase(MemoryPzpRows())
    filled(whole, author)
    for name in ("order", "tips", "keys", "totals"):
        assert state(database)[name] == state(whole)[name]


def test_good_lines_are_kept_and_bad_ones_told_by_line() -> None:
    author = told()
    forged: dict[str, Any] = changed(author.written[2])
    forged["data"]["text"] = "never said"
    data: list[Json] = [*author.written[:2], forged, {"a": 1}, author.written[3]]
    counts, bad = take(lines(*data) + b"\n  \nno json\n" + b'{"metadata": NaN}')
    assert names(bad) == [
        (3, "PayloadHash"),
        (4, "NotAnObject"),
        (8, "Json"),
        (9, "Number"),
        (5, "PrevUnknown"),  # which waited until the end
    ]
    assert (counts.lines, counts.new) == (7, 2)


def test_what_has_the_id_of_a_good_message_is_checked_as_well() -> None:
    author = told()
    other, signed = changed(author.written[2]), changed(author.written[2])
    other["data"] = {"text": "never said"}
    signed["sig"] = author.written[3]["sig"]
    again: list[Json] = [*author.written, other, signed, without(author.written[2]), author.written[2]]
    counts, bad = take(lines(*again))
    assert names(bad) == [(8, "PayloadHash"), (9, "Signature")]
    assert counts.known == 2


def test_a_line_may_be_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pzp_limits, "TEXT_MAX", 2_000)
    author = told()
    long = b'{"a": "' + b"x" * 10_000 + b'"}\n'
    counts, bad = take(lines(author.written[0]) + long + lines(author.written[1]) + long[:-1])
    assert names(bad) == [(2, "TextSize"), (4, "TextSize")]
    assert counts.new == 2


def test_only_so_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PZP_WAITING_SIZE", 1_000)
    author = told()
    counts, bad = take(lines(*reversed(author.written)))
    assert 0 < len(bad) < len(author.written)
    assert counts.new + counts.bad == len(author.written)


def test_what_was_erased_stays_so() -> None:
    author, database = told(), PzpDatabase(MemoryPzpRows())
    take(lines(*author.written), database)
    assert database.erase(take_id(database))
    counts, _ = take(lines(*author.written), database)
    assert (counts.gone, counts.known) == (1, len(author.written) - 1)


def take_id(database: PzpDatabase) -> str:
    return database.records()[3].id


def test_a_large_file_is_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PZP_BATCH_SIZE", 600)
    author = told()
    data = lines(*author.written)
    seen: list[tuple[int, int]] = []
    taker = LineImporter(PzpDatabase(MemoryPzpRows()), strict=True, wall_us=7, tell=print)
    taker.take(io.BytesIO(data), lambda *at: seen.append(at))
    assert len(seen) > 2
    assert seen[-1] == (len(author.written), len(data))


def test_compat_takes_more() -> None:
    author = told()
    odd = changed(author.written[2])
    odd["more"] = 1
    data = lines(*author.written[:2]) + json.dumps(odd).encode()
    assert names(take(data)[1]) == [(3, "UnknownField")]
    assert take(data, strict=False)[0].new == 3
