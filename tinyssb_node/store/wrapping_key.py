"""The key under which the store keeps secrets that must be erasable. Format: ``docs/formats/store.md``.

SQLite leaves earlier versions of a row in free pages and in its log. So the row is encrypted with a key in a small file
of its own. Another version of the row has another key, and the key before is overwritten in place.
"""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from nacl.bindings import crypto_secretbox, crypto_secretbox_open
from nacl.exceptions import CryptoError

from tinyssb_node.errors import StoreFailedError, StoreFullError
from tinyssb_node.store.durable import FULL, sync_folder

_KEY_SIZE: Final = 32
_CHECK_SIZE: Final = 8
_NONCE_SIZE: Final = 24
_SLOT: Final = 4_096
"""Bytes between the two keys: a torn write harms one of them at most."""
_SLOTS: Final = 2


class WrappingKey:
    """Two places for a key in a file beside the store: one for the key in use, one for the next."""

    def __init__(self, store: Path) -> None:
        """Use the file that belongs to the store at *store*; it is made when it is first needed."""
        self.path: Final = store.with_name(f"{store.stem}-erase.key")
        self._current: int | None = None
        self._next: tuple[int, bytes] | None = None

    def seal(self, plain: bytes) -> bytes:
        """Return *plain* encrypted with the next key, which is on the disk then. Raises StoreFullError,
        StoreFailedError."""
        if self._next is None:
            place = 1 if self._current == 0 else 0
            key = os.urandom(_KEY_SIZE)
            self._put(place, key + sha256(key).digest()[:_CHECK_SIZE])
            self._next = place, key
        nonce = os.urandom(_NONCE_SIZE)
        return nonce + crypto_secretbox(plain, nonce, self._next[1])

    def settle(self) -> None:
        """Overwrite the key before: what `seal` returned is committed. Raises StoreFailedError."""
        if self._next is None:
            return
        place, self._next = self._next[0], None
        self._current = place
        self._wipe(1 - place)

    def open(self, sealed: bytes, *, settle: bool) -> bytes | None:
        """Return the content of *sealed* as it is in the store; None if its key is lost. With *settle* the other key is
        overwritten: a crash left it. Raises StoreFailedError."""
        self._next = None
        nonce, box = sealed[:_NONCE_SIZE], sealed[_NONCE_SIZE:]
        for place, key in self._keys():
            try:
                plain = crypto_secretbox_open(box, nonce, key)
            except CryptoError:
                continue
            self._current = place
            if settle:
                with suppress(StoreFullError):  # the next change overwrites it, too
                    self._wipe(1 - place)
            return plain
        return None

    def forget_next(self) -> None:
        """Take another next key: what `seal` returned was undone. The key is overwritten by the one after it."""
        self._next = None

    def _keys(self) -> list[tuple[int, bytes]]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreFailedError(f"{self.path}: {error}") from error
        found = []
        for place in range(_SLOTS):
            key = data[place * _SLOT :][:_KEY_SIZE]
            check = data[place * _SLOT + _KEY_SIZE :][:_CHECK_SIZE]
            if len(check) == _CHECK_SIZE and sha256(key).digest()[:_CHECK_SIZE] == check:
                found.append((place, key))
        return found

    def _wipe(self, place: int) -> None:
        self._put(place, bytes(_KEY_SIZE + _CHECK_SIZE))

    def _put(self, place: int, data: bytes) -> None:
        """Write over a place of the file, and sync it."""
        try:
            new = not self.path.exists()
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if os.fstat(descriptor).st_size < _SLOTS * _SLOT:
                    os.pwrite(descriptor, bytes(_SLOTS * _SLOT), 0)
                os.pwrite(descriptor, data, place * _SLOT)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if new:
                sync_folder(self.path.parent)
        except OSError as error:
            failed = StoreFullError if error.errno in FULL else StoreFailedError
            raise failed(f"{self.path}: the key of erasable secrets could not be written: {error}") from error
