"""Seeds of the fuzzer: bytes that other programs made, and inputs that earlier runs kept."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

VECTORS = Path(__file__).parent.parent / "vectors"
CORPUS = Path(__file__).parent / "corpus"
SEED_MAX = 4_096
"""Bytes of one seed: longer ones are cut, since a fuzzer tries short things faster."""
CORPUS_MAX = 12_000
"""Characters of a target's kept corpus: all of them together stay below 300 kB."""


def in_vectors(*paths: str) -> list[bytes]:
    """Every string of hexadecimal digits in these JSON files below ``tests/vectors``, as bytes."""
    found: dict[bytes, None] = {}
    for path in paths:
        for text in _texts(json.loads((VECTORS / path).read_text("utf-8"))):
            try:
                found[bytes.fromhex(text)[:SEED_MAX]] = None
            except ValueError:
                continue
    return list(found)


def as_json(*paths: str) -> list[bytes]:
    """Every object in these JSON files, as JSON: the files are lists of cases."""
    found = []
    for path in paths:
        found += [_line(value) for value in _objects(json.loads((VECTORS / path).read_text("utf-8")))]
    return [line for line in found if len(line) <= SEED_MAX]


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)


def _objects(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _objects(item)


def kept(name: str) -> list[bytes]:
    """Return the inputs that earlier runs kept for a target: a file of its own, one input a line, in hexadecimal
    digits."""
    file = CORPUS / f"{name}.txt"
    return [bytes.fromhex(line) for line in file.read_text("ascii").split()] if file.exists() else []


def keep(name: str, inputs: Iterable[bytes]) -> int:
    """Keep the shortest of *inputs*, as many as there is room for. Returns how many."""
    lines: list[str] = []
    room = CORPUS_MAX
    for data in sorted(set(inputs) - {b""}, key=lambda data: (len(data), data)):
        room -= 2 * len(data) + 1
        if room < 0:
            break
        lines.append(data.hex() + "\n")
    CORPUS.mkdir(exist_ok=True)
    (CORPUS / f"{name}.txt").write_text("".join(lines), "ascii")
    return len(lines)
