"""Errors of secrets and of homes that cannot be written, beside those in ``tinyssb_node.errors``.

No message repeats any part of a secret.
"""

from pathlib import Path
from typing import Final

from tinyssb_node.errors import ExitCode, LocalError, StoreFailedError

_ONE_COPY: Final = "Run a node on one of the two only: from two its feed would fork."


class StoreReadOnlyError(StoreFailedError):
    """Nothing can be written where the store is."""

    exit_code = ExitCode.STORAGE

    def __init__(self, folder: Path, reason: str | None) -> None:
        self.folder = folder
        super().__init__(
            f"Nothing can be written in {folder}, as a node has to: {reason}. What is stored was kept, and "
            "`tinyssb export` takes feeds out. Check the folder's owner and that its disk can be written, or copy the "
            f"whole home to where you can write, and name the copy with --home. {_ONE_COPY}"
        )


class StoreRecoveryError(StoreFailedError):
    """The last writes to a store are in its log, which cannot be read where nothing can be written."""

    exit_code = ExitCode.STORAGE

    def __init__(self, path: Path, log: Path) -> None:
        self.path, self.log = path, log
        super().__init__(
            f"{path} was not closed in order: what was written last may be in {log.name}, which cannot be read in a "
            "place where nothing can be written. Nothing was changed. Copy the whole home to where you can write "
            f"(cp -r, then chmod -R u+w), and name the copy with --home. {_ONE_COPY}"
        )


class IdentitySealedError(LocalError):
    """The identity is sealed, and no passphrase was given."""

    exit_code = ExitCode.PERMISSION

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"{path} is sealed with a passphrase, and none was given. Name a file that holds it in "
            "TINYSSB_PASSPHRASE_FILE, or run this on a terminal, where you are asked."
        )


class PassphraseWrongError(LocalError):
    """The passphrase does not open the secret."""

    exit_code = ExitCode.PERMISSION

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"The passphrase does not open {path}. Nothing was changed. Try again; without it, the 24 words of a "
            "backup are the only way back."
        )


class PassphraseUnusableError(LocalError):
    """The passphrase is empty, too long or not text."""

    exit_code = ExitCode.DATA

    def __init__(self, reason: str) -> None:
        super().__init__(f"The passphrase cannot be used: {reason}. Nothing was changed.")


class PassphraseExposedError(LocalError):
    """All users of this machine may read the passphrase."""

    exit_code = ExitCode.PERMISSION

    def __init__(self, path: Path, mode: int) -> None:
        self.path, self.mode = path, mode
        super().__init__(
            f"All users can read or write {path} (mode {mode:04o}), so the passphrase in it is not used. "
            f"Take these rights away: chmod o-rwx,g-w {path}"
        )


class PassphraseUnreadableError(LocalError):
    """The file with the passphrase is missing, or cannot be read."""

    exit_code = ExitCode.MISSING

    def __init__(self, path: Path, variable: str, reason: str | None) -> None:
        self.path = path
        super().__init__(
            f"The passphrase should be in {path}, which cannot be read: {reason}. Nothing was changed. "
            f"Let {variable} name a file that holds it, or unset it to be asked on a terminal."
        )


class SealMemoryError(LocalError):
    """There is too little memory to unseal a secret."""

    exit_code = ExitCode.BUSY

    def __init__(self, memory: int) -> None:
        self.memory = memory
        super().__init__(
            f"There is not enough memory to unseal the identity, which takes {memory // 2**20} MiB for a moment. "
            "Nothing was changed. End other programs, and try again."
        )


class IdentityNotProvidedError(LocalError):
    """The secret should come from systemd, and did not."""

    exit_code = ExitCode.MISSING

    def __init__(self, path: Path, credential: str) -> None:
        self.path = path
        super().__init__(
            f"{path} does not hold the secret: systemd hands it to the service as the credential {credential}, and "
            "did not here. docs/reference/keys.md has the lines of the unit; the 24 words of a backup bring it back."
        )


class IdentityMismatchError(LocalError):
    """The secret that systemd provided is not that of this node's feed."""

    exit_code = ExitCode.DATA

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"The secret that was handed in is not that of the feed in {path}, so it is not used. Nothing was changed."
        )


class IdentityUnsyncedError(LocalError):
    """An identity file was replaced, and may be lost again in a power cut."""

    exit_code = ExitCode.STORAGE

    def __init__(self, path: Path, reason: str | None) -> None:
        self.path = path
        super().__init__(
            f"{path} was replaced, but the disk did not confirm that the new one will last: {reason}. After a power "
            "cut the one before may be back. Look at the disk, and write the key on paper: tinyssb identity backup"
        )


class WordUnknownError(LocalError):
    """A word is not in the list."""

    exit_code = ExitCode.DATA

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(
            f"Word {number} is not in the list. Nothing was changed. Look at its first four letters: they are enough."
        )


class WordsCountError(LocalError):
    """The number of words is wrong."""

    exit_code = ExitCode.DATA

    def __init__(self, count: int, expected: int) -> None:
        self.count, self.expected = count, expected
        super().__init__(
            f"There are {count} words and not {expected}. Nothing was changed. Is a line missing?"
        )


class WordsChecksumError(LocalError):
    """The words are in the list, but their checksum is wrong."""

    exit_code = ExitCode.DATA

    def __init__(self) -> None:
        super().__init__(
            "All words are in the list, but their checksum is wrong: one of them is another word of the list, or two "
            "changed places. Nothing was changed."
        )
