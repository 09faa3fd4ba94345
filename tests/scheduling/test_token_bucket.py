from tinyssb_node import limits
from tinyssb_node.scheduling.token_bucket import TokenBucket

SECOND_US = 1_000_000


def allows(meter: TokenBucket, now_us: int) -> bool:
    if not meter.has(now_us):
        return False
    meter.take()
    return True


def test_junk_gets_a_burst_and_then_its_rate() -> None:
    meter = TokenBucket(limits.JUNK_BURST, limits.JUNK_PER_S, SECOND_US, 0)
    assert sum(allows(meter, 0) for _ in range(1_000)) == limits.JUNK_BURST
    allowed = sum(allows(meter, now_us) for now_us in range(0, 60 * SECOND_US, SECOND_US // 100))
    assert abs(allowed - 60 * limits.JUNK_PER_S) <= limits.JUNK_PER_S


def test_quiet_time_fills_the_burst_and_no_more() -> None:
    meter = TokenBucket(limits.JUNK_BURST, limits.JUNK_PER_S, SECOND_US, 0)
    assert sum(allows(meter, 3_600 * SECOND_US) for _ in range(1_000)) == limits.JUNK_BURST
