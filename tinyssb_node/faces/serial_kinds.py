"""The kinds of radio on a cable: protocol, framing of packets, and scheduling profile of each. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from firmware_bridge.plans import IllegalPlanError, IllegalPowerError, RadioPlan
from firmware_bridge.serial.kiss import KissSession
from firmware_bridge.serial.meshcore import MeshcoreSession
from firmware_bridge.serial.meshtastic import MeshtasticSession
from firmware_bridge.serial.rnode import RnodeSession
from firmware_bridge.serial.session import AnySession, Ready
from tinyssb_node import limits
from tinyssb_node.faces.frames import FrameFault, parse_bare, parse_crc_frame, serialize_crc_frame
from tinyssb_node.faces.radio import RadioChoice, radio_profile
from tinyssb_node.faces.serial_spec import (
    KissSpec,
    MeshcoreSpec,
    MeshtasticSpec,
    RnodeSpec,
    SerialSpec,
)
from tinyssb_node.scheduling.link import LinkProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialRadioKind:
    """The parts that differ between kinds."""

    converse: Callable[[], AnySession]
    """Begins a new conversation."""
    frame: Callable[[bytes], bytes]
    """A packet as the radio is given it."""
    parse: Callable[[bytes], bytes | FrameFault]
    """Returns the packet in a received frame."""
    gap_packets: int = 1
    """Silence after each packet, in full packets' time."""


def kind_of(spec: SerialSpec, entropy: Callable[[], float]) -> SerialRadioKind:
    """Return the kind of *spec*'s radio. *entropy* returns numbers from 0 up to 1.

    Raises IllegalPlanError and IllegalPowerError.
    """
    match spec:
        case KissSpec():
            plan = _plan(spec.radio)
            permille = plan.sub_band.duty_permille or 0
            return SerialRadioKind(
                converse=lambda: KissSession(
                    plan.lora, plan.power_dbm, stock=spec.stock, duty_permille=permille
                ),
                frame=serialize_crc_frame,
                parse=parse_crc_frame,
            )
        case RnodeSpec():
            plan = _plan(spec.radio)
            permille = plan.sub_band.duty_permille or 0
            return SerialRadioKind(
                converse=lambda: RnodeSession(plan.lora, plan.power_dbm, duty_permille=permille),
                frame=bytes,
                parse=parse_bare,
            )
        case MeshtasticSpec():
            return SerialRadioKind(
                converse=lambda: MeshtasticSession(spec.channel, entropy),
                frame=bytes,
                parse=parse_bare,
                gap_packets=limits.GUEST_GAP_PACKETS,
            )
        case MeshcoreSpec():
            return SerialRadioKind(
                converse=lambda: MeshcoreSession(spec.channel),
                frame=bytes,
                parse=parse_bare,
                gap_packets=limits.GUEST_GAP_PACKETS,
            )


def _plan(radio: RadioChoice) -> RadioPlan:
    wanted = radio.wanted
    assert wanted is not None, "the spec string was read without settings"
    return radio.resolve(wanted)


def profile_of(
    kind: SerialRadioKind, conversation: AnySession, radio: RadioChoice, ready: Ready, time_scale: float
) -> LinkProfile | str:
    """Return the scheduling profile of a face on this radio; or, in plain words, why it may not send.

    *time_scale*: how many times as fast as ours the radio's clock is; 1 unless it is an emulated one.
    """
    try:
        plan = replace(radio, power_dbm=ready.power_dbm).resolve(ready.lora)
    except (IllegalPlanError, IllegalPowerError) as error:
        return str(error)
    return radio_profile(
        ready.lora,
        lambda length: conversation.air_bytes(len(kind.frame(bytes(length)))),
        plan,
        time_scale=time_scale,
        pongs=radio.pongs,
        gap_packets=kind.gap_packets,
    )
