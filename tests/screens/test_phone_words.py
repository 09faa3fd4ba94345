"""Sets that phones near do not survive, in words."""

from tinyssb_node.control.rows import PhonesRow
from tinyssb_node.screens.phone_words import phone_problem


def test_small_sets_and_no_phones_are_no_problem() -> None:
    assert phone_problem(None) is None
    assert phone_problem(PhonesRow(["udp"], 9, "enough")) is None


def test_a_set_that_is_or_gets_too_large_is_one() -> None:
    nearly = phone_problem(PhonesRow(["udp", "ws#1"], 24, "nearly"))
    beyond = phone_problem(PhonesRow(["udp"], 40, "beyond"))
    assert nearly is not None
    assert beyond is not None
    assert nearly[0] == (
        "boards or phones are near (udp, ws#1), and the set has 24 feeds: with a few more feeds or entries the phone "
        "app ends"
    )
    assert beyond[0].endswith("the phone app ends, and ends again at each start")
    assert "`set.places`" in nearly[1]
