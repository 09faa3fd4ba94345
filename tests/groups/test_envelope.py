"""Envelopes: those of another implementation, both ways, and what strangers and authors may do to them."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nacl.bindings import crypto_secretbox, crypto_secretbox_open

from tests.groups.vectors import cases, context_of_case, is_ours, slot_keys
from tinyssb_node.errors import PeerError
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.bfe import EnvelopeContext, context_of
from tinyssb_node.groups.derive import derive, labels
from tinyssb_node.groups.envelope import (
    EnvelopePart,
    MalformedEnvelopeError,
    SlotKey,
    SlotScheme,
    UnwritableEnvelopeError,
    box,
    read_key_of,
    slot_of,
    unbox,
)
from tinyssb_node.ids import FeedId, MessageId

HERE = context_of(FeedId(bytes(range(32))), MessageId(bytes(range(20))))
GROUP = SlotKey(b"\x01" * 32, SlotScheme.GROUP)
OWN = SlotKey(b"\x02" * 32, SlotScheme.OWN)
MEMBERS = [SlotKey(bytes([3, number]) * 16, SlotScheme.MEMBER) for number in range(20)]
STRANGER = SlotKey(b"\x04" * 32, SlotScheme.MEMBER)
MESSAGE_KEY = bytes(range(1, 33))
PLAIN = b"soup is ready"

REFUSED = {
    "err-empty-plaintext": EnvelopePart.TEXT,
    "err-zero-msg-key": None,
    "err-no-recipients": EnvelopePart.RECIPIENTS,
    "err-17-recipients": EnvelopePart.RECIPIENTS,
    "err-two-groups": EnvelopePart.GROUPS,
    "err-missing-scheme": None,
}
"""The part that is wrong; None: a ValueError. The other case has a recipient of classic feeds."""
BROKEN = {
    "fail-tampered-body-mac": EnvelopePart.BODY,
    "fail-truncated-body": EnvelopePart.BODY,
    "fail-extended-body": EnvelopePart.BODY,
    "fail-truncated-to-slots": EnvelopePart.OFFSET,
    "craft-offset-past-end": EnvelopePart.OFFSET,
    "craft-offset-no-room-for-mac": EnvelopePart.OFFSET,
}
"""Envelopes that are ours and malformed. All others that do not open may be for others."""
OTHER_DEPTH = {
    "fail-group-key-in-slot-2-depth-1",  # with the key of a person, which we try on all slots
    "ok-slots-swapped-depth16",  # with the key of a group, which we try on the first one
}
"""Envelopes that envelope-js tries on a number of slots given by its caller, and we on what the key's scheme says."""


def named(case: dict[str, Any]) -> str:
    """Return the name of a case."""
    return str(case["id"])


@pytest.mark.parametrize("case", [case for case in cases("slots") if is_ours(case["recipient"])], ids=named)
def test_slots_are_those_of_envelope_js(case: dict[str, Any]) -> None:
    (recipient,) = slot_keys([case["recipient"]])
    message_key, slot = bytes.fromhex(case["msg_key"]), bytes.fromhex(case["key_slot"])
    assert slot_of(message_key, context_of_case(case), recipient) == slot
    assert slot_of(slot, context_of_case(case), recipient) == message_key


@pytest.mark.parametrize("case", [*cases("box"), *cases("tinyssb_context")], ids=named)
def test_we_seal_the_same_bytes_and_every_recipient_opens_them(case: dict[str, Any]) -> None:
    recipients, message_key = slot_keys(case["recipients"]), bytes.fromhex(case["msg_key"])
    plain, envelope = bytes.fromhex(case["plain_text"]), bytes.fromhex(case["ciphertext"])
    assert len(envelope) == case["ciphertext_length"] == 48 + 32 * len(recipients) + len(plain)
    if len(recipients) > group_limits.SLOTS_MAX:
        with pytest.raises(UnwritableEnvelopeError, match="for 1 to 16 recipients"):
            box(plain, context_of_case(case), recipients, message_key)
    else:
        assert box(plain, context_of_case(case), recipients, message_key) == envelope
    for number, recipient in enumerate(recipients):
        opened = unbox(envelope, context_of_case(case), [STRANGER, recipient])
        if number >= group_limits.SLOTS_MAX:
            assert opened is None
            continue
        assert opened is not None
        assert (opened.plain, opened.key, opened.slot) == (plain, 1, number)
        assert opened.read_key == read_key_of(message_key, context_of_case(case))
        assert opened.read_key.hex() == case.get("read_key", opened.read_key.hex())


def malformed(part: EnvelopePart, reason: str = "") -> Any:
    """Expect that an envelope is refused because of *part*."""
    reasons = {
        EnvelopePart.OFFSET: "the body of an envelope begins at byte",
        EnvelopePart.FLAGS: "extensions that nobody has specified",
        EnvelopePart.BODY: "changed after it was sealed",
    }
    return pytest.raises(MalformedEnvelopeError, match=reason or reasons[part])


