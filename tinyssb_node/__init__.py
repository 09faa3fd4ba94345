"""tinySSB node: signed append-only feeds, gossiped over thin air."""

from functools import cache


@cache
def version() -> str:
    """Return the version that is installed; ``0+unknown`` for source that was copied, not installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - `tinyssb --help` has no time for it

    try:
        return version("tinyssb-node")
    except PackageNotFoundError:
        return "0+unknown"
