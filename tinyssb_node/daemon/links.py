"""The configured faces, kept open: what cannot be opened is said, and tried again."""

import asyncio
from collections.abc import Sequence

from tinyssb_node import limits
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.daemon.rows import EndpointRow
from tinyssb_node.errors import LocalError
from tinyssb_node.faces.face import Endpoint, FaceSink
from tinyssb_node.faces.spec import open_endpoint


class Links:
    """One endpoint per spec string."""

    def __init__(self, specs: Sequence[str], sink: FaceSink, logger: Logger) -> None:
        self._sink = sink
        self._logger = logger
        self._specs = tuple(specs)
        self._endpoints: dict[str, Endpoint] = {}
        self._failures: dict[str, str] = {}

    def rows(self) -> list[EndpointRow]:
        """Which there are, and why those that are not open, or reach nobody, do not."""
        return [{"spec": spec, "problem": self._problem(spec)} for spec in self._specs]

    def _problem(self, spec: str) -> str | None:
        endpoint = self._endpoints.get(spec)
        return self._failures.get(spec) if endpoint is None else endpoint.problem

    async def run(self) -> None:
        """Keep all of them open until cancelled."""
        async with asyncio.TaskGroup() as group:
            for spec in self._specs:
                group.create_task(self._keep_open(spec))

    async def _keep_open(self, spec: str) -> None:
        while True:
            # An interface may be plugged in later, a port become free: one face that fails must not stop the others.
            endpoint = self._endpoints[spec] = open_endpoint(spec)
            try:
                await endpoint.run(self._sink)
            except LocalError as error:
                if self._failures.get(spec) != str(error):
                    self._logger.warning("a face cannot be opened", spec=spec, error=str(error))
                self._failures[spec] = str(error)
            del self._endpoints[spec]
            await asyncio.sleep(limits.RETRY_US / 1e6)
