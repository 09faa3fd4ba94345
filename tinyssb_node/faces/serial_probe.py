"""A probe of a serial port with an unknown device. It changes no settings and sends nothing by radio."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress

from firmware_bridge.drivers.probe import Finding
from firmware_bridge.serial import limits as serial_limits
from firmware_bridge.serial.identify import GREETINGS, DetectedRadio, guess, identify
from tinyssb_node import limits
from tinyssb_node.faces.serial_port import PortFinder, PortProblem, UsbPort, list_usb_ports, open_port

_ELSEWHERE = "Look for the radio at another port: ls -l /dev/serial/by-id"
_SILENCE = (
    "See that it is a radio, that it has power, and that its cable has data wires; bridge firmware, RNode, Meshtastic "
    "and MeshCore's companion and KISS modem are known."
)


async def probe_port(
    device: str,
    speed: int,
    answer_s: float,
    *,
    list_ports: Callable[[], Iterable[UsbPort]] = list_usb_ports,
) -> AsyncIterator[Finding]:
    """Yield findings about the device at *device*, a path or ``usb:`` and a serial number.

    *speed*: bits a second. *answer_s*: time to wait for each answer.
    """
    path = PortFinder(device, list_ports).find()
    port = path if isinstance(path, PortProblem) else await open_port(path, speed)
    if isinstance(path, PortProblem) or isinstance(port, PortProblem):
        problem = path if isinstance(path, PortProblem) else port
        assert isinstance(problem, PortProblem)
        yield Finding(check="port", ok=False, found=problem.what, advice=f"{problem.remedy.rstrip('.')}.")
        return
    yield Finding(check="port", ok=True, found=f"{path} is ours, at {speed} bits a second")
    try:
        radio, seen = await _greet(*port, answer_s)
    finally:
        port[1].transport.abort()
        # Bytes that could no longer be written do not matter.
        with suppress(OSError):
            await port[1].wait_closed()
    if radio is None:
        yield _stranger(seen)
    else:
        yield Finding(check="device", ok=True, found=f"it is {radio.device}", advice=_face(radio, device))


async def _greet(
    reader: StreamReader, writer: StreamWriter, answer_s: float
) -> tuple[DetectedRadio | None, bytes]:
    """Greet in every protocol a few times, since opening the port restarts many boards. Return the kind that answered,
    and its answer."""
    seen = b""
    for _ in range(4):  # all greetings, half a second each: 8 s in all
        for greeting in GREETINGS:
            try:
                writer.write(greeting)
                seen += await _listen(reader, answer_s)
            except OSError:
                return None, seen
            if (radio := identify(seen)) is not None:
                return radio, seen
    return None, seen


async def _listen(reader: StreamReader, answer_s: float) -> bytes:
    """Return what is received in that time, cut to what a person needs to see."""
    heard = b""
    with suppress(TimeoutError):
        async with asyncio.timeout(answer_s):
            while data := await reader.read(limits.SERIAL_READ_SIZE):
                heard += data[: serial_limits.NOISE_MAX - len(heard)]
    return heard


def _stranger(seen: bytes) -> Finding:
    found = guess(seen, GREETINGS[0])
    if found is None:
        return Finding(check="device", ok=False, found="nothing answers", advice=_SILENCE)
    return Finding(check="device", ok=False, found=f"it is {found}", advice=_ELSEWHERE)


def _face(radio: DetectedRadio, device: str) -> str:
    """Return the lines for config.toml."""
    settings = "&plan=EU868.a" if radio.scheme in {"kiss", "rnode"} else ""
    settings += "&stock=on" if radio.stock else ""
    return f'For config.toml, with your region: "{radio.scheme}:{device}?region=EU868{settings}"'
