"""What a measurement yields."""

from dataclasses import dataclass


def digits(value: float) -> str:
    """*value* to three digits: more would claim a precision that no run repeats."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, and whether it is good enough."""

    name: str
    """What was measured, in words for a table."""
    value: float
    """How much."""
    unit: str
    """Of what: ``entries/s``, ``ms``, ``%``, ``×``."""
    target: str = ""
    """What must be reached, in words: ``at least 60 %``. Empty: nothing in particular."""
    ok: bool = True
    """Whether it was reached."""

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
    """What to write down, Markdown."""
    heading: str = ""
    """Of the section to write; empty: the measurement's name."""
