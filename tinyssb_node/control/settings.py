"""The one setting that a client needs: the path of the control socket (docs/reference/config.md)."""

import tomllib
from pathlib import Path

from tinyssb_node import limits
from tinyssb_node.errors import ConfigError
from tinyssb_node.store.home import CONTROL_SOCKET, Home

SOCKET_RULE = f"it takes a path, which may have up to {limits.UNIX_PATH_MAX} bytes once it is absolute"


def read_settings(home: Home) -> dict[str, object]:
    """Parse *home*'s config.toml; without one there are no settings. Raises ConfigError."""
    try:
        return tomllib.loads(home.config.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(home.config, "", None, f"it is not TOML ({error})") from error
    except OSError as error:
        raise ConfigError(home.config, "", None, f"the system says: {error.strerror}") from error


def read_socket_path(home: Home) -> Path:
    """Return the path of the control socket, as config.toml has it. Other settings are not checked.

    Raises ConfigError.
    """
    table = read_settings(home).get("control")
    return socket_path(
        home, table.get("socket", CONTROL_SOCKET) if isinstance(table, dict) else CONTROL_SOCKET
    )


def socket_path(home: Home, value: object) -> Path:
    """Check *value*, the setting `control.socket`, and return its path. Raises ConfigError."""
    if not isinstance(value, str):
        raise ConfigError(home.config, "control.socket", value, SOCKET_RULE)
    path = home.root / Path(value).expanduser()
    if len(str(path).encode()) > limits.UNIX_PATH_MAX or path == home.root:
        raise ConfigError(home.config, "control.socket", str(path), SOCKET_RULE)
    return path
