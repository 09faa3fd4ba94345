"""Groups on real nodes, at length: whatever happens to them they agree in the end, and the set never fills."""

import pytest

from tests.groups import ages, live


@pytest.mark.parametrize("seed", [3, 5, 7])
def test_who_remains_agrees_and_nobody_else_can_read(seed: int) -> None:
    played, what = live.broken(seed)
    assert what is None
    assert played.happened["epochs"] > 1


def test_who_missed_what_his_addition_follows_asks_for_feeds_that_are_over() -> None:
    """Found by the search: the feeds had left the set before they came back."""
    assert live.broken(75)[1] is None


def test_who_asks_for_a_key_behind_words_that_others_never_get_is_answered() -> None:
    """Found by the search: the words were those of somebody excluded, whose feed the others fetch no more."""
    assert live.broken(223)[1] is None


def test_what_broke_is_told_with_the_words_that_play_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert live.main(["--seed", "3"]) == 0
    assert "1 seeds played" in capsys.readouterr().out
    monkeypatch.setattr(live, "heal", lambda _: None)  # they never meet
    assert live.main(["--first", "7", "--seeds", "3", "--failures", "1"]) == 1
    assert 'again: make search-groups-live ARGS="--seed ' in capsys.readouterr().out


def test_the_set_stays_small_over_many_epochs_and_who_was_away_reads_all() -> None:
    """`python -m tests.groups.ages` plays 20 members and 12 epochs."""
    aged = ages.grow_old("abcdef", 6)
    ages.check(aged, "abcdef", 6)
    assert len(aged.feeds()) > 40 > max(aged.largest, aged.largest_back)
