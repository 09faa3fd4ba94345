"""Properties of a face that scheduling needs, as plain data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tinyssb_node import limits
from tinyssb_node.codec.events import FaceUp
from tinyssb_node.ids import FaceName


class LinkMedium(StrEnum):
    """The kind of link: who else hears what is sent on a face, and what sending costs."""

    AIR = "air"
    """Shared and slow: a radio channel."""
    LAN = "lan"
    """Shared and quick: UDP multicast."""
    STREAM = "stream"
    """One peer at the other end: WebSocket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The airtime that the law allows a device in one sub-band (docs/reference/airtime.md)."""

    band: str
    """The sub-band's name. Faces in one sub-band share one account."""
    limit_us: int
    """Microseconds on the air that any window may hold."""
    window_us: int
    """Length of the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkProfile:
    """The pace of a face: how much, how often, and how long to wait for another peer's reply."""

    medium: LinkMedium
    """The kind of link."""
    airtime_us: tuple[int, ...]
    """Microseconds on the air by packet length, 0 to 120; all 0 where air costs nothing."""
    window: int
    """Packets that may be handed to the face and not yet reported as sent."""
    gap_us: int
    """Least silence after a packet of ours before the next."""
    burst: int
    """Packets given in answer to a first request: few, so that a slow peer is not flooded."""
    burst_max: int
    """Packets given in answer to one request once the peer was seen to take what it asked for."""
    answer_delay_us: int
    """Answers wait a random time up to this, and are dropped if a peer gives them first."""
    hold_us: int
    """Entries given, by us or a peer that was heard, are not given again for this long: they may be on their way."""
    quiet_us: int | None
    """Silence that ends an answer to a request of ours; None where packets come at anybody's pace."""
    advert_min_us: int
    """Shortest interval between adverts of one kind (Trickle's Imin, RFC 6206)."""
    advert_max_us: int
    """Longest interval (Trickle's Imax)."""
    allowance: Allowance | None = None
    """The airtime that may be spent; None: no limit."""
    snr_limit_db: float | None = None
    """Weakest signal to noise ratio that can be read; None where that is not known."""
    answers_pings: bool = False
    """True if pings of boards are answered, with the strength at which they were heard."""


_FREE = (0,) * (limits.PACKET_SIZE + 1)


def stream_profile() -> LinkProfile:
    """Return the profile of a reliable byte stream to one peer."""
    return LinkProfile(
        medium=LinkMedium.STREAM,
        airtime_us=_FREE,
        window=512,
        gap_us=0,
        burst=5,
        burst_max=512,
        answer_delay_us=0,
        hold_us=2_000_000,
        quiet_us=100_000,
        advert_min_us=500_000,
        advert_max_us=15_000_000,
    )


def lan_profile() -> LinkProfile:
    """Return the profile of a local network: shared, quick, lossy, no air."""
    return LinkProfile(
        medium=LinkMedium.LAN,
        airtime_us=_FREE,
        window=64,
        gap_us=2_000,
        burst=32,
        burst_max=64,
        answer_delay_us=50_000,
        hold_us=300_000,
        quiet_us=100_000,
        advert_min_us=500_000,
        advert_max_us=15_000_000,
    )


def broker_profile() -> LinkProfile:
    """Return the profile of a broker on the internet, which passes every packet to all: shared, reliable, some tenths
    of a second away.

    Replies wait long enough that others' come before, and peers that are consistent advertise seldom: three packets in
    five minutes, however many they are.
    """
    return replace(
        lan_profile(),
        gap_us=10_000,
        answer_delay_us=500_000,
        hold_us=2_000_000,
        quiet_us=None,
        advert_min_us=1_000_000,
        advert_max_us=300_000_000,
    )


def air_profile(airtime_us: Sequence[int], snr_limit_db: float | None = None) -> LinkProfile:
    """Return the profile of a radio channel on which a packet of n bytes takes ``airtime_us[n]`` microseconds (121
    values), and signals weaker than *snr_limit_db* cannot be decoded."""
    if len(airtime_us) != limits.PACKET_SIZE + 1:
        raise ValueError(f"airtime_us has {limits.PACKET_SIZE + 1} values, not {len(airtime_us)}")
    packet_us = airtime_us[limits.PACKET_SIZE]
    return LinkProfile(
        medium=LinkMedium.AIR,
        airtime_us=tuple(airtime_us),
        window=1,
        gap_us=packet_us,
        burst=8,
        burst_max=32,
        answer_delay_us=0,
        hold_us=16 * packet_us,
        quiet_us=None,
        advert_min_us=8 * packet_us,
        advert_max_us=256 * packet_us,
        snr_limit_db=snr_limit_db,
    )


def face_up_event(face: FaceName, spec: str, profile: LinkProfile) -> FaceUp:
    """Return the record that a face can be used, with the allowance it is under."""
    allowance = profile.allowance
    if allowance is None:
        return FaceUp(face=face, spec=spec)
    return FaceUp(
        face=face,
        spec=spec,
        sub_band=allowance.band,
        limit_ppm=round(allowance.limit_us * 1_000_000 / allowance.window_us),
        window_us=allowance.window_us,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """Measurements of a packet that a face heard."""

    rssi_dbm: int | None = None
    """Received signal strength."""
    snr_db: float | None = None
    """Signal to noise ratio."""
    airtime_us: int = 0
    """Microseconds it was on the air."""


WIRED = Reception()
"""Reception of a packet that came over a cable."""
