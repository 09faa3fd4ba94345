"""Errors of the page: one class for each cause that a caller tells apart."""

from tinyssb_node.errors import ProblemError


class PageStartError(ProblemError):
    """A page that cannot be served: an address, a port or a library is not to be had."""


class TokenError(ProblemError):
    """A token that is missing, malformed, readable by others, or cannot be stored."""


class RequestTooLargeError(ProblemError):
    """A request body that is too long."""

    code = "too_long"


class PageNotFoundError(ProblemError):
    """A request for something that does not exist here."""

    code = "unknown_entry"


class CostlyMessageError(ProblemError):
    """A message that takes so many packets that its author should agree first."""

    code = "costly"
