"""Phones of guests: who comes in, which feed a phone writes, quotas, the file."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.errors import BadRequestError, BusyError
from tinyssb_node.ids import FeedId
from tinyssb_node.web import limits
from tinyssb_node.web.errors import PageNotFoundError, PhonesFileError
from tinyssb_node.web.phones import PROOF, Phone, PhoneRegistry, parse_phones, serialize_phones
from tinyssb_node.web.tokens import make_token

CYD, DORA = SigningKey(b"c" * 32), SigningKey(b"d" * 32)


class Clock:
    """A clock that is set."""

    now_s = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now_s


class Hut:
    """A registry, its clock, and the token at the door."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.registry = PhoneRegistry(folder, cookie="phone", secure=False, now_s=self.clock)
        self.token = make_token(folder / "web.guest")

    def enter(self, key: SigningKey | None = None) -> Phone:
        phone, _ = self.registry.enter(self.token)
        return phone if key is None else self.bind(phone, key)

    def bind(self, phone: Phone, key: SigningKey) -> Phone:
        return self.registry.bind(phone, key.feed_id, key.sign(PROOF + phone.challenge))


@pytest.fixture
def hut(tmp_path: Path) -> Hut:
    return Hut(tmp_path)


def test_a_phone_comes_in_by_the_token_and_is_known_by_its_cookie(hut: Hut) -> None:
    phone, cookie = hut.registry.enter(hut.token)
    assert hut.registry.find(Headers({"cookie": f"other=1; phone={cookie}"})) == phone
    for other in ("", "phone=", f"phone={cookie[:-1]}", "phone=\udcff", "=;;="):
        assert hut.registry.find(Headers(raw=[(b"cookie", other.encode("utf-8", "replace"))])) is None
    assert cookie not in (hut.folder / "web-phones.json").read_text()
    assert (hut.folder / "web-phones.json").stat().st_mode & 0o777 == 0o600
    again = PhoneRegistry(hut.folder, cookie="phone", secure=False, now_s=hut.clock)
    assert again.find(Headers({"cookie": f"phone={cookie}"})) == phone


def test_without_the_token_or_with_another_one_nobody_comes_in(hut: Hut) -> None:
    for token in ("", hut.token[:-1], "é", "\udcff"):
        with pytest.raises(PageNotFoundError):
            hut.registry.enter(token)
    (hut.folder / "web.guest").unlink()
    with pytest.raises(PageNotFoundError, match="not the link for guests any more"):
        hut.registry.enter(hut.token)
    assert hut.registry.phones() == []


def test_a_phone_writes_the_feed_whose_key_it_has(hut: Hut) -> None:
    phone = hut.enter()
    with pytest.raises(BadRequestError, match="did not sign"):
        hut.registry.bind(phone, DORA.feed_id, CYD.sign(PROOF + phone.challenge))
    with pytest.raises(BadRequestError, match="did not sign"):
        hut.registry.bind(phone, CYD.feed_id, CYD.sign(phone.challenge))
    other = hut.enter()
    with pytest.raises(BadRequestError, match="did not sign"):
        hut.registry.bind(phone, CYD.feed_id, CYD.sign(PROOF + other.challenge))
    bound = hut.bind(phone, CYD)
    assert bound.feed == CYD.feed_id
    assert hut.bind(bound, CYD) == bound
    with pytest.raises(BadRequestError, match="another feed"):
        hut.bind(bound, DORA)


def test_a_proof_is_no_signature_of_an_entry() -> None:
    """All that entries sign begins with the network's prefix, and is longer."""
    assert not b"tinyssb-v0".startswith(PROOF[:10])
    assert len(PROOF) + 32 < 66


def test_a_person_has_one_place(hut: Hut) -> None:
    first, second = hut.enter(CYD), hut.enter(CYD)
    assert [phone.id for phone in hut.registry.phones()] == [second.id]
    with pytest.raises(BadRequestError, match="revoked"):
        hut.bind(first, CYD)


def test_a_revoked_phone_is_unknown_at_once_also_to_a_page_that_runs(hut: Hut) -> None:
    phone, cookie = hut.registry.enter(hut.token)
    other = PhoneRegistry(hut.folder, cookie="", secure=False, now_s=hut.clock)
    assert other.revoke(phone.id)
    assert hut.registry.find(Headers({"cookie": f"phone={cookie}"})) is None
    assert not other.revoke(phone.id)
    with pytest.raises(BadRequestError, match="revoked"):
        hut.bind(phone, CYD)


