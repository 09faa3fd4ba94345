"""Table ``[remote]`` of config.toml."""

from typing import Final

from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.config_table import SubjectTable


class RemoteConfig(SubjectTable, frozen=True, kw_only=True):
    """Settings of ``[remote]``: whether commands are obeyed at all. `tinyssb remote allow` says whose."""

    radio: bool = False
    """True if they may change settings of radios, within the law."""


TABLE: Final = RemoteConfig


def remote_config(config: Config) -> RemoteConfig:
    """Return the settings of remote commands in *config*; the defaults if there is no table for it."""
    found = config.optional.get("remote")
    assert found is None or isinstance(found, RemoteConfig)
    return RemoteConfig() if found is None else found
