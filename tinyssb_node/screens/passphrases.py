"""Questions for secrets, on the terminal only."""

import sys
from collections.abc import Callable

from tinyssb_node.store.sealed_seed import Passphrase, PassphraseUnusableError


def asker() -> Callable[[], str] | None:
    """Return the function that asks for the passphrase of a sealed identity; None without a terminal."""
    return _ask if somebody_there() else None


def somebody_there() -> bool:
    """Return whether there is a terminal to ask on: its user sees the question, and their keys arrive here."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_new() -> Passphrase:
    """Ask for a new passphrase, twice. Raises PassphraseUnusableError."""
    from getpass import getpass

    typed = getpass("New passphrase: ")
    if getpass("Repeat it: ") != typed:
        raise PassphraseUnusableError("the two entries differ")
    return Passphrase.of(typed)


def _ask() -> str:
    from getpass import getpass

    return getpass("Passphrase of this node's identity: ")
