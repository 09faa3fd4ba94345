"""Radio settings that were confirmed, `faces.json` (docs/formats/face-settings.md)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.store.durable import in_the_place_of
from tinyssb_node.store.home import Home

_VERSION: Final = 1
_FILE_MAX: Final = 1 << 20
"""Most bytes: some faces, with a few short settings each."""

FaceSettings = Mapping[str, Mapping[str, str]]
"""By the spec string in config.toml, what is changed in it."""


class _Row(msgspec.Struct, frozen=True):
    spec: str
    settings: dict[str, str]


class _File(msgspec.Struct, frozen=True):
    v: int
    faces: list[_Row]


class FaceSettingsError(ProblemError):
    """The file cannot be written."""

    exit_code = ExitCode.STORAGE


def settings_path(home: Home) -> Path:
    """Return where the file is."""
    return home.root / "faces.json"


def parse_settings(data: bytes) -> dict[str, dict[str, str]]:
    """Return confirmed settings; none if the file is malformed or of another version: config.toml holds then."""
    try:
        file = msgspec.json.decode(data, type=_File)
    except msgspec.MsgspecError:
        return {}
    return {row.spec: row.settings for row in file.faces} if file.v == _VERSION else {}


def serialize_settings(settings: FaceSettings) -> bytes:
    """Return the file for *settings*."""
    rows = [_Row(spec, {**changes}) for spec, changes in settings.items()]
    return msgspec.json.encode(_File(_VERSION, rows)) + b"\n"


def read_settings(home: Home) -> dict[str, dict[str, str]]:
    """Return the confirmed settings of the node in *home*; none if there is no file that can be read."""
    try:
        with settings_path(home).open("rb") as file:
            return parse_settings(file.read(_FILE_MAX))
    except OSError:
        return {}


def write_settings(home: Home, settings: FaceSettings) -> None:
    """Replace the file, durably. Raises FaceSettingsError."""
    try:
        with in_the_place_of(settings_path(home)) as file:
            file.write(serialize_settings(settings))
    except OSError as error:
        raise FaceSettingsError(
            f"{settings_path(home)} cannot be written: {error.strerror}. The settings are not confirmed.",
            "Make room on the disk, and confirm them again before they go back.",
        ) from error
