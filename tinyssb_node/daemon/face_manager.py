"""The configured endpoints, kept open: a failure is logged, and opening is retried."""

import asyncio
from collections.abc import Sequence

from tinyssb_node import limits
from tinyssb_node.control.rows import EndpointRow
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.errors import LocalError, ProblemError
from tinyssb_node.faces.face import Endpoint, FaceSink, Listener
from tinyssb_node.faces.spec import endpoint_name, open_endpoint, parse_spec
from tinyssb_node.faces.ws_spec import WsListenSpec


class UnknownFaceError(ProblemError):
    """A name that no configured face has."""

    def __init__(self, name: str, names: Sequence[str]) -> None:
        super().__init__(
            f"This node has no face called '{name[: limits.FACE_SPEC_MAX]}'. Nothing was restarted.",
            f"It has {', '.join(names)}." if names else "It has none; config.toml lists them.",
            code="unknown_face",
        )


class FaceManager:
    """Keeper of one endpoint for each spec string."""

    def __init__(self, specs: Sequence[str], sink: FaceSink, logger: Logger) -> None:
        self._sink = sink
        self._logger = logger
        self._specs = tuple(specs)
        self._endpoints: dict[str, Endpoint] = {}
        self._failures: dict[str, str] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._group = asyncio.TaskGroup()
        self._is_open = True

    def rows(self) -> list[EndpointRow]:
        """Return a row for each endpoint, with the problem of one that is not open or reaches no peer."""
        return [self._row(spec) for spec in self._specs]

    def _row(self, spec: str) -> EndpointRow:
        endpoint = self._endpoints.get(spec)
        if endpoint is None:
            return EndpointRow(spec=spec, problem=self._failures.get(spec))
        turned_away = endpoint.turned_away if isinstance(endpoint, Listener) else None
        return EndpointRow(spec=spec, problem=endpoint.problem, turned_away=turned_away)

    async def run(self) -> None:
        """Keep all endpoints open until cancelled."""
        async with self._group as group:
            for spec in self._specs:
                self._warn(spec)
                self._tasks[spec] = group.create_task(self._keep_open(spec))
            try:
                # A group whose last task is being restarted must not end.
                await asyncio.Event().wait()
            finally:
                self._is_open = False

    async def restart(self, name: str) -> str:
        """Close the endpoint called *name*, and open it again at once. Returns its spec. Raises UnknownFaceError."""
        names = {endpoint_name(parse_spec(spec)): spec for spec in self._tasks}
        spec = names.get(name)
        if spec is None:
            raise UnknownFaceError(name, [*names])
        closing = self._tasks[spec]
        closing.cancel()
        await asyncio.wait([closing])
        # Another caller may have opened it in the meantime, or the daemon may be about to end.
        if self._tasks[spec] is closing and self._is_open:
            self._endpoints.pop(spec, None)
            self._tasks[spec] = self._group.create_task(self._keep_open(spec))
            self._logger.info("restarted a face", spec=spec)
        return spec

    def _warn(self, spec: str) -> None:
        parsed = parse_spec(spec)
        if isinstance(parsed, WsListenSpec) and (warning := parsed.guard.warning(parsed.host)) is not None:
            self._logger.warning(
                warning,
                spec=spec,
                advice="phones need this: confirm it with open=on. For your own nodes use token=, cert= and key=",
            )

    async def _keep_open(self, spec: str) -> None:
        while True:
            # An interface may be plugged in later, or a port become free. No failure may stop the other endpoints.
            endpoint = self._endpoints[spec] = open_endpoint(spec)
            try:
                await endpoint.run(self._sink)
            except LocalError as error:
                if self._failures.get(spec) != str(error):
                    self._logger.warning("a face cannot be opened", spec=spec, error=str(error))
                self._failures[spec] = str(error)
            del self._endpoints[spec]
            await asyncio.sleep(limits.RETRY_US / 1e6)
