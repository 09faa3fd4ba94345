"""Lines of the control protocol: docs/formats/control.md is the contract. Used by both ends."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from tinyssb_node import limits
from tinyssb_node.problems import BadRequestError, ProtocolVersionError


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks."""

    id: int | str
    """Chosen by the client; comes back in every reply."""
    command: str
    arguments: Mapping[str, object]


class ErrorReply(TypedDict):
    """What went wrong."""

    code: str
    message: str
    hint: str


class Reply(TypedDict):
    """One line from the daemon; exactly one of the last three is there."""

    v: int
    id: int | str | None
    result: NotRequired[object]
    item: NotRequired[object]
    error: NotRequired[ErrorReply]


def serialize_request(request: Request) -> bytes:
    """A request line, line feed included."""
    return _line(
        {
            "v": limits.CONTROL_VERSION,
            "id": request.id,
            "command": request.command,
            "arguments": request.arguments,
        }
    )


def parse_request(line: bytes) -> Request:
    """Read a request line. Raises BadRequestError, VersionError."""
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
    return Request(id_, command, arguments)


def serialize_reply(reply: Reply) -> bytes:
    """A reply line, line feed included."""
    return _line(reply)


def parse_reply(line: bytes) -> Reply:
    """Read a reply line. Raises BadRequestError, VersionError."""
    value = _parse_object(line)
    if value.get("v") != limits.CONTROL_VERSION:
        raise ProtocolVersionError(
            f"The daemon speaks control protocol {value.get('v')!r}, this program {limits.CONTROL_VERSION}.",
            "Restart the daemon after an upgrade, or use the program that came with it.",
        )
    if sum(key in value for key in ("result", "item", "error")) != 1:
        raise bad_request("a reply has one of `result`, `item` and `error`")
    reply: Reply = {"v": limits.CONTROL_VERSION, "id": None}
    id_, error = value.get("id"), value.get("error")
    if isinstance(id_, int | str):
        reply["id"] = id_
    if "result" in value:
        reply["result"] = value["result"]
    elif "item" in value:
        reply["item"] = value["item"]
    elif isinstance(error, dict) and all(
        isinstance(error.get(key), str) for key in ErrorReply.__annotations__
    ):
        reply["error"] = {"code": error["code"], "message": error["message"], "hint": error["hint"]}
    else:
        raise bad_request("`error` takes an object of `code`, `message` and `hint`")
    return reply


def bad_request(rule: str) -> BadRequestError:
    """The error for a line that breaks *rule*."""
    return BadRequestError(
        f"This is not a line of the control protocol: {rule}.", "docs/formats/control.md describes it."
    )


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _parse_object(line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        # ValueError covers JSON's own error, wrong UTF-8 and integers of too many digits.
        raise bad_request("it is not JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise bad_request("it is no object")
    return value
