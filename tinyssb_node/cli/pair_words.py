"""The result of a pair test in words."""

from collections.abc import Iterator, Sequence
from statistics import median

from tinyssb_node.cli.pair_test import LENGTH, PacketTime, PairDirection


def pair_words(directions: Sequence[PairDirection], wanted: int) -> Iterator[str]:
    """Yield lines about both directions, of which each should have *wanted* packets."""
    for direction in directions:
        yield f"{direction.sender} -> {direction.receiver}"
        yield from (f"  {name:<15}{words}" for name, words in _rows(direction))
    if any(len(direction.packets) < wanted for direction in directions):
        yield "The law leaves no more airtime in this hour. Go on later, or test with fewer packets: --packets N"
    if any(direction.is_early for direction in directions):
        yield (
            "Packets ended earlier than the formula allows: the radio has other settings than its face, or reports the "
            "end too soon. Report this: tinyssb radio report"
        )


def _rows(direction: PairDirection) -> Iterator[tuple[str, str]]:
    count = len(direction.packets)
    yield "sent", f"{count} packets of {LENGTH} bytes"
    if not count:
        return
    share = direction.lost / count
    yield (
        "lost",
        f"{direction.lost} (PER {share:.1%}; more than {direction.loss_max:.0%} is unlikely after so few packets)",
    )
    yield "airtime", f"{direction.airtime_us / 1e3:.1f} ms by the formula (Semtech AN1200.13)"
    yield "sending took", _compare([packet.sent_us for packet in direction.packets], direction.airtime_us)
    heard = [packet for packet in direction.packets if packet.heard_us is not None]
    if heard:
        times_us = [packet.heard_us for packet in heard if packet.heard_us is not None]
        yield "received after", _compare(times_us, direction.airtime_us)
        yield "signal", _signal(heard)


def _compare(times_us: Sequence[int], airtime_us: int) -> str:
    middle = median(times_us)
    over_us = middle - airtime_us
    return (
        f"{middle / 1e3:.1f} ms: formula {over_us / 1e3:+.1f} ms "
        f"({min(times_us) / 1e3:.1f} to {max(times_us) / 1e3:.1f} ms)"
    )


def _signal(packets: Sequence[PacketTime]) -> str:
    seen = [packet.reception for packet in packets if packet.reception is not None]
    rssi = [one.rssi_dbm for one in seen if one.rssi_dbm is not None]
    snr = [one.snr_db for one in seen if one.snr_db is not None]
    words = [f"{median(rssi):g} dBm"] if rssi else []
    words += [f"SNR {median(snr):g} dB"] if snr else []
    return ", ".join(words) or "the radio does not measure it"
