"""Networks of locators in virtual time."""

import json
import re
from dataclasses import replace
from math import log2
from pathlib import Path

import pytest

from tinyssb_node.cli.main import main
from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.islands.relay.limits import REGISTERED_MAX
from tinyssb_node.islands.sim.dht import DhtWorld
from tinyssb_node.islands.sim.dht_report import NAMES, DhtOptions, as_json, as_text, sizes_table, sizes_up_to

SMALL = DhtOptions(nodes=40, lookups=80, warm_h=3.0, seed=5)


def test_feeds_are_found_though_a_fifth_of_all_nodes_is_dead() -> None:
    report = DhtWorld(replace(SMALL, warm_h=6.0)).run()  # young nodes say more
    assert len(report.lookups) == 80
    assert report.success >= 0.99
    assert report.hops(0.5) <= 1.5 * log2(40)
    assert 0 < report.idle_bytes_per_node_h <= 2_000
    assert 1 < report.lookup_messages < 30
    assert report.confirmed > 5


def test_the_same_seed_gives_the_same_history_and_another_one_another() -> None:
    options = replace(SMALL, nodes=20, lookups=30)
    first = DhtWorld(options).run()
    assert DhtWorld(options).run() == first
    assert DhtWorld(replace(options, seed=6)).run().lookups != first.lookups


def test_where_nobody_can_be_reached_nothing_is_found() -> None:
    report = DhtWorld(replace(SMALL, nodes=20, loss=0.999, lookups=30)).run()
    assert report.success < 0.2, "what is found is found by messages"


def test_liars_cost_connections_in_vain_and_no_feed() -> None:
    honest = DhtWorld(SMALL).run()
    lied = DhtWorld(replace(SMALL, attackers=0.15)).run()
    assert lied.tried > honest.tried + 0.5, "they were believed at first"
    assert lied.success >= 0.95


def test_nodes_behind_routers_are_found_and_connected_to_by_relays() -> None:
    options = replace(SMALL, hidden=0.5)
    report = DhtWorld(options).run()
    assert min(report.found, report.success) >= 0.97
    assert 0.2 < report.relayed < 0.8, "others are connected to directly"
    assert 1 < report.registered <= REGISTERED_MAX
    alone = DhtWorld(replace(options, relays=0.0)).run()
    assert alone.success < 0.9
    assert alone.relayed == 0


def test_a_few_relays_are_enough_for_a_small_network() -> None:
    report = DhtWorld(replace(SMALL, hidden=0.5, relays=0.5, dead=0.0)).run()
    assert report.success >= 0.97


def test_a_network_that_fell_in_two_finds_together() -> None:
    report = DhtWorld(replace(SMALL, apart_h=1.5, dead=0.0)).run()
    assert report.success >= 0.99


def test_a_network_whose_nodes_come_and_go() -> None:
    report = DhtWorld(replace(SMALL, churn_per_h=0.1, dead=0.0)).run()
    assert report.success >= 0.97


@pytest.mark.parametrize(
    ("field", "value"),
    [("nodes", 3), ("nodes", 10**6), ("warm_h", 1.0), ("apart_h", 99.0), ("churn_per_h", -1.0)],
)
def test_what_cannot_be(field: str, value: float) -> None:
    with pytest.raises(SimulationOptionError):
        replace(SMALL, **{field: value})  # type: ignore[arg-type]  # one of them at a time


def test_sizes() -> None:
    assert sizes_up_to(10) == [10]
    assert sizes_up_to(500) == [10, 30, 100, 300, 500]


def test_the_report_for_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    report = DhtWorld(replace(SMALL, nodes=10, lookups=5)).run()
    assert "5 lookups" in as_text(report)
    assert "10" in sizes_table([report])
    assert json.loads(as_json(report))["options"]["nodes"] == 10
    assert main(["sim", "dht", "--nodes", "8", "--lookups", "4", "--hours", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["options"]["nodes"] == 8
    assert main(["sim", "dht", "--nodes", "12", "--hours", "3", "--sizes"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_sizes_are_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "sizes.svg"
    assert main(["sim", "dht", "--nodes", "12", "--hours", "3", "--sizes", "--plot", str(picture)]) == 0
    text = picture.read_text("utf-8")
    assert "<!-- hops -->" in text
    assert "<!-- 12 -->" in text
    assert main(["sim", "dht", "--nodes", "8", "--hours", "3", "--plot", str(tmp_path / "x.what")]) != 0


def test_help_tells_the_defaults_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sim", "dht", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    for name, field in NAMES.items():
        assert re.search(rf"--{name} .*?\(default: {getattr(DhtOptions(), field):g}\)", told)
