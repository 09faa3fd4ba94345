"""Bluetooth faces: one bare packet per value, both ways. Phones connect to a peripheral, a central connects to boards.

An endpoint brings up a face per link: ``ble#1``, ``ble#2``, … for phones, whose addresses mean nothing,
``board:246f28aabbcc`` for boards.
"""

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from dataclasses import replace
from itertools import count
from typing import Any, Self

from firmware_bridge.ble.errors import BluetoothError, LinkClosedError
from firmware_bridge.ble.link import BluetoothStack, Central, Link, Peripheral
from firmware_bridge.ble.stacks import BluezStack, BumbleStack
from tinyssb_node import limits
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.ble_roster import BleRoster
from tinyssb_node.faces.ble_spec import BleCentralSpec, BlePeripheralSpec, BleSpec
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.face import Endpoint, FaceSink
from tinyssb_node.faces.frames import FrameFault, parse_bare
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import WIRED, LinkProfile, stream_profile


def ble_profile(gap_us: int, quiet_us: int) -> LinkProfile:
    """Return the profile of one peer that takes a packet every *gap_us*, and has finished its reply once silent for
    *quiet_us*."""
    return replace(
        stream_profile(),
        window=1,
        gap_us=gap_us,
        burst_max=limits.BLE_BURST_MAX,
        quiet_us=quiet_us,
        advert_min_us=2_000_000,  # boards and phones take seconds to answer an advert
    )


class BleFace:
    """One link that is up."""

    def __init__(self, name: FaceName, profile: LinkProfile, link: Link) -> None:
        self.name = name
        self.profile = profile
        self._link = link

    async def send(self, packets: list[bytes]) -> int:
        """Send each packet as a value of its own. Raises OSError when the link is gone."""
        for packet in packets:
            await self._link.send(packet)
        return len(packets)

    async def serve(self, sink: FaceSink, spec: str) -> str:
        """Run until the link ends, and pass received packets to *sink*. Returns the reason of the end."""
        reason = "this node closed it"
        sink.up(self, spec)
        try:
            while True:
                value = await self._link.receive()
                packet = parse_bare(value)
                if isinstance(packet, FrameFault):
                    sink.junk(self.name, packet, len(value))
                elif not sink.frame(self.name, packet, WIRED):
                    await sink.room(self.name)
        except LinkClosedError as closed:
            reason = closed.reason
        finally:
            sink.down(self.name, reason)
        return reason


class _Sessions:
    """The links of an endpoint, each in a task of its own."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # Cancelled before its first step, it would not even tidy up.
        await asyncio.sleep(0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _backoff() -> Backoff:
    return Backoff(random.random)


class _BleEndpoint(ABC):
    """The part that both roles share: run, and start again after Bluetooth went away."""

    def __init__(self, text: str, radio: BluetoothStack, make_backoff: Callable[[], Backoff]) -> None:
        self.spec = text
        self._radio = radio
        self._backoff = make_backoff()
        self._problem: str | None = None

    @property
    def problem(self) -> str | None:
        """See Endpoint."""
        return self._problem

    async def run(self, sink: FaceSink) -> None:
        """Keep links up until cancelled. Raises FaceOpenError if this machine's Bluetooth does not work as it is."""
        clock = asyncio.get_running_loop().time
        while True:
            begun_s = clock()
            try:
                await self._work(sink)
            except LinkClosedError as error:
                self._problem = error.reason
            except BluetoothError as error:
                raise FaceOpenError(self.spec, error.what, error.remedy) from error
            self._backoff.link_was_up(clock() - begun_s)
            await asyncio.sleep(self._backoff.next_s())

    @abstractmethod
    async def _work(self, sink: FaceSink) -> None:
        """Run until Bluetooth goes away. Raises LinkClosedError, BluetoothError."""


class BlePeripheralEndpoint(_BleEndpoint):
    """A peripheral: advertises itself to phones, and brings up a face ``ble#N`` for each."""

    def __init__(
        self,
        text: str,
        spec: BlePeripheralSpec,
        radio: BluetoothStack,
        make_backoff: Callable[[], Backoff] = _backoff,
    ) -> None:
        super().__init__(text, radio, make_backoff)
        self._peripheral_spec = spec
        self._peripheral: Peripheral | None = None
        self._numbers = count(1)

    @property
    def problem(self) -> str | None:
        """See Endpoint."""
        return self._problem or (self._peripheral.remark if self._peripheral is not None else None)

    async def _work(self, sink: FaceSink) -> None:
        try:
            async with (
                self._radio.peripheral(self._peripheral_spec.links) as self._peripheral,
                _Sessions() as sessions,
            ):
                self._problem = None
                while True:
                    link = await self._peripheral.accept()
                    await sessions.start(self._serve(link, sink))
        finally:
            self._peripheral = None

    async def _serve(self, link: Link, sink: FaceSink) -> None:
        name = FaceName(f"{self._peripheral_spec.face_name}#{next(self._numbers)}")
        profile = ble_profile(limits.BLE_PHONE_GAP_US, limits.BLE_PHONE_QUIET_US)
        try:
            await BleFace(name, profile, link).serve(sink, self.spec)
        finally:
            await link.close()


class BleCentralEndpoint(_BleEndpoint):
    """A central: looks for boards, and brings up a face ``board:ADDRESS`` for each."""

    def __init__(
        self,
        text: str,
        spec: BleCentralSpec,
        radio: BluetoothStack,
        make_backoff: Callable[[], Backoff] = _backoff,
        *,
        scan_s: float = limits.BLE_SCAN_S,
        rest_s: float = limits.BLE_REST_S,
    ) -> None:
        super().__init__(text, radio, make_backoff)
        self._central_spec = spec
        self._scan_s = scan_s
        self._rest_s = rest_s
        self._roster = BleRoster(spec.links, make_backoff)

    async def _work(self, sink: FaceSink) -> None:
        clock = asyncio.get_running_loop().time
        async with self._radio.central() as central, _Sessions() as sessions:
            while True:
                if not self._roster.is_full:
                    found = await central.find(self._scan_s)
                    self._problem = None if found or self._roster.linked else "no board is within reach"
                    for address in self._roster.due(found, clock()):
                        await self._meet(central, address, sink, sessions)
                await asyncio.sleep(self._rest_s)

    async def _meet(self, central: Central, address: str, sink: FaceSink, sessions: _Sessions) -> None:
        """Connect to one that was found, and have a session if it is a board."""
        now_s = asyncio.get_running_loop().time
        try:
            link = await central.connect(address)
        except LinkClosedError as error:
            self._problem = error.reason
            self._roster.down(address, now_s())
            return
        if link is None:
            self._roster.is_phone(address, now_s())
            return
        self._roster.up(address, now_s())
        await sessions.start(self._serve(link, address, sink))

    async def _serve(self, link: Link, address: str, sink: FaceSink) -> None:
        name = FaceName(f"{self._central_spec.face_name}:{address.replace(':', '').lower()}")
        profile = ble_profile(limits.BLE_BOARD_GAP_US, limits.BLE_BOARD_QUIET_US)
        try:
            await BleFace(name, profile, link).serve(sink, self.spec)
        finally:
            self._roster.down(address, asyncio.get_running_loop().time())
            await link.close()


def open_ble(text: str, spec: BleSpec) -> Endpoint:
    """Return the endpoint for *spec*, read from *text*, not yet running."""
    radio = BluezStack(spec.adapter) if spec.dongle is None else BumbleStack(spec.dongle)
    if isinstance(spec, BlePeripheralSpec):
        return BlePeripheralEndpoint(text, spec, radio)
    return BleCentralEndpoint(text, spec, radio)
