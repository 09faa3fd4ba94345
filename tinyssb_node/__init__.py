"""tinySSB node: signed append-only feeds, gossiped over thin air.

``__all__`` is the public surface for programs (docs/reference/python.md): these names keep their meaning by semantic
versioning, and all others may change. Each is imported when it is first used, since `tinyssb --help` has no time for
them. Their types are in ``__init__.pyi``.
"""

from functools import cache
from importlib import import_module
from typing import Final

_PUBLIC: Final = {
    "PUBLIC": "catalog.rows",
    "DaemonClient": "control.client",
    "DaemonError": "control.client",
    "DaemonUnreachableError": "control.client",
    "FeedId": "ids",
    "LocalError": "errors",
    "MessageId": "ids",
    "NodeSession": "screens.session",
    "PeerError": "errors",
    "ProblemError": "errors",
    "SqliteStore": "store.sqlite",
    "bipf": "codec",
    "chat": "content",
    "event_folder": "screens.tail",
    "follow_lines": "screens.tail",
    "last_lines": "screens.tail",
}
"""The public names, and the module or package of each."""
_MODULES: Final = frozenset({"bipf", "chat"})
"""Those of them that are modules."""

__all__ = ["version", *_PUBLIC]  # noqa: PLE0604 - names of a constant


def __getattr__(name: str) -> object:
    """Import a public name. Raises AttributeError for any other."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = f"{__name__}.{_PUBLIC[name]}"
    return import_module(f"{place}.{name}") if name in _MODULES else getattr(import_module(place), name)


@cache
def version() -> str:
    """Return the version that is installed; ``0+unknown`` for source that was copied, not installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - `tinyssb --help` has no time for it

    try:
        return version("tinyssb-node")
    except PackageNotFoundError:
        return "0+unknown"
