"""Links between nodes: path loss, hills, tilts, cuts."""

import random
import statistics

import pytest

from tinyssb_node.sim.links import (
    LinkModel,
    LinkOptions,
    LinkQuality,
    PathLoss,
    path_loss_db,
    shadowing_db,
)


def links(
    *, shadowing: float = 0.0, asymmetry: float = 0.0, path_loss: PathLoss = PathLoss.SUBURBAN, seed: int = 1
) -> LinkModel:
    options = LinkOptions(
        power_dbm=14.0,
        default_rssi_dbm=None,
        path_loss=path_loss,
        shadowing_db=shadowing,
        asymmetry_db=asymmetry,
    )
    return LinkModel(options, 0.0, random.Random(seed))


def rssi_dbm(made: LinkModel, sender: str, receiver: str) -> float:
    link = made.link(sender, receiver)
    assert link is not None
    return link.rssi_dbm


@pytest.mark.parametrize(
    ("model", "distance_m", "loss_db"),
    [
        (PathLoss.SUBURBAN, 40, 127.41),
        (PathLoss.SUBURBAN, 400, 127.41 + 20.8),
        (PathLoss.OULU, 1_000, 128.95),
        (PathLoss.OULU, 10_000, 128.95 + 23.2),
    ],
)
def test_path_loss_is_what_was_measured(model: PathLoss, distance_m: float, loss_db: float) -> None:
    assert path_loss_db(model, distance_m) == pytest.approx(loss_db)
    assert path_loss_db(model, 0.0) == path_loss_db(model, 1.0)


def test_shadowing_is_what_was_measured() -> None:
    assert (shadowing_db(PathLoss.SUBURBAN), shadowing_db(PathLoss.OULU)) == (3.57, 7.8)
    drawn = []
    made = links(shadowing=7.8)
    made.place("hub", (0.0, 0.0))
    for number in range(199):
        made.place(f"n{number}", (100.0, 0.0))
        drawn.append(rssi_dbm(made, "hub", f"n{number}"))
    assert statistics.stdev(drawn) == pytest.approx(7.8, rel=0.15)
    assert statistics.mean(drawn) == pytest.approx(14.0 - path_loss_db(PathLoss.SUBURBAN, 100.0), abs=1.5)


def test_a_direction_may_be_better_than_the_other_and_stays_so() -> None:
    made = links(asymmetry=2.0)
    made.place("ana", (0.0, 0.0))
    made.place("bob", (100.0, 0.0))
    there, back = rssi_dbm(made, "ana", "bob"), rssi_dbm(made, "bob", "ana")
    middle = 14.0 - path_loss_db(PathLoss.SUBURBAN, 100.0)
    assert there != back
    assert abs(there - middle) <= 2.0
    assert abs(back - middle) <= 2.0
    made.place("ana", (0.0, 0.0))
    assert (rssi_dbm(made, "ana", "bob"), rssi_dbm(made, "bob", "ana")) == (there, back)


def test_hills_stay_when_a_node_is_switched_off_and_go_when_it_is_removed() -> None:
    made = links(shadowing=3.57, asymmetry=2.0)
    made.place("ana", (0.0, 0.0))
    made.place("bob", (100.0, 0.0))
    before = rssi_dbm(made, "ana", "bob")
    made.switch_off("bob")
    assert not made.is_here("bob")
    assert made.around("ana", -200.0) == {}
    made.place("bob", (100.0, 0.0))
    assert rssi_dbm(made, "ana", "bob") == before
    made.remove("bob")
    made.place("bob", (100.0, 0.0))
    assert rssi_dbm(made, "ana", "bob") != before


def test_around_follows_every_change() -> None:
    made = links()
    for name in ("ana", "bob", "cyn"):
        made.place(name, None)
    assert made.around("ana", -130.0) == {}
    made.set_link("ana", "bob", LinkQuality(-80.0, 0.5))
    made.set_link("ana", "cyn", LinkQuality(-140.0, 0.0))
    assert made.around("ana", -130.0) == {"bob": LinkQuality(-80.0, 0.5)}
    made.cut(["ana"], ["bob"])
    assert made.around("ana", -130.0) == {}
    made.uncut(["bob"], ["ana"])  # not the way it was cut
    assert made.around("ana", -130.0) == {}
    made.uncut(["ana"], ["bob"])
    assert list(made.around("ana", -130.0)) == ["bob"]
    made.cut(["ana"], ["bob"])
    made.heal()
    assert list(made.around("ana", -130.0)) == ["bob"]
    made.place("ana", (0.0, 0.0))
    made.place("dov", (10.0, 0.0))
    made.loss = 0.25
    assert made.around("ana", -130.0)["dov"].loss == 0.25
    made.place("dov", (9_000.0, 0.0))
    assert "dov" not in made.around("ana", -130.0)
