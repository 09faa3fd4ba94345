"""Lines of the control socket, and files of the operator: exports, proofs of forks, identities, contacts, words."""

import io
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from tests.fuzz.seeds import VECTORS, as_json, in_vectors
from tinyssb_node.content.contacts import parse_contacts
from tinyssb_node.control.protocol import parse_reply, parse_request
from tinyssb_node.daemon.exports import read_export, write_export
from tinyssb_node.errors import TinyssbError
from tinyssb_node.faces.spec import parse_spec
from tinyssb_node.feeds.fork import parse_proof, serialize_proof
from tinyssb_node.feeds.forkfile import parse_fork_file, serialize_fork_file
from tinyssb_node.store.secrets import parse_identity
from tinyssb_node.store.words import parse_words, serialize_words

PLACE = Path("file")


def _proof(data: bytes) -> None:
    assert serialize_proof(parse_proof(data)) == data


def _fork_file(data: bytes) -> None:
    file = parse_fork_file(data)
    again = serialize_fork_file(file)
    assert parse_fork_file(again) == file


def _export(data: bytes) -> None:
    again = io.BytesIO()
    write_export(iter(list(read_export(io.BytesIO(data)))), again)
    assert again.getvalue() == data


def _words(data: bytes) -> None:
    seed = parse_words(data.decode("utf-8", "replace"))
    assert parse_words(" ".join(serialize_words(seed))) == seed


READERS: list[Callable[[bytes], object]] = [
    parse_request,
    parse_reply,
    _proof,
    _fork_file,
    _export,
    _words,
    lambda data: parse_identity(data, PLACE),
    lambda data: parse_contacts(data, PLACE),
    lambda data: parse_spec(data.decode("utf-8", "replace")),
]


def run(data: bytes) -> None:
    for read in READERS:
        # All of these say what is wrong, to a person or to whoever is on the socket.
        with suppress(TinyssbError):
            read(data)


def seeds() -> Iterable[bytes]:
    yield b'{"v":1,"id":1,"command":"status","arguments":{"a":[]}}'
    yield b'{"v":1,"id":"a","error":{"code":"c","message":"m","hint":"h"}}'
    yield b'{"v":1,"people":[{"feed":"%s","name":"a","blocked":true}]}' % (b"0a" * 32)
    yield from as_json("identity/files.json")
    yield from in_vectors("identity/files.json")
    for file in sorted((VECTORS / "forks").glob("file_*.txt")):
        yield file.read_bytes()
    yield bytes.fromhex((VECTORS / "forks/proof_v1.hex").read_text("ascii"))
    exported = io.BytesIO()
    write_export(iter([]), exported)
    yield exported.getvalue()
    yield " ".join(serialize_words(bytes(range(32)))).encode()
    for text in ("udp:239.5.5.8:1558", "ws:listen:127.0.0.1:0?name=a", "kiss:/dev/ttyUSB0", "ble:peripheral"):
        yield text.encode()
