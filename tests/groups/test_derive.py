"""Keys out of keys."""

import hmac
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.groups.vectors import cases, context_of_case
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.derive import derive, expand, hkdf, labels, mac

CASES = cases("derive_secret")


@pytest.mark.parametrize(
    "case", [case for case in CASES if "read_key" in case], ids=lambda case: str(case["id"])
)
def test_keys_of_a_message_are_those_of_envelope_js(case: dict[str, Any]) -> None:
    message_key = bytes.fromhex(case["msg_key"])
    read_key = derive(message_key, context_of_case(case), labels(b"read_key"))
    assert read_key.hex() == case["read_key"]
    assert derive(read_key, context_of_case(case), labels(b"header_key")).hex() == case["header_key"]
    assert derive(read_key, context_of_case(case), labels(b"body_key")).hex() == case["body_key"]
    misspelt = derive(message_key, context_of_case(case), labels(b"extentions"))
    assert misspelt.hex() == case["extensions_key_label_extentions"]


@pytest.mark.parametrize(
    "case", [case for case in CASES if "derived" in case], ids=lambda case: str(case["id"])
)
def test_other_keys_too_of_any_length(case: dict[str, Any]) -> None:
    key = bytes.fromhex(case.get("recipient_key") or case["msg_key"])
    names = labels(*(name.encode() for name in case["labels_utf8"]))
    derived = derive(key, context_of_case(case), names, case.get("length", group_limits.SECRET_SIZE))
    if isinstance(case["derived"], str):
        assert derived.hex() == case["derived"]
    else:
        assert sha256(derived).hexdigest() == case["derived"]["sha256"]


def test_what_cannot_be_derived_is_refused() -> None:
    assert {case["id"] for case in CASES if "expect_error" in case} == {
        "derive-err-empty-label",
        "derive-err-nil-unknown-feed",  # there is no such value here
    }
    with pytest.raises(ValueError, match="empty"):
        labels(b"slot_key", b"")
    for size in (0, group_limits.EXPAND_MAX + 1):
        with pytest.raises(ValueError, match="bytes of key"):
            expand(bytes(32), b"", size)
    with pytest.raises(ValueError, match="65 bytes"):
        mac(bytes(65), b"")


@given(st.binary(max_size=64), st.binary(max_size=200))
def test_the_mac_is_that_of_the_standard_library(key: bytes, message: bytes) -> None:
    assert mac(key, message) == hmac.digest(key, message, "sha256")


def test_hkdf_is_that_of_the_rfc() -> None:
    """RFC 5869, A.1 and A.3, cut to 32 bytes."""
    made = hkdf(b"\x0b" * 22, bytes(range(13)), bytes(range(0xF0, 0xFA)))
    assert made.hex() == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
    made = hkdf(b"\x0b" * 22, b"", b"")
    assert made.hex() == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
