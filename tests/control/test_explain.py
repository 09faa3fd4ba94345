"""Every error of ours ends in a sentence, a code of the protocol and an exit code."""

from pathlib import Path

import pytest

from tests.docs import pages
from tinyssb_node import errors, problems
from tinyssb_node.control.explain import explain
from tinyssb_node.faces.errors import (
    CertificateError,
    FaceSpecError,
    SecretExposedError,
    SecretUnusableError,
)
from tinyssb_node.ids import FeedId
from tinyssb_node.problems import EXITS, ExitCode, ProblemError

FEED = FeedId(bytes(32))


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
        (errors.IdentityExposedError(Path("/h/identity"), 0o644), "failed", ExitCode.PERMISSION),
        (errors.IdentityMissingError(Path("/h/identity")), "failed", ExitCode.MISSING),
        (errors.RecipientCountError(9, 7), "failed", ExitCode.DATA),
        (FaceSpecError("x", "y", "z"), "failed", ExitCode.CONFIG),
        (CertificateError(Path("/c"), "no"), "failed", ExitCode.CONFIG),
        (SecretExposedError(Path("/t")), "failed", ExitCode.PERMISSION),
        (SecretUnusableError(Path("/t"), "is no file"), "failed", ExitCode.CONFIG),
        (problems.UnknownFeedError("No such feed.", "Look."), "unknown_feed", ExitCode.MISSING),
        (errors.LocalError(), "failed", ExitCode.SOFTWARE),
    ],
)
def test_an_error_is_explained(error: errors.LocalError, code: str, exit_code: ExitCode) -> None:
    explanation = explain(error)
    assert (explanation.code, explanation.exit_code) == (code, exit_code)
    assert explanation.message.endswith((".", "identity", "init"))


def test_every_code_is_documented_and_has_an_exit_code() -> None:
    page = pages.read("docs/formats/control.md")
    codes = {kind.code for kind in ProblemError.__subclasses__()} | set(EXITS)
    assert [code for code in sorted(codes) if f"| `{code}` |" not in page] == []
    assert codes <= EXITS.keys()


def test_every_exit_code_is_documented() -> None:
    page = pages.read("docs/reference/cli.md")
    assert [code for code in ExitCode if f"| {code.value} |" not in page] == []
