"""Signatures checked once for all nodes of a simulated mesh."""

from tinyssb_node.codec.crypto import Verify
from tinyssb_node.ids import FeedId
from tinyssb_node.sim import limits as sim_limits


def cached_verifier(verify: Verify) -> Verify:
    """*verify*, each question asked once: whether bytes are signed depends on nothing else, and what one node hears a
    hundred others hear too."""
    answers: dict[tuple[FeedId, bytes], bool] = {}

    def answer(feed: FeedId, signed: bytes) -> bool:
        known = answers.get((feed, signed))
        if known is None:
            if len(answers) >= sim_limits.SIGNATURES_MAX:
                answers.clear()
            known = answers[feed, signed] = verify(feed, signed)
        return known

    return answer
