"""Parser of spec strings: address, options, and errors in them."""

import ipaddress
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NoReturn, TypeVar
from urllib.parse import unquote

from tinyssb_node import limits
from tinyssb_node.faces.errors import FaceSpecError

PORT_MAX: Final = 65_535
"""Highest TCP or UDP port."""

_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{limits.FACE_NAME_MAX - 1}}}")
NAME_RULE: Final = (
    f"1 to {limits.FACE_NAME_MAX} letters, digits, '.', '_' or '-', beginning with a letter or digit"
)
"""The form of a face's name, in words."""
_INTERFACE = re.compile(r"[A-Za-z0-9._-]{1,15}")
_HOST = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_PLACE = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*):(?P<port>[0-9]{1,5})")

_Value = TypeVar("_Value")
_Choice = TypeVar("_Choice", bound=StrEnum)


class SpecReader:
    """One spec string while it is parsed."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        address, mark, options = spec.partition("?")
        self._place = address
        self._options: dict[str, str] = {}
        for option in options.split("&") if mark else ():
            key, equals, value = option.partition("=")
            if not equals:
                self.fail(f"'{option}' has no value", "options written as key=value, joined by '&'")
            if key in self._options:
                self.fail(f"'{key}' is given twice", "each option once")
            self._options[key] = unquote(value)

    def fail(self, what: str, allowed: str) -> NoReturn:
        """Raise FaceSpecError."""
        raise FaceSpecError(self.spec, what, allowed)

    def skip(self, prefix: str) -> bool:
        """Return True if the address begins with *prefix*, and remove it."""
        if not self._place.startswith(prefix):
            return False
        self._place = self._place.removeprefix(prefix)
        return True

    def place(self, port_min: int) -> tuple[str, int]:
        """Return the rest of the address: host without brackets, port."""
        match = _PLACE.fullmatch(self._place)
        if match is None:
            self.fail(f"'{self._place}' is no address", "HOST:PORT, an IPv6 address in brackets: [::1]:8080")
        host, port = match["host"], int(match["port"])
        if not port_min <= port <= PORT_MAX:
            self.fail(f"the port is {port}", f"{port_min} to {PORT_MAX}")
        if host.startswith("["):
            host = host[1:-1]
            if not _is_ipv6(host):
                self.fail(f"'{host}' is no IPv6 address", "for example [::1]")
        elif not _HOST.fullmatch(host):
            self.fail(f"'{host}' is no host", "a host name, an IPv4 address, or an IPv6 address in brackets")
        return host, port

    def rest(self, read: Callable[[str], _Value | None], allowed: str) -> _Value:
        """Return the rest of the address, where it is no host and port."""
        value = read(self._place)
        if value is None:
            self.fail(f"'{self._place}' is no address", allowed)
        return value

    def option(self, key: str, default: _Value, read: Callable[[str], _Value | None], allowed: str) -> _Value:
        """Return one option's value. *read* returns None for a text that is not *allowed*."""
        text = self._options.pop(key, None)
        if text is None:
            return default
        value = read(text)
        if value is None:
            self.fail(f"{key} is '{text}'", allowed)
        return value

    def end(self, known: str) -> None:
        """Refuse unknown options."""
        for key in self._options:
            self.fail(f"there is no option '{key}'", known)

    def name(self) -> str | None:
        """Return the option that all faces have."""
        return self.option("name", None, matching(_NAME), NAME_RULE)

    def switch(self, key: str, *, default: bool) -> bool:
        """Return an option that is on or off."""
        return self.option(key, default, {"on": True, "off": False}.get, "on, off")

    def number(self, key: str, default: int, low: int, high: int) -> int:
        """Return an option from *low* to *high*."""

        def read(text: str) -> int | None:
            return int(text) if re.fullmatch(r"[0-9]{1,5}", text) and low <= int(text) <= high else None

        return self.option(key, default, read, f"{low} to {high}")


def matching(pattern: re.Pattern[str]) -> Callable[[str], str | None]:
    """Return a parser that accepts what *pattern* matches as a whole."""
    return lambda text: text if pattern.fullmatch(text) else None


def bracketed(host: str) -> str:
    """Return *host* as it is written before a port."""
    return f"[{host}]" if ":" in host else host


def read_interface(text: str) -> str | None:
    """Parse a network interface: a name or an IPv4 address."""
    if is_ipv4_shaped(text) and not _is_ipv4(text):
        return None
    return text if _INTERFACE.fullmatch(text) else None


def is_ipv4_shaped(interface: str) -> bool:
    """Return True if *interface* is written as an address, not as a name."""
    return interface.count(".") == 3 and interface.replace(".", "").isdigit()


def _is_ipv4(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


def member_of(kind: type[_Choice]) -> Callable[[str], _Choice | None]:
    """Reads the value of a member of *kind*."""
    return lambda text: next((member for member in kind if member.value == text), None)
