"""Exit codes of what can go wrong with the catalog."""

from pathlib import Path

import pytest

from tinyssb_node.catalog import errors as catalog_errors
from tinyssb_node.catalog.errors import CatalogBusyError, CatalogFailedError
from tinyssb_node.cli.explaining import _EXITS, explain_error
from tinyssb_node.content import contacts
from tinyssb_node.content.contacts import ContactsError
from tinyssb_node.errors import LocalError
from tinyssb_node.problems import ExitCode, UnknownFeedError
from tinyssb_node.pzp.database import errors as pzp_errors
from tinyssb_node.pzp.database.errors import PzpBusyError


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        (CatalogFailedError(Path("/h/content.sqlite"), "no"), ExitCode.STORAGE),
        (CatalogBusyError(Path("/h/content.sqlite"), "busy"), ExitCode.BUSY),
        (ContactsError(Path("/h/contacts.json"), "it is too long", "Shorten it."), ExitCode.DATA),
        (PzpBusyError(Path("/h/pzp.sqlite")), ExitCode.BUSY),
        (UnknownFeedError("No.", "Look."), ExitCode.MISSING),
    ],
)
def test_an_error_has_an_exit_code(error: LocalError, exit_code: ExitCode) -> None:
    assert explain_error(error).exit_code is exit_code
    assert explain_error(error).message.endswith(".")


def test_no_error_of_the_catalog_or_of_pzp_is_taken_for_a_fault_of_the_program() -> None:
    classes = {
        one
        for module in (catalog_errors, contacts, pzp_errors)
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, LocalError)
    }
    assert classes - {LocalError} == set(_EXITS)
