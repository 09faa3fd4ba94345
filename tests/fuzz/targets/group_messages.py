"""Messages of groups, in the short form and in that of classic programs."""

import json
from collections.abc import Iterable
from contextlib import suppress

from tests.fuzz.seeds import as_json, in_vectors
from tests.groups.spoken import VECTORS, ids_of_vectors, of_vectors
from tinyssb_node.groups.classic import from_classic
from tinyssb_node.groups.keys import check_people
from tinyssb_node.groups.messages import AddMember, GroupMessageError
from tinyssb_node.groups.short_form import decode, split_owner

READINGS = (of_vectors(VECTORS["epoch_key"]), of_vectors(None))
IDS = ids_of_vectors()


def run(data: bytes) -> None:
    with suppress(GroupMessageError):
        split_owner(data)
    for reading in READINGS:
        with suppress(GroupMessageError):
            message = decode(data, reading)
            if isinstance(message, AddMember):
                check_people(message)
    with suppress(ValueError, RecursionError):
        written = json.loads(data)
        with suppress(GroupMessageError):
            from_classic(written, IDS)


def seeds() -> Iterable[bytes]:
    path = "groups/messages/short_v1.json"
    return [*in_vectors(path), *as_json(path)]
