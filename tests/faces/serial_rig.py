"""Emulated radios at pseudo-terminals, and faces that use them, all of it a hundred times as quick as on the air."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.emulated.kiss import KissModem
from tests.emulated.meshcore import MeshcoreCompanion
from tests.emulated.meshtastic import MeshtasticDevice
from tests.emulated.rnode import Rnode
from tests.emulated.serial_air import Air, Device
from tests.emulated.serial_pty import Plug
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.serial import SerialEndpoint
from tinyssb_node.faces.serial_port import UsbPort
from tinyssb_node.faces.serial_spec import SerialSpec
from tinyssb_node.faces.spec import parse_spec

TIME_SCALE = 100.0
"""A packet of 0.2 s takes two milliseconds."""

PLANNED = "region=EU868&plan=EU868.a"
KINDS: dict[str, tuple[str, str, Callable[[Air, int], Device]]] = {
    "kiss": ("kiss", PLANNED, lambda air, _node: KissModem(air)),
    "kiss-stock": ("kiss", f"{PLANNED}&stock=on", lambda air, _node: KissModem(air, extended=False)),
    "rnode": ("rnode", PLANNED, lambda air, _node: Rnode(air)),
    "meshtastic": ("meshtastic", "region=EU868", MeshtasticDevice),
    "meshcore": ("meshcore", "region=EU868", lambda air, _node: MeshcoreCompanion(air)),
}
"""By a name: the scheme, what else a spec string needs, and how a device is made."""


def endpoint(
    text: str, list_ports: Callable[[], list[UsbPort]] = list, *, time_scale: float = TIME_SCALE
) -> SerialEndpoint:
    """The endpoint that *text* names, in a hurry."""
    spec = parse_spec(text)
    assert isinstance(spec, SerialSpec)
    backoff = Backoff(lambda: 0.0, min_s=0.001, max_s=0.01)
    return SerialEndpoint(
        text, spec, lambda: 0.3, list_ports=list_ports, time_scale=time_scale, backoff=backoff
    )


def spec_text(kind: str, device: str) -> str:
    """The spec string of a radio of that kind."""
    scheme, options, _ = KINDS[kind]
    return f"{scheme}:{device}?{options}"


@contextmanager
def plugged(device: Device, link: Path | None = None) -> Iterator[Plug]:
    """*device* with its cable in."""
    plug = Plug(device, link=link, time_scale=TIME_SCALE)
    try:
        yield plug
    finally:
        if device.is_on:
            plug.pull()
