"""Descriptions of messages for search and screens, unescaped: screens escape them.

The work for a description is bounded by the size of the value.
"""

import json
import math
from collections.abc import Iterator
from typing import Final

from tinyssb_node.codec import bipf
from tinyssb_node.content.chat import (
    Alias,
    BoardStep,
    ChatPost,
    Message,
    Opaque,
    Text,
    to_value,
)
from tinyssb_node.content.damaged import read_damaged
from tinyssb_node.content.padded import decode
from tinyssb_node.content.short_text import ShortText


def place_and_text(text: str) -> tuple[str | None, str]:
    """Return the plus code in front of a text that gives its location, as the app writes it, if there is one, and the
    text after it."""
    head, bar, rest = text.partition("|")
    if not head.startswith(_PLACE_START) or not bar:
        return None, text
    return head[len(_PLACE_START) :], rest


_PLACE_START: Final = "pfx:loc/plus,"


def describe(message: Message, most: int) -> tuple[str, bool]:
    """Return *message* as text of at most *most* characters, unescaped, and whether it was cut.

    Texts and aliases are unchanged. Other messages are the BIPF value as JSON, ids and bytes in hexadecimal; where
    there is no value, plain text, or hexadecimal digits. Of a damaged message the items before the damage.
    """
    if isinstance(message, ChatPost | Text | ShortText):
        text = message.text or ""
        return text[:most], len(text) > most
    if isinstance(message, Alias):
        return message.name[:most], len(message.name) > most
    if not isinstance(message, Opaque):
        return describe_value(_readable(message), most)
    value = decode(message.content)
    if value is not None:
        return describe_value(value, most)
    damaged = read_damaged(message.content)
    if damaged is None:
        return _describe_bytes(message.content, most)
    text, _cut = describe_value(damaged.items, most)
    text = f"damaged ({damaged.damage}): {text}"
    return text[:most], len(text) > most


def _readable(message: Message) -> bipf.Value:
    """Return the value of *message* with ids as bytes, which `describe_value` shows as it shows all ids."""
    if isinstance(message, BoardStep):
        return [message.operation, *message.args]
    return to_value(message)


def _describe_bytes(content: bytes, most: int) -> tuple[str, bool]:
    """Return bytes that are not BIPF: as text if all of it is printable, else in hexadecimal digits."""
    try:
        text = content.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        text = ""
    if not text or not all(char.isprintable() or char in "\n\r\t" for char in text[: most + 1]):
        text = content[: most + 1].hex()
    return text[:most], len(text) > most


def describe_value(value: bipf.Value, most: int) -> tuple[str, bool]:
    """Return *value* as JSON of at most *most* characters, and whether it was cut; a large value costs no more than
    *most*.

    Bytes are ``{"hex": …}``; numbers that JSON does not have, and keys, are texts.
    """
    parts: list[str] = []
    room = most + 1
    for part in _pieces(value, most):
        parts.append(part[:room])
        room -= len(parts[-1])
        if room == 0:
            break
    text = "".join(parts)
    return text[:most], len(text) > most


def _pieces(value: bipf.Value, most: int) -> Iterator[str]:
    """Yield JSON piece by piece, each not much longer than *most*."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield ", " if number else "["
            yield from _pieces(item, most)
        yield "]" if value else "[]"
    elif isinstance(value, dict):
        for number, (key, item) in enumerate(value.items()):
            yield ", " if number else "{"
            yield _scalar(key if isinstance(key, str) else _scalar(key, most), most) + ": "
            yield from _pieces(item, most)
        yield "}" if value else "{}"
    else:
        yield _scalar(value, most)


def _scalar(value: bipf.Scalar, most: int) -> str:
    if isinstance(value, bytes):
        return f'{{"hex": "{value[: most + 1].hex()}"}}'
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(str(value))
    return json.dumps(value[: most + 1] if isinstance(value, str) else value, ensure_ascii=False)
