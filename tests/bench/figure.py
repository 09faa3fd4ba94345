"""What a measurement yields."""

from dataclasses import dataclass


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
        """The value with its unit, to three digits: more would claim a precision that no run repeats."""
        digits = f"{self.value:,.0f}" if abs(self.value) >= 100 else f"{self.value:.3g}"
        return f"{digits} {self.unit}"

    @property
    def verdict(self) -> str:
        """For the last column of a table."""
        if not self.target:
            return "–"
        return "yes" if self.ok else "**no**"
