"""The file of confirmed settings."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.daemon.face_settings import (
    FaceSettingsError,
    parse_settings,
    read_settings,
    serialize_settings,
    settings_path,
    write_settings,
)
from tinyssb_node.store.home import Home

TEXTS = st.text(max_size=20)


@given(st.dictionaries(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=4), max_size=4))
def test_what_is_written_is_read(settings: dict[str, dict[str, str]]) -> None:
    assert parse_settings(serialize_settings(settings)) == settings


@pytest.mark.parametrize("damaged", [b"", b"{", b'{"v":2,"faces":[]}', b'{"v":1}', b"\xff" * 9])
def test_a_damaged_file_changes_nothing(tmp_path: Path, damaged: bytes) -> None:
    home = Home(tmp_path)
    assert read_settings(home) == {}
    settings_path(home).write_bytes(damaged)
    assert read_settings(home) == {}


def test_it_is_for_its_owner_and_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write_settings(home, {"lora:x": {"power": "10"}})
    assert settings_path(home).stat().st_mode & 0o777 == 0o600
    assert read_settings(home) == {"lora:x": {"power": "10"}}
    with pytest.raises(FaceSettingsError, match="not confirmed"):
        write_settings(Home(tmp_path / "absent"), {})
