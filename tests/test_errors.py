"""Every error of ours ends in a sentence, a code of the protocol and an exit code."""

import re
from pathlib import Path

import pytest

from tests.docs import pages
from tinyssb_node import errors
from tinyssb_node.catalog import errors as catalog_errors
from tinyssb_node.catalog.errors import CatalogBusyError, CatalogFailedError
from tinyssb_node.content import contacts
from tinyssb_node.content.contacts import ContactsError
from tinyssb_node.errors import EXIT_CODES, ExitCode, LocalError, ProblemError
from tinyssb_node.faces.errors import (
    CertificateError,
    FaceSpecError,
    SecretExposedError,
    SecretUnusableError,
)
from tinyssb_node.ids import FeedId
from tinyssb_node.pzp.database import errors as pzp_errors
from tinyssb_node.pzp.database.errors import PzpBusyError

FEED = FeedId(bytes(32))
SOURCES = sorted(Path(errors.__file__).parent.glob("[!w]*/**/*.py"))
"""All but the page's, whose server has codes of its own."""


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (errors.ContentTooLongError(70_000, 65_536, 701), "too_long", ExitCode.DATA),
        (errors.FeedForkedError(FEED, 3), "feed_forked", ExitCode.DATA),
        (errors.SetFullError(255), "set_full", ExitCode.DATA),
        (errors.NodeReadOnlyError(), "read_only", ExitCode.STORAGE),
        (errors.StoreFullError("no room"), "read_only", ExitCode.STORAGE),
        (errors.StoreFailedError("input/output error"), "failed", ExitCode.STORAGE),
        (errors.StoreLockedError(Path("/h"), 7), "failed", ExitCode.BUSY),
        (LocalError("no rights", exit_code=ExitCode.PERMISSION), "failed", ExitCode.PERMISSION),
        (LocalError("nothing there", code="unknown_entry"), "unknown_entry", ExitCode.MISSING),
        (errors.RecipientCountError(9, 7), "failed", ExitCode.DATA),
        (FaceSpecError("x", "y", "z"), "failed", ExitCode.CONFIG),
        (CertificateError(Path("/c"), "no"), "failed", ExitCode.CONFIG),
        (SecretExposedError(Path("/t")), "failed", ExitCode.PERMISSION),
        (SecretUnusableError(Path("/t"), "is no file"), "failed", ExitCode.CONFIG),
        (CatalogFailedError(Path("/h/content.sqlite"), "no"), "failed", ExitCode.STORAGE),
        (CatalogBusyError(Path("/h/content.sqlite"), "busy"), "failed", ExitCode.BUSY),
        (ContactsError(Path("/h/contacts.json"), "it is too long", "Shorten it."), "failed", ExitCode.DATA),
        (PzpBusyError(Path("/h/pzp.sqlite")), "failed", ExitCode.BUSY),
        (ProblemError("No such feed.", "Look.", code="unknown_feed"), "unknown_feed", ExitCode.MISSING),
        (errors.LocalError(), "failed", ExitCode.SOFTWARE),
    ],
)
def test_an_error_has_a_message_and_codes(error: LocalError, code: str, exit_code: ExitCode) -> None:
    assert (error.code, error.exit_code) == (code, exit_code)
    assert error.message.endswith((".", "identity", "init"))


def test_no_error_of_the_catalog_or_of_pzp_is_taken_for_a_fault_of_the_program() -> None:
    classes = {
        one
        for module in (catalog_errors, contacts, pzp_errors)
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, LocalError)
    }
    exits = {one: vars(one).get("exit_code") for one in classes - {LocalError}}
    assert [one for one, exit_code in exits.items() if exit_code in {None, ExitCode.SOFTWARE}] == []


def test_every_code_is_documented_and_has_an_exit_code() -> None:
    page = pages.read("docs/formats/control.md")
    classes = (*LocalError.__subclasses__(), *ProblemError.__subclasses__())
    raised = {code for path in SOURCES for code in re.findall(r'\bcode="(\w+)"', path.read_text("utf-8"))}
    assert "unknown_feed" in raised
    codes = {kind.code for kind in classes} | raised | set(EXIT_CODES)
    assert [code for code in sorted(codes) if f"| `{code}` |" not in page] == []
    assert codes <= EXIT_CODES.keys()


def test_every_exit_code_is_documented() -> None:
    page = pages.read("docs/reference/cli.md")
    assert [code for code in ExitCode if f"| {code.value} |" not in page] == []
