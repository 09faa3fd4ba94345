"""Tables of config.toml as msgspec Structs, and errors that name the key, its value and what is allowed."""

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec

from tinyssb_node.errors import ConfigError
from tinyssb_node.ids import NetworkName

Flaw = tuple[str, object, str]
"""A key of a table, its value, and what is allowed there."""


class ConfigTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of config.toml: its keys, what they may be, and their defaults."""

    def flaw(self, networks: Collection[NetworkName]) -> Flaw | None:  # noqa: ARG002 - the gateway's names some
        """Return the first of the values that do not fit together, or not into a node with these *networks*."""
        return None


class SubjectTable(ConfigTable, frozen=True, kw_only=True):
    """The table of an optional subject."""

    enabled: bool = False
    """True if the daemon starts the subject's process."""


class Address(tuple[str, int]):
    """An address or name, and a port; port 0: any."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Split `127.0.0.1:8780`, `[::1]:8780` or `localhost:8780`. Raises ValueError."""
        host, _, port = text.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise ValueError(text)
        known = re.fullmatch(r"[A-Za-z0-9.:_%-]{1,253}", host) and re.fullmatch(r"[0-9]{1,5}", port)
        if not known or int(port) > 65_535:
            raise ValueError(text)
        return cls((host, int(port)))

    def __str__(self) -> str:
        host, port = self
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def address_rule(port: int) -> str:
    """Describe addresses, with *port* as an example."""
    return f'it takes an address and a port, such as "127.0.0.1:{port}" or "0.0.0.0:{port}"'


Table = TypeVar("Table", bound=ConfigTable)


class TableReader:
    """Decoder of the tables of one config.toml."""

    def __init__(self, file: Path, keys: Callable[[], Iterable[str]]) -> None:
        """*keys* returns all keys of the file with their tables, such as `log.level`, for hints."""
        self._file = file
        self._keys = keys

    def refuse(self, key: str, value: object, allowed: str) -> ConfigError:
        """Return the error for a *value* at *key*."""
        return ConfigError(self._file, key, value, allowed)

    def read(
        self,
        kind: type[Table],
        table: Mapping[str, object],
        prefix: str = "",
        networks: Collection[NetworkName] = (),
    ) -> Table:
        """Decode *table*, whose keys begin with *prefix*. Raises ConfigError."""
        fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
        values: dict[str, Any] = {
            # Paths are relative to the folder of the file, also those of defaults.
            name: self._file.parent / field.default
            for name, field in fields.items()
            if isinstance(field.default, Path)
        }
        for name, value in table.items():
            if (field := fields.get(name)) is None:
                raise self._unknown(prefix + name, value)
            if _is_table(field.type):
                if not isinstance(value, dict):
                    raise self._unknown(prefix + name, value)
                values[name] = self.read(field.type, value, f"{prefix}{name}.")
                continue
            if value == "" and field.default is None and {Path, Address} & {*get_args(field.type)}:
                continue
            try:
                # One by one, so that the error can name the key.
                values[name] = msgspec.convert(value, field.type, dec_hook=self._convert)
            except msgspec.ValidationError:
                raise self.refuse(prefix + name, value, _rule(field.type)) from None
        made = kind(**values)
        if (flaw := made.flaw(networks)) is not None:
            key, value, allowed = flaw
            raise self.refuse(prefix + key, value, allowed)
        return made

    def _convert(self, kind: type, value: object) -> object:
        if not isinstance(value, str):
            raise TypeError
        if kind is Path:
            return self._file.parent / Path(value).expanduser()
        return Address.parse(value)

    def _unknown(self, key: str, value: object) -> ConfigError:
        while isinstance(value, dict) and value:
            name, value = next(iter(value.items()))
            key = f"{key}.{name}"
        keys = sorted(self._keys())
        near = difflib.get_close_matches(key, keys, n=1)
        advice = f"did you mean {near[0]}?" if near else "there are " + ", ".join(keys)
        return self.refuse(key, value, f"there is no such key; {advice}".rstrip("."))


def table_keys(kind: type[ConfigTable], prefix: str = "") -> Iterator[str]:
    """Yield the keys of *kind* and of the tables in it, each behind *prefix*."""
    for field in msgspec.structs.fields(kind):
        if _is_table(field.type):
            yield from table_keys(field.type, f"{prefix}{field.encode_name}.")
        else:
            yield prefix + field.encode_name


def _is_table(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, ConfigTable)


def _rule(kind: object) -> str:
    """Describe the values that a key of type *kind* takes."""
    if get_origin(kind) is Annotated:
        meta = get_args(kind)[1]
        return str(meta.description or f"it takes a whole number from {meta.ge} to {meta.le}")
    if type(None) in get_args(kind):
        return _rule(get_args(kind)[0])
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return "it takes one of " + ", ".join(f'"{member.value}"' for member in kind)
    return (
        "it takes true or false" if kind is bool else "it takes a path" if kind is Path else "it takes text"
    )
