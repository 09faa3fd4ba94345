"""A cache of checked signatures for all nodes of a simulated mesh."""

from tinyssb_node.codec.crypto import Verify
from tinyssb_node.ids import FeedId
from tinyssb_node.sim import limits as sim_limits


def cached_verifier(verify: Verify) -> Verify:
    """Return *verify* with a cache: the result depends on the bytes only, and what one node receives a hundred others
    receive too."""
    answers: dict[tuple[FeedId, bytes], bool] = {}

    def answer(feed: FeedId, signed: bytes) -> bool:
        known = answers.get((feed, signed))
        if known is None:
            if len(answers) >= sim_limits.SIGNATURES_MAX:
                answers.clear()
            known = answers[feed, signed] = verify(feed, signed)
        return known

    return answer
