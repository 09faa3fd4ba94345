"""Table ``[remote]`` of config.toml."""

from typing import Final

from tinyssb_node.daemon.config_table import SubjectTable


class RemoteConfig(SubjectTable, frozen=True, kw_only=True):
    """Settings of ``[remote]``: whether commands are obeyed at all. `tinyssb remote allow` says whose."""


TABLE: Final = RemoteConfig
