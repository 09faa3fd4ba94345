"""Fields of requests: the JSON of a body, counted as it comes, and parameters of an address."""

import json
import re
from base64 import b64decode
from typing import Final

from starlette.requests import Request

from tinyssb_node.content.time_order import read_order_key
from tinyssb_node.errors import BadRequestError
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.web import limits
from tinyssb_node.web.errors import RequestTooLargeError

_NUMBER: Final = re.compile(r"[0-9]{1,16}")
_ONCE: Final = re.compile(r"[0-9a-zA-Z-]{8,64}")


async def body_of(request: Request, most: int = limits.BODY_MAX) -> dict[str, object]:
    """Return the JSON object of the request body, which has at most *most* bytes; they are counted as they arrive,
    whatever length was declared.

    Raises RequestTooLargeError, BadRequestError.
    """
    body = bytearray()
    async for part in request.stream():
        if len(body) + len(part) > most:
            raise RequestTooLargeError(f"The request has more than {most} bytes. Nothing was done.")
        body += part
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequestError("The request is not JSON.") from error
    if not isinstance(found, dict):
        raise BadRequestError("The request is not a JSON object.")
    return found


def text_of(body: dict[str, object], name: str, most: int) -> str:
    """Return a text of the body. Raises BadRequestError."""
    found = body.get(name)
    if not isinstance(found, str):
        raise BadRequestError(f"`{name}` is missing.")
    if len(found) > most:
        raise BadRequestError(f"`{name}` has {len(found)} characters; at most {most} are allowed.")
    return found


def voice_of(body: dict[str, object], most: int) -> bytes:
    """Return the sound in a body: base64, of at most *most* bytes. Raises BadRequestError."""
    try:
        return b64decode(text_of(body, "voice", -(-most // 3) * 4), validate=True)
    except ValueError as error:
        raise BadRequestError("The sound cannot be read.") from error


def feed_of(text: object) -> FeedId:
    """Parse a feed id. Raises BadRequestError."""
    try:
        return FeedId.from_hex(text if isinstance(text, str) else "")
    except ValueError as error:
        raise BadRequestError("A feed id has 64 hexadecimal digits.") from error


def message_id_of(text: object) -> MessageId:
    """Parse the id of a message. Raises BadRequestError."""
    try:
        return MessageId.from_hex(text if isinstance(text, str) else "")
    except ValueError as error:
        raise BadRequestError("A message id has 40 hexadecimal digits.") from error


def once_of(body: dict[str, object]) -> str:
    """Return the page's own id of a request: the same id again is the same request. Raises BadRequestError."""
    once = text_of(body, "once", 64)
    if not _ONCE.fullmatch(once):
        raise BadRequestError("`once` must be 8 to 64 letters, digits and hyphens.")
    return once


def order_of(request: Request) -> str | None:
    """Return the parameter `before`, a position; None if it is missing. Raises BadRequestError."""
    before = request.query_params.get("before")
    if before is not None and read_order_key(before) is None:
        raise BadRequestError("`before` must be the `order` of a message.")
    return before


def number(request: Request, name: str) -> int | None:
    """Return a parameter that is a whole number; None if it is missing. Raises BadRequestError."""
    text = request.query_params.get(name)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise BadRequestError(f"`{name}` must be a whole number.")
    return int(text)
