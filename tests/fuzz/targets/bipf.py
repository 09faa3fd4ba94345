"""BIPF values, and that what is written of them is read again as the same."""

from collections.abc import Iterable
from contextlib import suppress

from tests.fuzz.seeds import in_vectors
from tinyssb_node.codec import bipf
from tinyssb_node.screens.render import decode_content, one_line


def run(data: bytes) -> None:
    one_line(decode_content(data))
    for unsigned in (False, True):
        with suppress(bipf.BipfError):
            value, end = bipf.decode_prefix(data, unsigned=unsigned)
            assert 0 < end <= len(data)
            if not unsigned:
                again = bipf.encode(value)
                # Twice, since a number that is none differs from itself.
                assert bipf.encode(bipf.decode(again)) == again


def seeds() -> Iterable[bytes]:
    return in_vectors("tinyssb/bipf.json", "messages/messages.json")
