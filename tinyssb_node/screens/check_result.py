"""The result of a check of `doctor`, which optional subjects make, too."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check."""

    check: str
    """The thing that was checked."""
    ok: bool
    """True if no problem was found."""
    found: str
    """The finding."""
    advice: str = ""
    """The next step; empty if there is none."""
    about: str = ""
    """The face, network, limit or process in question, if the check looks at several. With `check` it names a problem
    for as long as that lasts, while numbers in `found` change."""
