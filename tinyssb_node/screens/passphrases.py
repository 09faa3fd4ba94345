"""Asking people for what is secret, on the terminal and nowhere else."""

import sys
from collections.abc import Callable

from tinyssb_node.store.errors import PassphraseUnusableError
from tinyssb_node.store.sealed_seed import Passphrase


def asker() -> Callable[[], str] | None:
    """What asks for the passphrase of a sealed identity; None where nobody can be asked."""
    return _ask if somebody_there() else None


def somebody_there() -> bool:
    """Whether a person can be asked: one who sees what is asked, and whose keys come here."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_new() -> Passphrase:
    """A new passphrase, typed twice alike. Raises PassphraseUnusableError."""
    from getpass import getpass

    typed = getpass("New passphrase: ")
    if getpass("The same again: ") != typed:
        raise PassphraseUnusableError("it was not the same both times")
    return Passphrase.of(typed)


def _ask() -> str:
    from getpass import getpass

    return getpass("Passphrase of this node's identity: ")
