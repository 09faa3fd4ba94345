"""Errors of the layers below, in terms of the control protocol and of exit codes."""

from dataclasses import dataclass

from tinyssb_node import errors
from tinyssb_node.faces.errors import (
    CertificateError,
    EtherOpenError,
    EtherRefusedError,
    EtherUnreachableError,
    FaceOpenError,
    FaceSpecError,
    SecretExposedError,
    SecretUnusableError,
)
from tinyssb_node.problems import EXITS, Exit, ProblemError
from tinyssb_node.replication.certainty import TipUncertainError
from tinyssb_node.store import errors as key_errors

_CODES: dict[type[errors.LocalError], str] = {
    errors.ContentTooLongError: "too_long",
    errors.FeedForkedError: "feed_forked",
    errors.SetFullError: "set_full",
    errors.NodeReadOnlyError: "read_only",
    errors.StoreFullError: "read_only",
    errors.EventLogFullError: "read_only",
    TipUncertainError: "uncertain",
}
_EXITS: dict[type[errors.LocalError], Exit] = {
    errors.StoreLockedError: Exit.BUSY,
    errors.StoreTooNewError: Exit.DATA,
    errors.StoreDamagedError: Exit.DATA,
    errors.StoreFailedError: Exit.STORAGE,
    errors.EventLogFailedError: Exit.STORAGE,
    errors.IdentityMissingError: Exit.MISSING,
    errors.IdentityExistsError: Exit.CREATE,
    errors.IdentityExposedError: Exit.PERMISSION,
    errors.IdentityOwnerError: Exit.PERMISSION,
    errors.IdentityDamagedError: Exit.DATA,
    errors.IdentityTooNewError: Exit.DATA,
    key_errors.StoreReadOnlyError: Exit.STORAGE,
    key_errors.StoreUnsettledError: Exit.STORAGE,
    key_errors.IdentitySealedError: Exit.PERMISSION,
    key_errors.PassphraseWrongError: Exit.PERMISSION,
    key_errors.PassphraseUnusableError: Exit.DATA,
    key_errors.PassphraseExposedError: Exit.PERMISSION,
    key_errors.PassphraseUnreadableError: Exit.MISSING,
    key_errors.SealMemoryError: Exit.BUSY,
    key_errors.IdentityElsewhereError: Exit.MISSING,
    key_errors.IdentityOtherError: Exit.DATA,
    key_errors.IdentityUnsyncedError: Exit.STORAGE,
    key_errors.WordUnknownError: Exit.DATA,
    key_errors.WordsCountError: Exit.DATA,
    key_errors.WordsChecksumError: Exit.DATA,
    FaceSpecError: Exit.CONFIG,
    FaceOpenError: Exit.UNAVAILABLE,
    CertificateError: Exit.CONFIG,
    SecretExposedError: Exit.PERMISSION,
    SecretUnusableError: Exit.CONFIG,
    EtherOpenError: Exit.UNAVAILABLE,
    EtherUnreachableError: Exit.UNAVAILABLE,
    EtherRefusedError: Exit.DATA,
    errors.UnsayableMessageError: Exit.DATA,
    errors.CircleSizeError: Exit.DATA,
    errors.ReaderKeyError: Exit.DATA,
    errors.OptionError: Exit.CONFIG,
    errors.ScenarioFileError: Exit.CONFIG,
}
_HINTS: dict[type[errors.LocalError], str] = {
    errors.FeedForkedError: (
        "`tinyssb forks` shows both entries, docs/reference/forks.md how to go on with a new identity."
    ),
}
"""What to do next, of errors of the layers that know no commands."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An error as programs and people are told of it."""

    code: str
    """Word for programs (docs/formats/control.md)."""
    message: str
    """What happened, in sentences."""
    hint: str
    """What to do next, where the message does not say it."""
    exit_code: Exit


def explain(error: errors.LocalError) -> Explanation:
    """What to tell about *error*."""
    if isinstance(error, ProblemError):
        exit_code = error.exit_code or EXITS.get(error.code, Exit.SOFTWARE)
        return Explanation(error.code, error.message, error.hint, exit_code)
    code = _CODES.get(type(error), "failed")
    exit_code = _EXITS.get(type(error), EXITS[code])
    text = str(error) or type(error).__name__
    text = text[:1].upper() + text[1:]
    hint = _HINTS.get(type(error), "")
    return Explanation(code, text if text.endswith((".", "!", "?")) else text + ".", hint, exit_code)