def test_only_so_many_come_in_an_hour(hut: Hut) -> None:
    for _ in range(limits.PHONES_PER_HOUR):
        hut.enter()
    with pytest.raises(BusyError, match="within an hour"):
        hut.enter()
    hut.clock.now_s += 3_600
    hut.enter()


def test_phones_that_write_nothing_make_room_and_writers_never(hut: Hut) -> None:
    writers = []
    for number in range(limits.PHONES_MAX - 1):
        hut.clock.now_s += 600
        writers.append(hut.enter(SigningKey(bytes([number]) * 32)))
    idle = hut.enter()
    hut.clock.now_s += 600
    last = hut.enter()
    assert {phone.id for phone in hut.registry.phones()} == {*(one.id for one in writers), last.id}
    assert idle.id not in {phone.id for phone in hut.registry.phones()}
    hut.bind(last, SigningKey(b"\xff" * 32))
    hut.clock.now_s += 600
    with pytest.raises(BusyError, match="guests write at this node"):
        hut.enter()


def test_a_phone_and_all_guests_together_have_quotas(hut: Hut) -> None:
    phones = [hut.enter(SigningKey(bytes([number]) * 32)) for number in range(5)]
    hut.registry.charge(phones[0], limits.PHONE_PACKETS)
    with pytest.raises(BusyError, match="packets an hour of a guest"):
        hut.registry.charge(phones[0], 1)
    for phone in phones[1:4]:
        hut.registry.charge(phone, limits.PHONE_PACKETS)
    assert hut.registry.packets_left(phones[4]) == 0
    with pytest.raises(BusyError):
        hut.registry.charge(phones[4], 1)
    hut.clock.now_s += 3_600
    assert hut.registry.packets_left(phones[4]) == limits.PHONE_PACKETS


def test_what_the_node_did_not_take_is_given_back_within_its_hour(hut: Hut) -> None:
    phone = hut.enter(CYD)
    charge = hut.registry.charge(phone, 100)
    hut.clock.now_s += 60
    hut.registry.charge(phone, 20)
    hut.registry.give_back(phone, charge, 40)
    assert hut.registry.packets_left(phone) == 40
    hut.clock.now_s += 3_540
    assert hut.registry.packets_left(phone) == limits.PHONE_PACKETS - 20
    hut.clock.now_s += 60
    assert hut.registry.packets_left(phone) == limits.PHONE_PACKETS


def test_a_message_of_the_most_letters_fits_one_request() -> None:
    content = limits.TEXT_MAX + 64  # of letters of one byte
    assert 1 + -(-content // 100) <= limits.PUBLISH_PACKETS_MAX
    assert limits.PUBLISH_PACKETS_MAX <= limits.PHONE_PACKETS <= limits.GUEST_PACKETS


PHONES = st.lists(
    st.builds(
        Phone,
        id=st.binary(min_size=4, max_size=4).map(bytes.hex),
        secret=st.binary(min_size=32, max_size=32).map(bytes.hex),
        feed=st.none() | st.binary(min_size=32, max_size=32).map(FeedId),
        entered_s=st.integers(0, 2**40),
    ),
    max_size=5,
)


@given(PHONES)
def test_what_is_written_is_read(phones: list[Phone]) -> None:
    assert parse_phones(Path("phones"), serialize_phones(phones)) == phones


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda each: st.lists(each) | st.dictionaries(st.text(), each)
    )
)
def test_other_files_are_refused(value: object) -> None:
    for text in (json.dumps(value), json.dumps({"version": 1, "phones": [value]}), "{"):
        with pytest.raises(PhonesFileError) as caught:
            parse_phones(Path("phones"), text)
        assert "rm phones" in caught.value.hint


def test_the_frozen_file_is_read() -> None:
    file = Path(__file__).parents[1] / "vectors" / "web" / "phones-1.json"
    first, second = parse_phones(file, file.read_text())
    assert (first.id, first.feed, first.entered_s) == ("0a1b2c3d", CYD.feed_id, 1_800_000_000)
    assert second.feed is None
    assert serialize_phones([first, second]) == file.read_text()


def test_a_file_of_a_later_version_is_left_alone(hut: Hut) -> None:
    file = hut.folder / "web-phones.json"
    file.write_text('{"version": 2, "phones": []}')
    with pytest.raises(PhonesFileError, match="version 2"):
        hut.enter()
    assert json.loads(file.read_text())["version"] == 2
