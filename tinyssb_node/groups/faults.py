"""Faults of this program in the work for a group: kept to that group, shown, and retried after a pause.

A group is a few people's data. An error in it must end neither the daemon nor the work for other groups (bulkhead).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tinyssb_node.errors import LocalError, StoreFailedError, StoreFullError

_OF_THE_STORE: Final = (StoreFullError, StoreFailedError)
"""Errors of the disk concern the whole node: the daemon handles them."""


class GroupFaultError(LocalError):
    """An error of this program in the work for one group. All else goes on."""

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"an error of this program stopped the work for this group ({_where(error)}); the node tries again within "
            "an hour. Nothing stored is lost. Please report this line"
        )


@contextmanager
def isolated(report: Callable[[LocalError], None]) -> Iterator[None]:
    """Pass an error to *report* and go on: a LocalError as it is, any other one as a GroupFaultError.

    Errors of the disk are raised.
    """
    try:
        yield
    except _OF_THE_STORE:
        raise
    except LocalError as error:
        report(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other groups and the node go on
        report(GroupFaultError(error))


def _where(error: Exception) -> str:
    """Return the class of an error, and the line that raised it; its text may quote what strangers wrote."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return type(error).__name__
    file = frame.tb_frame.f_code.co_filename.rpartition("/")[2]
    return f"{type(error).__name__}, {file}:{frame.tb_lineno}"
