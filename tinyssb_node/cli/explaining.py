"""Errors as people and scripts are told of them: those that the daemon knows, and those of the catalog and of PZP."""

from dataclasses import replace
from typing import Final

from tinyssb_node.catalog.errors import (
    CatalogBusyError,
    CatalogDamagedError,
    CatalogFailedError,
    CatalogFullError,
    CatalogReadOnlyError,
    ContactsError,
)
from tinyssb_node.control.explain import Explanation, explain
from tinyssb_node.errors import LocalError
from tinyssb_node.problems import Exit
from tinyssb_node.pzp.database.errors import (
    PzpBusyError,
    PzpKeptError,
    PzpMissingError,
    PzpRefusedError,
)

_EXITS: Final[dict[type[LocalError], Exit]] = {
    CatalogFailedError: Exit.STORAGE,
    CatalogDamagedError: Exit.DATA,
    CatalogFullError: Exit.STORAGE,
    CatalogReadOnlyError: Exit.PERMISSION,
    CatalogBusyError: Exit.BUSY,
    ContactsError: Exit.DATA,
    PzpBusyError: Exit.BUSY,
    PzpMissingError: Exit.MISSING,
    PzpKeptError: Exit.DATA,
    PzpRefusedError: Exit.DATA,
}


def explained(error: LocalError) -> Explanation:
    """What to tell about *error*, and the exit code."""
    explanation = explain(error)
    exit_code = _EXITS.get(type(error))
    return explanation if exit_code is None else replace(explanation, exit_code=exit_code)
