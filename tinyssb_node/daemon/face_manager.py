"""The configured endpoints, kept open: a failure is logged, and opening is retried."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum, auto

from tinyssb_node import limits
from tinyssb_node.control.rows import EndpointRow
from tinyssb_node.daemon.face_settings import FaceSettings
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.errors import LocalError, ProblemError
from tinyssb_node.faces.face import Endpoint, FaceSink, Listener
from tinyssb_node.faces.spec import endpoint_name, open_endpoint, parse_spec
from tinyssb_node.faces.tuning import TuningError, merged, tuned_spec
from tinyssb_node.faces.ws_spec import WsListenSpec


class UnknownFaceError(ProblemError):
    """A name that no configured face has."""

    def __init__(self, name: str, names: Sequence[str]) -> None:
        super().__init__(
            f"This node has no face called '{name[: limits.FACE_SPEC_MAX]}'. Nothing was restarted.",
            f"It has {', '.join(names)}." if names else "It has none; config.toml lists them.",
            code="unknown_face",
        )


class _TrialState(Enum):
    SET = auto()
    TRIED = auto()
    OVER = auto()


class _Trial:
    """Settings that go back unless they are confirmed."""

    def __init__(self, changes: Mapping[str, str]) -> None:
        self.changes = changes
        self.state = _TrialState.SET
        self.task: asyncio.Task[None] | None = None


class FaceManager:
    """Keeper of one endpoint for each spec string of config.toml."""

    def __init__(
        self,
        specs: Sequence[str],
        sink: FaceSink,
        logger: Logger,
        *,
        confirmed: FaceSettings | None = None,
        save: Callable[[FaceSettings], None] = lambda _settings: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """*confirmed* are changed settings by spec string, and *save* makes them durable, or raises a LocalError.
        *sleep* waits for seconds while settings are on trial."""
        self._sink = sink
        self._logger = logger
        self._specs = tuple(specs)
        self._save = save
        self._sleep = sleep
        self._confirmed: dict[str, Mapping[str, str]] = {}
        self._current = {spec: spec for spec in specs}
        """The spec that is used, by that in config.toml."""
        self._trials: dict[str, _Trial] = {}
        for spec, settings in (confirmed or {}).items():
            self._take_confirmed(spec, settings)
        self._endpoints: dict[str, Endpoint] = {}
        self._failures: dict[str, str] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._group = asyncio.TaskGroup()
        self._is_open = True

    def _take_confirmed(self, spec: str, settings: Mapping[str, str]) -> None:
        """Use confirmed *settings*, if config.toml still has *spec*, and if they are legal."""
        if spec not in self._current:
            return
        try:
            self._current[spec] = tuned_spec(spec, settings)
            self._confirmed[spec] = settings
        except TuningError as error:
            self._logger.warning("settings that were confirmed are not used", spec=spec, error=error.message)

    def rows(self) -> list[EndpointRow]:
        """Return a row for each endpoint, with the problem of one that is not open or reaches no peer."""
        return [self._row(spec) for spec in self._specs]

    def _row(self, spec: str) -> EndpointRow:
        trial, used = self._trials.get(spec), self._current[spec]
        tried = trial if trial is not None and trial.state is _TrialState.TRIED else None
        changes = {**(self._confirmed.get(spec, {}) if tried is None else tried.changes)}
        is_trial, endpoint = tried is not None, self._endpoints.get(spec)
        if endpoint is None:
            failure = self._failures.get(spec)
            return EndpointRow(spec=used, problem=failure, changes=changes, trial=is_trial)
        return EndpointRow(
            spec=used,
            problem=endpoint.problem,
            turned_away=endpoint.turned_away if isinstance(endpoint, Listener) else None,
            changes=changes,
            trial=is_trial,
        )

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
        spec = self._find(name)
        await self._reopen(spec)
        self._logger.info("restarted a face", spec=self._current[spec])
        return self._current[spec]

    def tune(self, name: str, settings: Mapping[str, str], minutes: int) -> str:
        """Try other *settings* of the radio called *name*, in `limits.TRIAL_DELAY_S` seconds and for so many *minutes*
        unless they are confirmed by then. Returns the spec with them. Raises UnknownFaceError, TuningError."""
        spec = self._find(name)
        if spec in self._trials:
            raise TuningError(
                "other settings are on trial", "Confirm them, or wait until they have gone back."
            )
        changes = merged(self._confirmed.get(spec, {}), settings)
        tuned = tuned_spec(spec, changes)
        trial = _Trial(changes)
        trial.task = self._group.create_task(self._try(spec, tuned, trial, minutes))
        self._trials[spec] = trial
        return tuned

    async def _try(self, spec: str, tuned: str, trial: "_Trial", minutes: int) -> None:
        # Until then the answer to the command that set them can leave.
        await self._sleep(limits.TRIAL_DELAY_S)
        before, self._current[spec] = self._current[spec], tuned
        self._logger.warning("trying other settings of a radio", spec=tuned, minutes=minutes)
        await self._reopen(spec)
        # From here on it may be cancelled: it waits for nothing but time.
        trial.state = _TrialState.TRIED
        await self._sleep(60 * minutes)
        trial.state = _TrialState.OVER
        self._logger.warning("nobody confirmed the settings of a radio: it goes back", spec=before)
        self._current[spec] = before
        await self._reopen(spec)
        del self._trials[spec]

    def confirm(self, name: str) -> str:
        """Keep the settings that are on trial, also when the daemon restarts. Returns the spec with them. Raises
        UnknownFaceError, TuningError if none are, and what the function that saves them does."""
        spec = self._find(name)
        trial = self._trials.get(spec)
        if trial is None or trial.state is not _TrialState.TRIED or trial.task is None:
            raise TuningError(
                "no settings are on trial", "They are tried first, half a minute after they were set."
            )
        confirmed = self._confirmed | {spec: trial.changes}
        self._save(confirmed)
        self._confirmed = confirmed
        trial.task.cancel()
        del self._trials[spec]
        self._logger.info("confirmed the settings of a radio", spec=self._current[spec])
        return self._current[spec]

    def _find(self, name: str) -> str:
        """Return the spec in config.toml of the endpoint called *name*. Raises UnknownFaceError."""
        names = {endpoint_name(parse_spec(spec)): spec for spec in self._tasks}
        spec = names.get(name)
        if spec is None:
            raise UnknownFaceError(name, [*names])
        return spec

    async def _reopen(self, spec: str) -> None:
        closing = self._tasks[spec]
        closing.cancel()
        await asyncio.wait([closing])
        # Another caller may have opened it in the meantime, or the daemon may be about to end.
        if self._tasks[spec] is closing and self._is_open:
            self._endpoints.pop(spec, None)
            self._tasks[spec] = self._group.create_task(self._keep_open(spec))

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
            endpoint = self._endpoints[spec] = open_endpoint(self._current[spec])
            try:
                await endpoint.run(self._sink)
            except LocalError as error:
                if self._failures.get(spec) != str(error):
                    self._logger.warning("a face cannot be opened", spec=spec, error=str(error))
                self._failures[spec] = str(error)
            del self._endpoints[spec]
            await asyncio.sleep(limits.RETRY_US / 1e6)
