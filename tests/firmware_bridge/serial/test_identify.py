"""Each kind of radio makes itself known by what it answers, and by nothing else."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.serial.identify import GREETINGS, DetectedRadio, identify
from tests.emulated.kiss import KissModem
from tests.emulated.meshcore import MeshcoreCompanion
from tests.emulated.meshtastic import MeshtasticDevice
from tests.emulated.rnode import Rnode
from tests.emulated.serial_air import Air, Device

RADIOS: dict[str, tuple[Callable[[], Device], str, str]] = {
    "bridge": (lambda: KissModem(Air()), "kiss", "a KISS modem, bridge on an emulated board"),
    "stock": (lambda: KissModem(Air(), extended=False), "kiss", "a KISS modem, MeshCore's firmware version"),
    "rnode": (lambda: Rnode(Air()), "rnode", "an RNode, firmware 1."),
    "meshtastic": (lambda: MeshtasticDevice(Air(), 7), "meshtastic", "a Meshtastic device, node !00000007"),
    "meshcore": (lambda: MeshcoreCompanion(Air()), "meshcore", "a MeshCore companion, "),
}


def answers(device: Device, greetings: tuple[bytes, ...] = GREETINGS) -> bytes:
    """Return the answer of *device* to all greetings."""
    said = bytearray()
    device.write = said.extend
    device.is_on = True
    for number, greeting in enumerate(greetings):
        device.receive(greeting, number * 500_000)
        while (due_us := device.next_wake_us) is not None and due_us < (number + 1) * 500_000:
            device.wake(due_us)
    return bytes(said)


@pytest.mark.parametrize("name", RADIOS)
def test_a_radio_is_known_by_its_answers(name: str) -> None:
    make, scheme, words = RADIOS[name]
    found = identify(answers(make()))
    assert found is not None
    assert found.scheme == scheme
    assert words in found.device


@pytest.mark.parametrize("name", RADIOS)
def test_noise_before_the_answers_does_not_hide_a_radio(name: str) -> None:
    make, scheme, _ = RADIOS[name]
    # Half a frame of each kind, then a boot's text.
    before = b"\xc0\x00half" + b"\x94\xc3\x00\x04" + b"rst:0x1 (POWERON)\r\n\xc0"
    found = identify(before + answers(make()))
    assert found is not None
    assert found.scheme == scheme


@pytest.mark.parametrize("name", RADIOS)
def test_nothing_goes_on_the_air_and_nothing_is_set(name: str) -> None:
    device = RADIOS[name][0]()
    lora = device.lora
    answers(device)
    assert device.air.sent == []
    assert device.lora == lora


def test_an_echo_is_no_radio() -> None:
    assert identify(b"".join(GREETINGS)) is None


@given(st.binary(max_size=600))
def test_any_bytes_are_a_radio_or_none(seen: bytes) -> None:
    assert isinstance(identify(seen), DetectedRadio | None)
