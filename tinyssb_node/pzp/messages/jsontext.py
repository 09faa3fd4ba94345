"""JSON in, as strictly as it is signed, and the canonical form of RFC 8785 out."""

import json
import re
from math import isinf
from typing import Final, NoReturn, TypeAlias, cast

import msgspec
import rfc8785

from tinyssb_node.pzp.messages import limits
from tinyssb_node.pzp.messages.errors import MessageError, PzpRule

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A value of JSON. Numbers that are whole and exact in a double are ``int``, all others ``float``."""

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_PLAIN: Final = msgspec.json.Encoder(order="sorted")


def _integer(text: str) -> int | float:
    return int(text) if len(text) < 16 else _double(text)


def _double(text: str) -> int | float:
    number = float(text)
    if isinf(number):
        raise MessageError(PzpRule.NUMBER, "a number", text)
    if number.is_integer() and abs(number) <= limits.INTEGER_MAX:
        return int(number)
    return number


def _constant(text: str) -> NoReturn:
    raise MessageError(PzpRule.NUMBER, "a number", text)


_READER: Final = json.JSONDecoder(parse_int=_integer, parse_float=_double, parse_constant=_constant)


def read(data: bytes | str) -> Json:
    """The value that *data* says; of two values under one key the last one.

    Raises MessageError, of a rule of the text.
    """
    if len(data) > limits.TEXT_MAX:
        raise MessageError(PzpRule.TEXT_SIZE, "the text", len(data), f"at most {limits.TEXT_MAX} bytes")
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MessageError(
            PzpRule.ENCODING, "the text", error.object[error.start : error.start + 4]
        ) from None
    if text.startswith("\ufeff"):
        raise MessageError(PzpRule.ENCODING, "the text", text[:1])
    try:
        value = cast("Json", _READER.decode(text))
    except json.JSONDecodeError as error:
        raise MessageError(
            PzpRule.JSON, "the text", text[error.pos : error.pos + 20], f"{error.msg} at {error.pos}"
        ) from None
    except RecursionError:
        raise MessageError(PzpRule.NESTING, "the text", text[:20], f"{limits.NESTING_MAX} levels") from None
    if text.count("[") + text.count("{") > limits.NESTING_MAX:
        _check_nesting(value)
    if _SURROGATE.search(text) or isinstance(data, str):
        _check_surrogates(value)
    return value


def _check_nesting(value: Json) -> None:
    """Raise MessageError (NESTING); level by level, since a walk into the depth would use the stack that it guards."""
    level: list[Json] = [value]
    for _ in range(limits.NESTING_MAX + 1):
        below: list[Json] = []
        for one in level:
            if isinstance(one, list):
                below.extend(one)
            elif isinstance(one, dict):
                below.extend(one.values())
        if not below:
            return
        level = below
    raise MessageError(PzpRule.NESTING, "the text", "more", f"{limits.NESTING_MAX} levels")


def _check_surrogates(value: Json) -> None:
    try:
        _PLAIN.encode(value)
    except UnicodeEncodeError as error:
        raise MessageError(PzpRule.SURROGATE, "a string", error.object[error.start : error.end]) from None


def canonical(value: Json) -> bytes:
    """The canonical form of *value*: what is hashed and signed.

    Raises MessageError: SURROGATE, and NUMBER for a number that no double holds exactly.
    """
    try:
        return _PLAIN.encode(value) if _is_plain(value) else rfc8785.dumps(value)
    except UnicodeEncodeError as error:
        raise MessageError(PzpRule.SURROGATE, "a string", error.object[error.start : error.end]) from None
    except rfc8785.CanonicalizationError as error:
        if isinstance(error, rfc8785.FloatDomainError | rfc8785.IntegerDomainError):
            raise MessageError(PzpRule.NUMBER, "a number", str(error)) from None
        raise MessageError(PzpRule.SURROGATE, "a string", str(error)) from None


def _is_plain(value: Json) -> bool:
    """Return True if any JSON writer that sorts keys gives canonical form: exact integers, keys in ASCII."""
    found = [value]
    for one in found:  # which grows on the way
        kind = type(one)
        if kind is str or one is None or kind is bool:
            continue
        if isinstance(one, dict):
            if not "".join(one).isascii():
                return False
            found += one.values()
        elif isinstance(one, list):
            found += one
        elif not isinstance(one, int) or not -limits.INTEGER_MAX <= one <= limits.INTEGER_MAX:
            return False
    return True
