"""Faults in what the user asked of a face."""

from tinyssb_node.errors import LocalError


class FaceSpecError(LocalError):
    """A spec string that says nothing we can open."""

    def __init__(self, spec: str, what: str, allowed: str) -> None:
        super().__init__(f"The face '{spec}' cannot be opened: {what}. Possible: {allowed}")
        self.spec = spec
        """The string as given."""
        self.what = what
        """What is wrong with it."""
        self.allowed = allowed
        """What could stand there instead."""


class FaceOpenError(LocalError):
    """This machine refuses what the spec string asks for; trying again would not help."""

    def __init__(self, spec: str, what: str, remedy: str) -> None:
        super().__init__(f"The face '{spec}' cannot be opened: {what}. {remedy}")
        self.spec = spec
        """The string as given."""
        self.what = what
        """What was refused."""
        self.remedy = remedy
        """What to do next."""
