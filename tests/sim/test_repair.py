"""Repair on the air costs less than any repetition of packets could, where each receiver loses other ones."""

from dataclasses import replace

from tinyssb_node.ids import PacketKind
from tinyssb_node.sim.options import ChannelOptions
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenarios import build


def test_side_chains_are_repaired_with_less_airtime_than_repetition_takes() -> None:
    options = replace(build("newcomers", seed=1), channel=ChannelOptions(loss=0.2))
    report = run_scenario(options)
    assert report.converged
    assert report.ratio < 0.9
    assert PacketKind.CHUNK not in report.packets
    assert 300 < report.packets[PacketKind.CODED_CHUNK] < 600


def test_without_loss_no_chunk_is_sent_twice() -> None:
    report = run_scenario(build("newcomers", seed=1))
    assert report.packets[PacketKind.CODED_CHUNK] <= 305
