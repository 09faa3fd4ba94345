"""The configured faces, kept open: what cannot be opened is said, and tried again."""

import asyncio
from collections.abc import Sequence

from tinyssb_node import limits
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.daemon.rows import EndpointRow
from tinyssb_node.errors import LocalError
from tinyssb_node.faces.face import FaceSink
from tinyssb_node.faces.spec import open_endpoint


class Links:
    """One endpoint per spec string."""

    def __init__(self, specs: Sequence[str], sink: FaceSink, logger: Logger) -> None:
        self._sink = sink
        self._logger = logger
        self._problems: dict[str, str | None] = dict.fromkeys(specs)

    def rows(self) -> list[EndpointRow]:
        """Which there are, and why those that are not open are not."""
        return [{"spec": spec, "problem": problem} for spec, problem in self._problems.items()]

    async def run(self) -> None:
        """Keep all of them open until cancelled."""
        async with asyncio.TaskGroup() as group:
            for spec in self._problems:
                group.create_task(self._keep_open(spec))

    async def _keep_open(self, spec: str) -> None:
        while True:
            # An interface may be plugged in later, a port become free: one face that fails must not stop the others.
            try:
                await open_endpoint(spec).run(self._sink)
            except LocalError as error:
                if self._problems[spec] != str(error):
                    self._logger.warning("a face cannot be opened", spec=spec, error=str(error))
                self._problems[spec] = str(error)
            await asyncio.sleep(limits.RETRY_US / 1e6)
