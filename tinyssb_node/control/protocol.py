"""Lines of the control protocol: docs/formats/control.md is the contract. Used by both ends."""

import json
from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType

from tinyssb_node import limits
from tinyssb_node.errors import BadRequestError, ProtocolVersionError


class RequestLine(msgspec.Struct, frozen=True):
    """A line from a client."""

    id: int | str
    """Chosen by the client; comes back in every reply."""
    command: str
    arguments: Mapping[str, object]


class ErrorReply(msgspec.Struct, frozen=True):
    """Reply to a request that failed."""

    code: str
    message: str
    hint: str


class ReplyLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line from the daemon; exactly one of the last three is there."""

    v: int = limits.CONTROL_VERSION
    id: int | str | None = None
    result: object = UNSET
    item: object = UNSET
    error: ErrorReply | UnsetType = UNSET


def serialize_request(request: RequestLine) -> bytes:
    """A request line, line feed included."""
    return _line(
        {
            "v": limits.CONTROL_VERSION,
            "id": request.id,
            "command": request.command,
            "arguments": request.arguments,
        }
    )


def parse_request(line: bytes) -> RequestLine:
    """Read a request line. Raises BadRequestError, ProtocolVersionError."""
    value = _parse_object(line)
    if value.get("v") != limits.CONTROL_VERSION:
        raise ProtocolVersionError(
            f"This daemon speaks version {limits.CONTROL_VERSION} of the control protocol, not {value.get('v')!r}.",
            "Use the `tinyssb` command that came with the daemon, or restart the daemon after an upgrade.",
        )
    id_, command, arguments = value.get("id"), value.get("command"), value.get("arguments", {})
    if isinstance(id_, bool) or not isinstance(id_, int | str) or len(str(id_)) > limits.CONTROL_ID_MAX:
        raise bad_request(f"`id` takes a number or up to {limits.CONTROL_ID_MAX} characters")
    if not isinstance(command, str):
        raise bad_request("`command` takes text")
    if not isinstance(arguments, dict):
        raise bad_request("`arguments` takes an object")
    return RequestLine(id_, command, arguments)


def serialize_reply(reply: ReplyLine) -> bytes:
    """A reply line, line feed included."""
    return _line(reply)


def parse_reply(line: bytes) -> ReplyLine:
    """Read a reply line. Raises BadRequestError, ProtocolVersionError."""
    value = _parse_object(line)
    if value.get("v") != limits.CONTROL_VERSION:
        raise ProtocolVersionError(
            f"The daemon speaks control protocol {value.get('v')!r}, this program {limits.CONTROL_VERSION}.",
            "Restart the daemon after an upgrade, or use the program that came with it.",
        )
    if sum(key in value for key in ("result", "item", "error")) != 1:
        raise bad_request("a reply has one of `result`, `item` and `error`")
    try:
        return msgspec.convert(value, ReplyLine)
    except msgspec.ValidationError as error:
        raise bad_request(str(error)) from None


def bad_request(rule: str) -> BadRequestError:
    """The error for a line that breaks *rule*."""
    return BadRequestError(
        f"This is not a line of the control protocol: {rule}.", "docs/formats/control.md describes it."
    )


def _line(value: object) -> bytes:
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=msgspec.to_builtins)
    return text.encode() + b"\n"


def _parse_object(line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        # ValueError covers JSON's own error, wrong UTF-8 and integers of too many digits.
        raise bad_request("it is not JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise bad_request("it is no object")
    return value
