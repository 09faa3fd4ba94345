"""Numbers that have to fit each other, where one module's bound relies on another's."""

from tinyssb_node import limits
from tinyssb_node.scheduling.link import lan_profile, stream_profile


def test_a_whole_answer_fits_the_queue_and_the_orphans() -> None:
    for profile in (stream_profile(), lan_profile()):
        assert profile.burst_max <= limits.QUEUE_MAX
        assert profile.burst_max <= limits.ORPHANS_MAX


def test_a_pushed_side_chain_fits_the_queue() -> None:
    assert 1 + limits.PUSH_CHUNKS_MAX <= limits.QUEUE_MAX
    assert limits.PUSH_CHUNKS_MAX <= limits.ORPHANS_MAX


def test_answers_that_wait_are_forgotten_after_what_was_given() -> None:
    assert limits.JUST_GIVEN_MAX > limits.QUEUE_MAX
