"""Values of config.toml, checked one by one."""

import difflib
import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from tinyssb_node.errors import ConfigError

Choice = TypeVar("Choice", bound=StrEnum)


class ConfigReader:
    """Hands out a TOML document's values by dotted key and knows which of them nobody asked for.

    What hands out a value raises ConfigError for one that cannot be used, and says what is *allowed*.
    """

    def __init__(self, file: Path, document: dict[str, object]) -> None:
        self._file = file
        self._values = dict(_flatten("", document))
        self._known: set[str] = set()

    def refuse(self, key: str, value: object, allowed: str) -> ConfigError:
        """The error for a *value* at *key*."""
        return ConfigError(self._file, key, value, allowed)

    def value(self, key: str, default: object) -> object:
        """Whatever the file says."""
        self._known.add(key)
        return self._values.get(key, default)

    def text(self, key: str, default: str, allowed: str) -> str:
        """A text."""
        value = self.value(key, default)
        if not isinstance(value, str):
            raise self.refuse(key, value, allowed)
        return value

    def texts(self, key: str, default: tuple[str, ...], allowed: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.value(key, list(default))
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.refuse(key, value, allowed)
        return tuple(value)

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self.value(key, default)
        if not isinstance(value, bool):
            raise self.refuse(key, value, "it takes true or false")
        return value

    def number(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number from *low* to *high*."""
        value = self.value(key, default)
        # bool is an int to Python, not to TOML.
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.refuse(key, value, f"it takes a whole number from {low} to {high}")
        return value

    def degrees(self, key: str, most: int) -> float | None:
        """Degrees up to *most* on either side of zero; None where nothing is said."""
        value = self.value(key, None)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or not -most <= value <= most:
            raise self.refuse(key, value, f"it takes degrees, -{most} to {most}")
        return float(value)

    def choice(self, key: str, default: Choice) -> Choice:
        """One of the words of *default*'s kind."""
        value = self.value(key, default.value)
        for member in type(default):
            if member.value == value:
                return member
        allowed = ", ".join(f'"{member.value}"' for member in type(default))
        raise self.refuse(key, value, f"it takes one of {allowed}")

    def address(self, key: str, default: str, port: int) -> tuple[str, int] | None:
        """An address and a port, such as *port*; None where nothing is said, and nothing is the default."""
        allowed = f'it takes an address and a port, such as "127.0.0.1:{port}" or "0.0.0.0:{port}"'
        text = self.text(key, default, allowed)
        found = split_address(text)
        if found is None and (text or default):
            raise self.refuse(key, text, allowed)
        return found

    def has(self, key: str) -> bool:
        """True if the file says something at *key*."""
        return key in self._values

    def know(self, keys: Iterable[str]) -> None:
        """These are keys, though nobody may ask for them."""
        self._known.update(keys)

    def tables(self, key: str) -> list[str]:
        """The names in the table *key*, in the file's order."""
        if self._values.get(key) == {}:
            self._known.add(key)
        found = [name.removeprefix(f"{key}.") for name in self._values if name.startswith(f"{key}.")]
        return list(dict.fromkeys(name.rpartition(".")[0] or name for name in found))

    def finish(self) -> None:
        """Raise ConfigError for a key that was never asked for."""
        for key, value in self._values.items():
            if key in self._known:
                continue
            near = difflib.get_close_matches(key, self._known, n=1)
            allowed = (
                f"there is no such key; did you mean {near[0]}?"
                if near
                else "there is no such key; there are " + ", ".join(sorted(self._known))
            )
            raise self.refuse(key, value, allowed.rstrip("."))


def split_address(text: str) -> tuple[str, int] | None:
    """Address and port out of `127.0.0.1:8780`, `[::1]:8780` or `localhost:8780`; None if it is none. Port 0: any."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        return None
    known = (
        bool(colon) and re.fullmatch(r"[A-Za-z0-9.:_%-]{1,253}", host) and re.fullmatch(r"[0-9]{1,5}", port)
    )
    return (host, int(port)) if known and int(port) < 65_536 else None


def _flatten(prefix: str, table: dict[str, object]) -> list[tuple[str, object]]:
    flat: list[tuple[str, object]] = []
    for key, value in table.items():
        if isinstance(value, dict) and value:
            flat.extend(_flatten(f"{prefix}{key}.", value))
        else:
            flat.append((f"{prefix}{key}", value))
    return flat
