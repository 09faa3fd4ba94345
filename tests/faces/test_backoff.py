"""Back-off: grows to its limit, never in step, forgotten after a link that held."""

from tinyssb_node.faces.backoff import Backoff


def test_waits_double_up_to_the_longest() -> None:
    backoff = Backoff(lambda: 0.0)
    assert [backoff.next_s() for _ in range(7)] == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]


def test_waits_differ_by_chance_and_stay_within_their_step() -> None:
    backoff = Backoff(iter([0.0, 0.999, 0.5]).__next__)
    first, second, third = backoff.next_s(), backoff.next_s(), backoff.next_s()
    assert (first, round(second, 2), third) == (0.5, 2.0, 3.0)


def test_a_link_that_held_starts_anew() -> None:
    backoff = Backoff(lambda: 0.0)
    backoff.next_s(), backoff.next_s()
    backoff.link_was_up(60.0)
    assert backoff.next_s() == 0.5


def test_a_link_that_flickers_does_not() -> None:
    backoff = Backoff(lambda: 0.0)
    backoff.next_s(), backoff.next_s()
    backoff.link_was_up(9.9)
    assert backoff.next_s() == 2.0
