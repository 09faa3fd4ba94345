"""Chance that a test decides."""


class Chance:
    """Says what it is told, until told otherwise."""

    def __init__(self, value: float = 0.5) -> None:
        self.value = value

    def random(self) -> float:
        return self.value
