"""Messages of groups in the short form."""

from collections.abc import Iterable
from contextlib import suppress

from tests.fuzz.seeds import in_vectors
from tests.groups.spoken import VECTORS, of_vectors
from tinyssb_node.groups.keys import check_people
from tinyssb_node.groups.messages import AddMember, GroupMessageError
from tinyssb_node.groups.short_form import decode, split_owner

READINGS = (of_vectors(VECTORS["epoch_key"]), of_vectors(None))


def run(data: bytes) -> None:
    with suppress(GroupMessageError):
        split_owner(data)
    for reading in READINGS:
        with suppress(GroupMessageError):
            message = decode(data, reading)
            if isinstance(message, AddMember):
                check_people(message)


def seeds() -> Iterable[bytes]:
    return in_vectors("groups/messages/short_v1.json")
