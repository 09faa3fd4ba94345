"""Passwords for brokers: from where they may come, and what is said of those that may not."""

from pathlib import Path

import pytest

from tests.faces.spec_writer import serialize_spec
from tinyssb_node.faces import limits
from tinyssb_node.faces.errors import SecretExposedError, SecretUnusableError
from tinyssb_node.faces.mqtt_secrets import read_password
from tinyssb_node.faces.mqtt_spec import MqttSpec

SECRET = "open sesame"


def spec(**given) -> MqttSpec:
    return MqttSpec(host="localhost", port=8883, **given)


def password_in(file: Path, text: bytes = SECRET.encode(), mode: int = 0o600) -> MqttSpec:
    file.write_bytes(text)
    file.chmod(mode)
    return spec(user="ana", password=str(file))


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_password_is_the_line_in_its_file(tmp_path: Path, end: str) -> None:
    assert read_password(password_in(tmp_path / "p", (SECRET + end).encode()), {}) == SECRET


def test_or_what_systemd_hands_in(tmp_path: Path) -> None:
    # systemd lets the service's user read it by an access list, which looks like rights of the group.
    password_in(tmp_path / "mqtt.password", mode=0o440)
    given = spec(user="ana", credential="mqtt.password")
    assert read_password(given, {"CREDENTIALS_DIRECTORY": str(tmp_path)}) == SECRET
    with pytest.raises(SecretUnusableError, match=r"the service needs LoadCredential=mqtt\.password:/path"):
        read_password(given, {})


def test_whoever_needs_none_has_none() -> None:
    assert read_password(spec(), {}) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o602, 0o610])
def test_a_password_that_others_can_read_is_not_used(tmp_path: Path, mode: int) -> None:
    with pytest.raises(SecretExposedError, match=r"It was not used\. Type: chmod 600 /") as caught:
        read_password(password_in(tmp_path / "p", mode=mode), {})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"", "has no password as its only line"),
        (b"\n", "has no password as its only line"),
        (SECRET.encode() + b"\nand more\n", "has no password as its only line"),
        (SECRET.encode() + b"\xff", "is no UTF-8"),
        (SECRET.encode() * limits.MQTT_PASSWORD_MAX, "has more than 1024 bytes"),
    ],
)
def test_nothing_shows_a_password(tmp_path: Path, text: bytes, what: str) -> None:
    given = password_in(tmp_path / "p", text)
    with pytest.raises(SecretUnusableError, match=what) as caught:
        read_password(given, {})
    assert caught.value.__cause__ is None
    assert SECRET not in f"{caught.value} {given} {serialize_spec(given)}"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SecretUnusableError, match=f"{tmp_path}/p is not there"):
        read_password(spec(user="ana", password=f"{tmp_path}/p"), {})
