"""Scenario files: TOML to options, and line numbers for errors (docs/reference/sim.md)."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from tinyssb_node.errors import ScenarioFileError, SimulationOptionError
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.options import SimulationOptions

T = TypeVar("T")
_HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.\-]+)\s*\]")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\-]+)\s*=")
_KIND = "kind"
_NAMES: Mapping[object, str] = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def read_scenario(path: Path) -> SimulationOptions:
    """Read a scenario file. Raises ScenarioFileError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ScenarioFileError(path, None, "", f"the system says: {error.strerror}") from error
    if len(data) > sim_limits.FILE_MAX:
        raise ScenarioFileError(path, None, "", f"it is longer than {sim_limits.FILE_MAX} bytes")
    try:
        return parse_scenario(data.decode(), path)
    except UnicodeDecodeError as error:
        raise ScenarioFileError(path, None, "", f"it is not UTF-8 text ({error.reason})") from error


def parse_scenario(text: str, path: Path) -> SimulationOptions:
    """Parse *text*, which came from *path*, to options. Raises ScenarioFileError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ScenarioFileError(
            path, int(line[1]) if line else None, "", f"it is not TOML ({error})"
        ) from error
    try:
        return replace(_record(SimulationOptions, document, ""), scenario=str(path))
    except SimulationOptionError as error:
        raise ScenarioFileError(path, line_of(text, error.key), error.key, error.reason) from error


def line_of(text: str, key: str) -> int | None:
    """Return the line, from 1, of *key*, such as ``faults[2].at_s``, or of the table it is missing from; None if
    neither is there. Keys are looked for at the beginning of a line."""
    places = _places(text)
    while key:
        if key in places:
            return places[key]
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return None


def _places(text: str) -> dict[str, int]:
    """Return the line of each key and each table."""
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = header[2]
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = f"{table}[{counts[table]}]"
            found.setdefault(table, number)
            table += "."
        elif key := _KEY.match(line):
            found.setdefault(table + key[1], number)
    return found


def _record(cls: type[T], table: object, place: str) -> T:
    """Make a *cls* of a table of the document. Raises SimulationOptionError with the key's whole name."""
    if not isinstance(table, dict):
        raise SimulationOptionError(place, "it takes a table of keys and values")
    hints = get_type_hints(cls)
    known: dict[str, Field[Any]] = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]  # checked
    known.pop("scenario", None)
    for key in table:
        if key not in known and key != _KIND:
            raise SimulationOptionError(_join(place, key), _unknown(key, known))
    for key, field in known.items():
        if key not in table and field.default is MISSING and field.default_factory is MISSING:
            raise SimulationOptionError(_join(place, key), "it is missing")
    values = {key: _value(hints[key], table[key], _join(place, key)) for key in known if key in table}
    try:
        return cls(**values)
    except SimulationOptionError as error:
        raise SimulationOptionError(_join(place, error.key), error.reason) from error


def _unknown(key: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return "there is no such key; " + (
        f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
    )


def _value(hint: object, value: object, place: str) -> object:
    """Convert a value of the document to the type of a field. Raises SimulationOptionError."""
    choices = [choice for choice in _choices(hint) if choice is not NoneType]
    if len(choices) > 1:
        return _one_of(choices, value, place)
    (hint,) = choices
    if get_origin(hint) is tuple:
        return _items(get_args(hint), value, place)
    if isinstance(hint, type) and is_dataclass(hint):
        return _one_of([hint], value, place) if hasattr(hint, "KIND") else _record(hint, value, place)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        if value in [member.value for member in hint]:
            return hint(value)
        raise SimulationOptionError(place, f"it takes one of {', '.join(hint)}")
    assert isinstance(hint, type)
    return _plain(hint, value, place)


def _choices(hint: object) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)


def _plain(hint: type, value: object, place: str) -> object:
    if hint is float and type(value) is int:
        try:
            return float(value)
        except OverflowError as error:
            raise SimulationOptionError(place, "it takes a number of fewer digits") from error
    if type(value) is not hint:
        raise SimulationOptionError(place, f"it takes {_NAMES[hint]}")
    return value


def _items(hints: tuple[Any, ...], value: object, place: str) -> tuple[object, ...]:
    """Convert a list: of any length where the type is ``tuple[X, ...]``, else with a value for each item."""
    if not isinstance(value, list):
        raise SimulationOptionError(place, "it takes a list")
    if hints[-1] is Ellipsis:
        return tuple(_value(hints[0], item, f"{place}[{number}]") for number, item in enumerate(value))
    if len(value) != len(hints):
        raise SimulationOptionError(place, f"it takes {len(hints)} values")
    return tuple(_value(hint, item, place) for hint, item in zip(hints, value, strict=True))


def _one_of(choices: list[Any], value: object, place: str) -> object:
    """Convert a table to a record of the kind that it names."""
    kinds = {choice.KIND: choice for choice in choices}
    if not isinstance(value, dict):
        raise SimulationOptionError(place, "it takes a table of keys and values")
    kind = value.get(_KIND)
    if not isinstance(kind, str) or kind not in kinds:
        raise SimulationOptionError(_join(place, _KIND), f"it takes one of {', '.join(kinds)}")
    return _record(kinds[kind], value, place)


def _join(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key
