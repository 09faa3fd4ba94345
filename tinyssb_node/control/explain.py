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
from tinyssb_node.gossip.certainty import TipUncertainError
from tinyssb_node.problems import EXITS, ExitCode, ProblemError
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
_EXITS: dict[type[errors.LocalError], ExitCode] = {
    errors.StoreLockedError: ExitCode.BUSY,
    errors.StoreTooNewError: ExitCode.DATA,
    errors.StoreDamagedError: ExitCode.DATA,
    errors.StoreFailedError: ExitCode.STORAGE,
    errors.EventLogFailedError: ExitCode.STORAGE,
    errors.IdentityMissingError: ExitCode.MISSING,
    errors.IdentityExistsError: ExitCode.CREATE,
    errors.IdentityExposedError: ExitCode.PERMISSION,
    errors.IdentityOwnerError: ExitCode.PERMISSION,
    errors.IdentityDamagedError: ExitCode.DATA,
    errors.IdentityTooNewError: ExitCode.DATA,
    key_errors.StoreReadOnlyError: ExitCode.STORAGE,
    key_errors.StoreRecoveryError: ExitCode.STORAGE,
    key_errors.IdentitySealedError: ExitCode.PERMISSION,
    key_errors.PassphraseWrongError: ExitCode.PERMISSION,
    key_errors.PassphraseUnusableError: ExitCode.DATA,
    key_errors.PassphraseExposedError: ExitCode.PERMISSION,
    key_errors.PassphraseUnreadableError: ExitCode.MISSING,
    key_errors.SealMemoryError: ExitCode.BUSY,
    key_errors.IdentityNotProvidedError: ExitCode.MISSING,
    key_errors.IdentityMismatchError: ExitCode.DATA,
    key_errors.IdentityUnsyncedError: ExitCode.STORAGE,
    key_errors.WordUnknownError: ExitCode.DATA,
    key_errors.WordsCountError: ExitCode.DATA,
    key_errors.WordsChecksumError: ExitCode.DATA,
    FaceSpecError: ExitCode.CONFIG,
    FaceOpenError: ExitCode.UNAVAILABLE,
    CertificateError: ExitCode.CONFIG,
    SecretExposedError: ExitCode.PERMISSION,
    SecretUnusableError: ExitCode.CONFIG,
    EtherOpenError: ExitCode.UNAVAILABLE,
    EtherUnreachableError: ExitCode.UNAVAILABLE,
    EtherRefusedError: ExitCode.DATA,
    errors.UnencodableMessageError: ExitCode.DATA,
    errors.RecipientCountError: ExitCode.DATA,
    errors.ReaderKeyError: ExitCode.DATA,
    errors.SimulationOptionError: ExitCode.CONFIG,
    errors.ScenarioFileError: ExitCode.CONFIG,
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
    exit_code: ExitCode


def explain(error: errors.LocalError) -> Explanation:
    """What to tell about *error*."""
    if isinstance(error, ProblemError):
        exit_code = error.exit_code or EXITS.get(error.code, ExitCode.SOFTWARE)
        return Explanation(error.code, error.message, error.hint, exit_code)
    code = _CODES.get(type(error), "failed")
    exit_code = _EXITS.get(type(error), EXITS[code])
    text = str(error) or type(error).__name__
    text = text[:1].upper() + text[1:]
    hint = _HINTS.get(type(error), "")
    return Explanation(code, text if text.endswith((".", "!", "?")) else text + ".", hint, exit_code)
