from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.pzpsync import limits
from tinyssb_node.pzpsync.bloom import Bloom, make_bloom


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
    others = [f"out {number}" for number in range(100_000)]
    bits = [make_bloom(items, salt) for salt in (b"1", b"2")]
    assert len(bits[0]) == 3 * limits.WINDOW_IDS_MAX + limits.FILTER_BITS_MORE // 8 <= limits.FILTER_SIZE_MAX
    wrong = [
        {one for one in others if one in Bloom(bits_, salt)}
        for bits_, salt in zip(bits, (b"1", b"2"), strict=True)
    ]
    assert all(len(some) < 20 for some in wrong)
    assert not wrong[0] & wrong[1]
    assert make_bloom([], b"") == b""
