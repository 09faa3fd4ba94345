"""Figures that measurements yield."""

from dataclasses import dataclass


def digits(value: float) -> str:
    """*value* to three digits: more would claim a precision that no run repeats."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, and whether it is good enough."""

    name: str
    """The measured quantity, in words for a table."""
    value: float
    """How much."""
    unit: str
    """Of what: ``entries/s``, ``ms``, ``%``, ``×``."""
    target: str = ""
    """The target, in words: ``at least 60 %``. Empty: none."""
    ok: bool = True
    """True if it was reached."""

    @property
    def measured(self) -> str:
        """The value with its unit."""
        return f"{digits(self.value)} {self.unit}".rstrip()

    @property
    def verdict(self) -> str:
        """For the last column of a table."""
        if not self.target:
            return "–"
        return "yes" if self.ok else "**no**"


@dataclass(frozen=True, slots=True)
class Findings:
    """Figures that want more than a table of figures around them."""

    figures: list[Figure]
    body: str
    """The text to write down, Markdown."""
    heading: str = ""
    """Of the section to write; empty: the measurement's name."""
