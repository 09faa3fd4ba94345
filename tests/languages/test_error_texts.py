"""Messages of errors are found in the code as translators and readers need them."""

import ast

import pytest

from tests.languages.error_texts import texts
from tests.languages.extraction import messages


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('"Nothing was sent."', ["Nothing was sent."]),
        ('f"{error.strerror or error} at {self._path}"', ["{strerror} at {path}"]),
        ("f\"{len(found) or 'No'} of {limits.ROWS_MAX}\"", ["{found} of {rows_max}", "No of {rows_max}"]),
        ("f\"{', '.join(names)} by {feed.hex()[:8]}\"", ["{names} by {feed}"]),
        ('"One. " + ("Two." if two else f"{three}.")', ["One. Two.", "One. {three}."]),
    ],
)
def test_the_texts_of_an_expression_have_places_named_by_what_fills_them(code: str, found: list[str]) -> None:
    assert texts(ast.parse(code, mode="eval").body) == found


def test_errors_of_all_kinds_are_found() -> None:
    found = {one.id for one in messages("errors")}
    assert {
        "The node's daemon is not running.",  # given to a class
        "A private conversation has at most {circle_max} people beside you.",
        "`tinyssb forks` shows both entries; docs/reference/forks.md explains how to continue with a new identity.",
        "Guests cannot do this.",  # given to a response
        "there is no room on the disk",  # a part of another
        "Nobody is named.",  # of a table
    } <= found
    assert not any("scenario" in str(one) for one in found)
