"""File ``db/log`` of the published package pzp-db (docs/formats/pzp-log.md): its records in and out."""

import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final

BLOCK_SIZE: Final = 65_536
"""Bytes of a block."""
_HEAD: Final = struct.Struct("<HH")
_END: Final = bytes(_HEAD.size)
"""The end of the records of a block."""


def is_log(file: BinaryIO) -> bool:
    """Return True if *file* looks like one; it is read from its beginning after that. Raises OSError."""
    if not file.seekable():
        return False
    size = file.seek(0, 2)
    file.seek(0)
    whole = size > 0 and size % BLOCK_SIZE == 0
    found = whole and file.read(BLOCK_SIZE)[-len(_END) :] == _END
    file.seek(0)
    return bool(found)


def parse_records(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield the data of each record: nothing of a deleted one, and None in the place of a damaged one."""
    while block := file.read(BLOCK_SIZE):
        at = 0
        while block[at : at + len(_END)] not in (_END, b""):
            if at + _HEAD.size > len(block):
                yield None
                break
            size, erased = _HEAD.unpack_from(block, at)
            end = at + _HEAD.size + size
            if end + erased > len(block):
                yield None
                break
            yield block[at + _HEAD.size : end]
            at = end + erased


def serialize_records(records: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a file with the data of *records*, for each of which there has to be room in a block."""
    block = bytearray()
    for data in records:
        assert fits(len(data))
        if len(block) + _HEAD.size + len(data) + len(_END) > BLOCK_SIZE:
            yield bytes(block.ljust(BLOCK_SIZE, b"\0"))
            block.clear()
        block += _HEAD.pack(len(data), 0) + data
    if block:
        yield bytes(block.ljust(BLOCK_SIZE, b"\0"))


def fits(size: int) -> bool:
    """Return True if a block has room for a record with *size* bytes of data."""
    return 0 < size <= BLOCK_SIZE - _HEAD.size - len(_END)