@pytest.mark.parametrize("case", cases("unbox"), ids=named)
def test_we_open_what_we_must_and_nothing_else(case: dict[str, Any]) -> None:
    def opened() -> str | None:
        found = unbox(
            bytes.fromhex(case["ciphertext"]),
            context_of_case(case),
            slot_keys(case["trial_keys"]),
        )
        return None if found is None else found.plain.hex()

    if case["id"] in BROKEN:
        assert case["expect"] is None
        with malformed(BROKEN[case["id"]]):
            opened()
    elif case["id"] in OTHER_DEPTH:
        assert (opened() is None) != (case["expect"] is None)
    else:
        assert opened() == case["expect"]


@pytest.mark.parametrize("case", [case for case in cases("box_errors") if case["id"] in REFUSED], ids=named)
def test_what_must_not_be_sealed_is_refused(case: dict[str, Any]) -> None:
    assert case["expect_error"]
    part = REFUSED[case["id"]]
    with pytest.raises(ValueError if part is None else UnwritableEnvelopeError) as refused:
        box(
            bytes.fromhex(case["plain_text"]),
            HERE,
            slot_keys(case["recipients"]),
            bytes.fromhex(case["msg_key"]),
        )
    assert getattr(refused.value, "part", None) is part


def test_keys_have_32_bytes() -> None:
    for size in (0, 31, 33):
        with pytest.raises(ValueError, match="32 bytes"):
            SlotKey(bytes(size), SlotScheme.GROUP)
        with pytest.raises(ValueError, match="32 bytes"):
            box(PLAIN, HERE, [GROUP], b"\x01" * size)


def test_no_secret_is_shown() -> None:
    opened = unbox(box(PLAIN, HERE, [GROUP], MESSAGE_KEY), HERE, [GROUP])
    assert opened is not None
    shown = repr((opened, GROUP))
    assert "soup" not in shown
    assert "x01" not in shown
    assert repr(opened.read_key) not in shown


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from([OWN, *MEMBERS]), max_size=15, unique=True),
    st.booleans(),
    st.binary(min_size=1, max_size=300),
    st.binary(min_size=32, max_size=32).filter(any),
)
def test_recipients_read_it_and_nobody_else(
    others: list[SlotKey], with_group: bool, plain: bytes, message_key: bytes
) -> None:
    recipients = [GROUP] * with_group + others
    assume(recipients)
    envelope = box(plain, HERE, recipients, message_key)
    assert len(envelope) >= group_limits.ENVELOPE_MIN_SIZE
    everybody = [GROUP, OWN, *MEMBERS]
    for number, key in enumerate(everybody):
        opened = unbox(envelope, HERE, [key])
        assert (opened is not None) == (key in recipients), number
        if opened is not None:
            assert (opened.plain, opened.slot) == (plain, recipients.index(key))
    best = unbox(envelope, HERE, [STRANGER, *everybody])
    assert best is not None
    assert everybody[best.key - 1] == min(recipients, key=everybody.index)


OTHERWISE = [
    context_of(FeedId(bytes(32)), MessageId(bytes(range(20)))),
    context_of(FeedId(bytes(range(32))), MessageId(bytes(20))),
    EnvelopeContext(b"\x00\x00" + bytes(range(32)), HERE.previous),
]


@pytest.mark.parametrize("elsewhere", OTHERWISE, ids=("feed", "previous", "format"))
def test_at_another_place_it_opens_for_nobody(elsewhere: EnvelopeContext) -> None:
    recipients = [GROUP, OWN, *MEMBERS[:3]]
    assert unbox(box(PLAIN, HERE, recipients, MESSAGE_KEY), elsewhere, recipients) is None


@pytest.mark.parametrize("scheme", [scheme for scheme in SlotScheme if scheme is not SlotScheme.GROUP])
def test_the_right_key_for_another_purpose_does_not_open_it(scheme: SlotScheme) -> None:
    envelope = box(PLAIN, HERE, [GROUP], MESSAGE_KEY)
    assert unbox(envelope, HERE, [SlotKey(GROUP.key, scheme)]) is None


@pytest.mark.parametrize("reader", range(3))
def test_whichever_byte_is_changed_nothing_false_is_read(reader: int) -> None:
    recipients = [GROUP, OWN, MEMBERS[0]]
    envelope = box(PLAIN, HERE, recipients, MESSAGE_KEY)
    for at in range(len(envelope)):
        for change in (0x01, 0x80, 0xFF):
            changed = bytearray(envelope)
            changed[at] ^= change
            slot = (at - group_limits.HEADER_BOX_SIZE) // group_limits.SLOT_SIZE
            if at >= group_limits.HEADER_BOX_SIZE + len(recipients) * group_limits.SLOT_SIZE:
                with malformed(EnvelopePart.BODY):
                    unbox(bytes(changed), HERE, [recipients[reader]])
                continue
            opened = unbox(bytes(changed), HERE, [recipients[reader]])
            if at < group_limits.HEADER_BOX_SIZE or slot == reader:
                assert opened is None
            else:  # slots have no tags: another's may be broken, which its owner alone can see
                assert opened is not None
                assert opened.plain == PLAIN


