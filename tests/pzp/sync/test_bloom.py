import json

from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from tests.pzp.sync.replicas import Replica, world
from tests.pzp.sync.test_packets import FROZEN
from tinyssb_node.pzp.sync import limits
from tinyssb_node.pzp.sync.holdings import Bloom, TangleHoldings, digests, make_bloom


def test_frozen_filters_and_digests() -> None:
    frozen = json.loads(FROZEN.with_name("filters_v1.json").read_text("utf-8"))
    for record in frozen["filters"]:
        assert make_bloom(record["items"], bytes.fromhex(record["salt"])).hex() == record["filter"]
    record = frozen["digest"]
    held = world(0, 6).fill(Replica())
    assert world(0, 6).ids() == record["feed"]
    nonce, listed = bytes.fromhex(record["nonce"]), "\n".join(record["items"])
    assert blake3(nonce + listed.encode()).hexdigest()[:32] == record["digest"]
    (found,) = digests(held, TangleHoldings(held, record["feed"][0]), 0, nonce)
    assert (found.high, found.value.hex()) == (record["high"], record["digest"])


@given(st.sets(st.text(max_size=30), max_size=60), st.binary(max_size=9))
def test_all_that_went_in_is_in_it(items: set[str], salt: bytes) -> None:
    bloom = Bloom(make_bloom(items, salt), salt)
    assert all(item in bloom for item in items)


@given(st.binary(max_size=100), st.text())
def test_any_bytes_are_a_filter(bits: bytes, item: str) -> None:
    assert (item in Bloom(bits, b"")) in (True, False)
    assert item not in Bloom(b"", b"")
    assert item not in Bloom(bytes(len(bits)), b"")
    assert item in Bloom(b"\xff" * (len(bits) + 1), b"")


def test_it_rarely_errs_and_never_twice_about_the_same() -> None:
    items = [f"in {number}" for number in range(limits.WINDOW_IDS_MAX)]
    others = [f"out {number}" for number in range(30_000)]
    bits = [make_bloom(items, salt) for salt in (b"1", b"2")]
    assert len(bits[0]) == 3 * limits.WINDOW_IDS_MAX + limits.FILTER_BITS_MORE // 8 <= limits.FILTER_SIZE_MAX
    wrong = [
        {one for one in others if one in Bloom(bits_, salt)}
        for bits_, salt in zip(bits, (b"1", b"2"), strict=True)
    ]
    assert all(len(some) < 10 for some in wrong)
    assert not wrong[0] & wrong[1]
    assert make_bloom([], b"") == b""
