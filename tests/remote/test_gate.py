"""The rules: who is obeyed, what is executed at most once, and how often."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nodes import feed_of
from tinyssb_node.remote import limits
from tinyssb_node.remote.gate import AdminState, RemoteRecord, TooManyAdminsError
from tinyssb_node.remote.messages import RemoteCommand, RemoteOutcome

NOW_S = 1_800_000_000
ADMIN, EVE = feed_of(1), feed_of(2)


def command(
    *words: str, said_s: int | None = NOW_S, valid_minutes: int = limits.VALID_MINUTES_USUAL
) -> RemoteCommand:
    return RemoteCommand(said_s=said_s, valid_minutes=valid_minutes, words=words or ("log", "debug"))


def allowed(seq: int = 5) -> RemoteRecord:
    return RemoteRecord().allow(ADMIN, seq, NOW_S)


def test_nobody_is_obeyed_by_default() -> None:
    for record in (
        RemoteRecord(),
        allowed().end(ADMIN, AdminState.REVOKED),
        allowed().end(ADMIN, AdminState.FORKED),
    ):
        assert record.take(ADMIN, 6, command(), NOW_S) == (record, None)
    assert allowed().take(EVE, 6, command(), NOW_S) == (allowed(), None)


@given(st.lists(st.integers(1, 30), max_size=60), st.integers(0, 20))
def test_no_entry_is_obeyed_twice_in_whatever_order_it_comes_again(seqs: list[int], begin: int) -> None:
    record, executed = allowed(begin), list[int]()
    for number, seq in enumerate(seqs):
        # So much time that there is a token each time.
        now_s = NOW_S + number * limits.TOKEN_S
        record, outcome = record.take(ADMIN, seq, command(valid_minutes=0), now_s)
        if outcome is RemoteOutcome.DONE:
            executed.append(seq)
    assert executed == sorted(set(executed))
    assert all(seq > begin for seq in executed)


def test_a_command_is_pending_before_it_is_executed() -> None:
    record, outcome = allowed().take(ADMIN, 6, command(), NOW_S)
    assert outcome is RemoteOutcome.DONE
    assert record.pending is not None
    assert (record.pending.feed, record.pending.seq, record.pending.answer) == (ADMIN, 6, None)
    again = record.take(ADMIN, 6, command(), NOW_S)
    assert again == (record, None)


def test_entries_that_are_no_commands_are_behind_it_for_good() -> None:
    record = allowed().read(ADMIN, 9)
    assert record.take(ADMIN, 9, command(), NOW_S)[1] is None
    assert record.read(ADMIN, 7) == record
    assert record.take(ADMIN, 10, command(), NOW_S)[1] is RemoteOutcome.DONE


def test_who_is_allowed_again_begins_behind_all_that_was_read() -> None:
    record = allowed().read(ADMIN, 9).end(ADMIN, AdminState.REVOKED).allow(ADMIN, 7, NOW_S)
    assert record.take(ADMIN, 9, command(), NOW_S)[1] is None
    assert record.take(ADMIN, 10, command(), NOW_S)[1] is RemoteOutcome.DONE


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (command(said_s=NOW_S - 60 * limits.VALID_MINUTES_USUAL), RemoteOutcome.DONE),
        (command(said_s=NOW_S - 60 * limits.VALID_MINUTES_USUAL - 60), RemoteOutcome.EXPIRED),
        (command("status", said_s=NOW_S - 60 * limits.VALID_MINUTES_USUAL - 60), RemoteOutcome.EXPIRED),
        (command(said_s=NOW_S - 10**8, valid_minutes=0), RemoteOutcome.DONE),
        (command(said_s=NOW_S + limits.CLOCK_SLACK_S), RemoteOutcome.DONE),
        (command(said_s=NOW_S + limits.CLOCK_SLACK_S + 1), RemoteOutcome.CLOCK),
        (command(said_s=None), RemoteOutcome.CLOCK),
        (command("status", said_s=NOW_S + 10**8), RemoteOutcome.DONE),
        (command("status", said_s=None), RemoteOutcome.DONE),
        (command(said_s=NOW_S + 10**8, valid_minutes=0), RemoteOutcome.DONE),
        (command(said_s=None, valid_minutes=0), RemoteOutcome.DONE),
    ],
)
def test_a_command_that_was_delayed_or_cannot_be_dated_changes_nothing(
    given: RemoteCommand, outcome: RemoteOutcome
) -> None:
    assert allowed().take(ADMIN, 6, given, NOW_S)[1] is outcome


def test_a_flood_is_dropped_and_counted_and_its_end_is_obeyed_again() -> None:
    record, outcomes = allowed(), list[RemoteOutcome | None]()
    for seq in range(6, 106):
        record, outcome = record.take(ADMIN, seq, command(said_s=None), NOW_S)
        outcomes.append(outcome)
    # Refusals are answered, and count, too.
    assert outcomes == [RemoteOutcome.CLOCK] * limits.TOKENS_MAX + [None] * (100 - limits.TOKENS_MAX)
    admin = record.find(ADMIN)
    assert admin is not None
    assert admin.dropped == 100 - limits.TOKENS_MAX
    assert record.take(ADMIN, 106, command(), NOW_S + limits.TOKEN_S - 1)[1] is None
    assert record.take(ADMIN, 106, command(), NOW_S + limits.TOKEN_S)[1] is RemoteOutcome.DONE
    # What was dropped is not queued.
    assert record.take(ADMIN, 50, command(), NOW_S + limits.TOKEN_S)[1] is None


@given(st.lists(st.integers(-(10**6), 10**6), max_size=200))
def test_however_the_clock_jumps_there_is_a_bound(steps_s: list[int]) -> None:
    record, now_s, forward_s, taken = allowed(), NOW_S, 0, 0
    for number, step_s in enumerate(steps_s):
        now_s += step_s
        forward_s += max(0, step_s)
        record, outcome = record.take(ADMIN, 6 + number, command(valid_minutes=0), now_s)
        taken += outcome is not None
    assert taken <= limits.TOKENS_MAX + forward_s // limits.TOKEN_S
    # Nor is an administrator locked out by a clock that was wrong once.
    later_s = now_s + limits.TOKENS_MAX * limits.TOKEN_S
    assert record.take(ADMIN, 1_000, command(valid_minutes=0), later_s)[1] is RemoteOutcome.DONE


def test_each_administrator_has_tokens_of_their_own() -> None:
    record = allowed().allow(EVE, 0, NOW_S)
    for seq in range(6, 20):
        record, _ = record.take(ADMIN, seq, command(), NOW_S)
    assert record.take(EVE, 1, command(), NOW_S)[1] is RemoteOutcome.DONE


def test_the_log_is_bounded_and_the_answer_is_kept() -> None:
    record = allowed()
    for seq in range(6, 6 + 2 * limits.DONE_MAX):
        record, outcome = record.take(ADMIN, seq, command(), NOW_S + seq * limits.TOKEN_S)
        assert outcome is not None
        record = record.answered(b"answer", outcome, NOW_S)
    assert len(record.done) == limits.DONE_MAX
    assert record.done[-1].seq == 5 + 2 * limits.DONE_MAX
    assert record.pending is not None
    assert record.pending.answer == b"answer"


def test_there_is_room_for_so_many_and_the_known_ones_stay() -> None:
    record = RemoteRecord()
    for number in range(limits.ADMINS_MAX):
        record = record.allow(feed_of(number), 0, NOW_S)
    with pytest.raises(TooManyAdminsError):
        record.allow(feed_of(99), 0, NOW_S)
    assert replace(record.allow(feed_of(3), 7, NOW_S)).find(feed_of(3)) is not None
