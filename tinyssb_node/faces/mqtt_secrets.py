"""Credentials for a broker: certificates, and the password, from a file of ours alone or from systemd, never from a
spec string."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tinyssb_node.faces import limits
from tinyssb_node.faces.errors import SecretUnusableError
from tinyssb_node.faces.mqtt_spec import MqttSpec
from tinyssb_node.faces.secretfiles import read_secret

if TYPE_CHECKING:
    import ssl

_CREDENTIALS: Final = "CREDENTIALS_DIRECTORY"


def read_password(spec: MqttSpec, environ: Mapping[str, str]) -> str | None:
    """Return the password that *spec* refers to; None if it refers to none.

    Raises SecretExposedError, SecretUnusableError, neither of which shows it.
    """
    if spec.credential is not None:
        file, raw = _handed_in(spec.credential, environ)
    elif spec.password is not None:
        file = Path(spec.password)
        try:
            raw = read_secret(file, limits.MQTT_PASSWORD_MAX)
        except FileNotFoundError:
            raise SecretUnusableError(file, "is not there") from None
    else:
        return None
    return _password_of(file, raw)


def make_tls(spec: MqttSpec) -> "ssl.SSLContext | None":
    """Return the TLS settings for the broker; None for no TLS. Raises the errors of ``client_context``."""
    if not spec.tls:
        return None
    from tinyssb_node.faces.tls import client_context  # noqa: PLC0415 - for those who were told to use TLS

    ca, cert, key = (path and Path(path) for path in (spec.ca, spec.cert, spec.key))
    return client_context(authorities=ca or None, certificate=cert or None, key=key or None)


def _handed_in(name: str, environ: Mapping[str, str]) -> tuple[Path, bytes]:
    """Return the credential that systemd provides under *name*. systemd takes care of its access rights."""
    file = Path(environ.get(_CREDENTIALS) or f"${_CREDENTIALS}") / name
    try:
        with file.open("rb") as opened:
            return file, opened.read(limits.MQTT_PASSWORD_MAX + 1)
    except OSError as error:
        reason = f"cannot be read ({error.strerror}): the service needs LoadCredential={name}:/path"
        raise SecretUnusableError(file, reason) from error


def _password_of(file: Path, raw: bytes) -> str:
    if len(raw) > limits.MQTT_PASSWORD_MAX:
        raise SecretUnusableError(file, f"has more than {limits.MQTT_PASSWORD_MAX} bytes")
    try:
        password = raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        # Without its cause, which quotes the password.
        raise SecretUnusableError(file, "is no UTF-8") from None
    if not password or "\n" in password:
        raise SecretUnusableError(file, "has no password as its only line")
    return password