def test_cut_off_or_longer_it_is_an_error_or_for_nobody() -> None:
    envelope = box(PLAIN, HERE, [GROUP, OWN], MESSAGE_KEY)
    for length in range(len(envelope)):
        for key in (GROUP, OWN):
            try:
                assert unbox(envelope[:length], HERE, [key]) is None
            except PeerError:
                assert length >= group_limits.ENVELOPE_MIN_SIZE
    for more in (b"\x00", bytes(100)):
        with malformed(EnvelopePart.BODY):
            unbox(envelope + more, HERE, [OWN])


@settings(deadline=None)
@given(st.binary(max_size=700))
def test_any_bytes_are_somebody_elses(envelope: bytes) -> None:
    assert unbox(envelope, HERE, [GROUP, OWN, *MEMBERS[:2]]) is None


def crafted(
    offset: int, flags: int, recipients: Sequence[SlotKey], tail: bytes, rest: bytes = bytes(13)
) -> bytes:
    """An envelope whose header says what it wants; *tail* stands behind the slots."""
    header = offset.to_bytes(2, "little") + bytes([flags]) + rest
    read_key = read_key_of(MESSAGE_KEY, HERE)
    boxed = crypto_secretbox(header, bytes(24), derive(read_key, HERE, labels(b"header_key")))
    return boxed + b"".join(slot_of(MESSAGE_KEY, HERE, one) for one in recipients) + tail


def body(plain: bytes) -> bytes:
    """The boxed body of such an envelope."""
    key = derive(read_key_of(MESSAGE_KEY, HERE), HERE, labels(b"body_key"))
    return crypto_secretbox(plain, bytes(24), key)


def test_an_author_may_leave_room_and_use_bytes_that_mean_nothing_yet() -> None:
    for room in (0, 1, 31, 32, 200):
        opened = unbox(
            crafted(96 + room, 0, [GROUP, OWN], b"\x07" * room + body(PLAIN), b"\x09" * 13), HERE, [OWN]
        )
        assert opened is not None
        assert opened.plain == PLAIN


def test_an_offset_into_slots_or_beyond_the_end_is_an_error() -> None:
    tail = body(PLAIN)
    for offset in (0, 31, 64, 95, 96 + len(tail) - 16, 96 + len(tail), 0xFFFF):
        with malformed(EnvelopePart.OFFSET, f"at byte 96 to .*, not at {offset}$"):
            unbox(crafted(offset, 0, [GROUP, OWN], tail), HERE, [OWN])
    with malformed(EnvelopePart.BODY):  # the reader of the first slot takes the second for the body
        unbox(crafted(64, 0, [GROUP, OWN], tail), HERE, [GROUP])


def test_an_empty_body_is_an_error() -> None:
    assert unbox(crafted(64, 0, [GROUP], body(b"")), HERE, [GROUP]) is None, "too short for any envelope"
    with malformed(EnvelopePart.OFFSET):
        unbox(crafted(96, 0, [GROUP, OWN], body(b"")), HERE, [GROUP])


@pytest.mark.parametrize("flags", [1, 0x80, 0xFF])
def test_extensions_that_nobody_has_specified_are_an_error(flags: int) -> None:
    with malformed(EnvelopePart.FLAGS):
        unbox(crafted(64, flags, [GROUP], body(PLAIN)), HERE, [GROUP])


def test_a_group_key_is_tried_on_the_first_slot_and_others_on_sixteen() -> None:
    behind = crafted(96, 0, [OWN, GROUP], body(PLAIN))
    assert unbox(behind, HERE, [GROUP]) is None
    for number in (15, 16):
        recipients = [*MEMBERS[:number], OWN]
        opened = unbox(crafted(64 + 32 * number, 0, recipients, body(PLAIN)), HERE, [OWN])
        assert (opened is not None) == (number < group_limits.SLOTS_MAX)


def test_an_envelope_costs_as_much_as_its_slots_and_not_as_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[int] = []

    def count(boxed: bytes, nonce: bytes, key: bytes) -> bytes:
        tried.append(len(boxed))
        return crypto_secretbox_open(boxed, nonce, key)

    monkeypatch.setattr("tinyssb_node.groups.envelope.crypto_secretbox_open", count)
    keys = [GROUP] * 20 + [OWN, MEMBERS[0]]
    for length, slots in ((80, 0), (81, 1), (112, 1), (113, 2), (592, 16), (1 << 20, 16)):
        tried.clear()
        assert unbox(bytes(length), HERE, keys) is None
        assert tried == [group_limits.HEADER_BOX_SIZE] * (20 * min(slots, 1) + 2 * slots)
    with pytest.raises(ValueError, match="257 keys"):
        unbox(bytes(81), HERE, [GROUP] * 257)


def test_errors_say_what_was_wrong_with_the_recipients() -> None:
    with pytest.raises(UnwritableEnvelopeError, match="groups stand at 2, 3"):
        box(PLAIN, HERE, [OWN, GROUP, GROUP], MESSAGE_KEY)
