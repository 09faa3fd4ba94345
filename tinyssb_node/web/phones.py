"""Phones of guests: device sessions of the page that can be revoked, and the feed that each phone writes.

A phone writes with its own key (docs/formats/web-phones.md). The node carries what it signed, without having the key.
"""

import fcntl
import hashlib
import hmac
import json
import os
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response

from tinyssb_node.codec.crypto import verify
from tinyssb_node.errors import BadRequestError, BusyError
from tinyssb_node.ids import FeedId
from tinyssb_node.store.durable import in_the_place_of
from tinyssb_node.web import limits
from tinyssb_node.web.errors import PageNotFoundError, PhonesFileError
from tinyssb_node.web.tokens import read_token

PROOF: Final = b"tinyssb web phone 1\x00"
"""Stands before the challenge that a phone signs, so that no signature of it is one of an entry."""
_VERSION: Final = 1
_HOUR_S: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class Phone:
    """A phone that came in by the guests' link."""

    id: str
    """8 hexadecimal digits, by which it is named and revoked."""
    secret: str
    """SHA-256 of its cookie, in digits: the file lets nobody in."""
    feed: FeedId | None
    """The feed that it writes; None until it has shown that it has the key."""
    entered_s: int
    """Seconds since 1970."""

    @property
    def challenge(self) -> bytes:
        """The 32 bytes that it signs to show that it has a key."""
        return hashlib.sha256(b"challenge" + bytes.fromhex(self.secret)).digest()


@dataclass(frozen=True, slots=True)
class Charge:
    """Packets of a phone that count for an hour."""

    charged_s: float
    packets: int


class PhoneRegistry:
    """The phones of one node: a file that the page and the command line share."""

    def __init__(self, folder: Path, *, cookie: str, secure: bool, now_s: Callable[[], float]) -> None:
        """Use the files in *folder*; *cookie* is the name of their cookies, *secure* ones are sent over TLS only."""
        self._token_file = folder / "web.guest"
        self._file = folder / "web-phones.json"
        self._lock = folder / "web-phones.lock"
        self._cookie = cookie
        self._secure = secure
        self._now_s = now_s
        self._entered: deque[float] = deque()
        self._sent: dict[str, list[Charge]] = {}

    def phones(self) -> list[Phone]:
        """Return all phones. Raises PhonesFileError."""
        try:
            text = self._file.read_text("utf-8")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise PhonesFileError(self._file, str(error)) from error
        return parse_phones(self._file, text)

    def enter(self, token: str) -> tuple[Phone, str]:
        """Return a new phone that showed the guests' token, and its cookie.

        Raises PageNotFoundError: it is not the token, or there is none; BusyError: too many came; PhonesFileError.
        """
        known = read_token(self._token_file)
        if known is None or not hmac.compare_digest(known.encode(), token.encode("utf-8", "replace")):
            raise PageNotFoundError(
                "This is not the link for guests any more.",
                "Scan the code at the door again, or ask your host.",
            )
        now_s = self._now_s()
        while self._entered and self._entered[0] <= now_s - _HOUR_S:
            self._entered.popleft()
        if len(self._entered) >= limits.PHONES_PER_HOUR:
            raise BusyError(
                f"{limits.PHONES_PER_HOUR} phones came in within an hour, as many as may.",
                "Try again in an hour.",
            )
        cookie = secrets.token_hex(16)
        phone = Phone(secrets.token_hex(4), hashlib.sha256(cookie.encode()).hexdigest(), None, int(now_s))
        with self._locked():
            self._store([*_room(self.phones()), phone])
        self._entered.append(now_s)
        return phone, cookie

    def let_in(self, answer: Response, cookie: str) -> None:
        """Set a phone's cookie."""
        answer.set_cookie(
            self._cookie, cookie, limits.PHONE_AGE_S, httponly=True, samesite="strict", secure=self._secure
        )

    def find(self, headers: Headers) -> Phone | None:
        """Return the phone that a request comes from; None: it is none, or was revoked. Raises PhonesFileError."""
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return None
        if self._cookie not in cookies:
            return None
        secret = hashlib.sha256(cookies[self._cookie].value.encode("utf-8", "replace")).hexdigest()
        return next((one for one in self.phones() if hmac.compare_digest(one.secret, secret)), None)

    def bind(self, phone: Phone, feed: FeedId, signature: bytes) -> Phone:
        """Note that *phone* writes *feed*, whose key signed its challenge. Raises BadRequestError, PhonesFileError."""
        if phone.feed not in {None, feed}:
            raise BadRequestError("This phone writes another feed.")
        if not verify(feed, signature, PROOF + phone.challenge):
            raise BadRequestError("The key did not sign the challenge of this phone.")
        with self._locked():
            phones = self.phones()
            if phone.id not in {one.id for one in phones}:
                raise BadRequestError("This phone was revoked.")
            # A person who came in anew with the same key has one place.
            kept = [one for one in phones if one.feed != feed or one.id == phone.id]
            bound = replace(phone, feed=feed)
            self._store([bound if one.id == phone.id else one for one in kept])
        return bound

    def revoke(self, id_: str) -> bool:
        """Lock a phone out. Return False if there is none with this id. Raises PhonesFileError."""
        with self._locked():
            phones = self.phones()
            kept = [one for one in phones if one.id != id_]
            if len(kept) < len(phones):
                self._store(kept)
        return len(kept) < len(phones)

    # --- Quotas ---

    def packets_left(self, phone: Phone) -> int:
        """Return how many packets the node takes of *phone* now, within its own quota and that of all guests."""
        self._forget_old()
        everybody = sum(charge.packets for sent in self._sent.values() for charge in sent)
        own = sum(charge.packets for charge in self._sent.get(phone.id, ()))
        return max(0, min(limits.PHONE_PACKETS - own, limits.GUEST_PACKETS - everybody))

    def charge(self, phone: Phone, packets: int) -> Charge:
        """Count *packets* of *phone*. Raises BusyError, and counts nothing, if that is more than are left."""
        if packets > self.packets_left(phone):
            raise BusyError(
                f"The node takes {limits.PHONE_PACKETS} packets an hour of a guest, and {limits.GUEST_PACKETS} of all.",
                "Your messages wait on your phone, and are sent later.",
            )
        charge = Charge(self._now_s(), packets)
        self._sent.setdefault(phone.id, []).append(charge)
        return charge

    def give_back(self, phone: Phone, charge: Charge, packets: int) -> None:
        """Count *packets* of a charge no longer: the node had them already, or could not take them."""
        sent = self._sent.get(phone.id, [])
        if charge in sent:  # else it is an hour old
            sent.remove(charge)
            if packets < charge.packets:
                sent.append(replace(charge, packets=charge.packets - packets))

    def _forget_old(self) -> None:
        since_s = self._now_s() - _HOUR_S
        recent = {
            id_: [charge for charge in sent if charge.charged_s > since_s] for id_, sent in self._sent.items()
        }
        self._sent = {id_: sent for id_, sent in recent.items() if sent}

    # --- The file ---

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from writing the file meanwhile."""
        try:
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise PhonesFileError(self._lock, str(error)) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _store(self, phones: list[Phone]) -> None:
        try:
            with in_the_place_of(self._file) as file:
                file.write(serialize_phones(phones).encode())
        except OSError as error:
            raise PhonesFileError(self._file, str(error)) from error


def _room(phones: list[Phone]) -> list[Phone]:
    """Return the phones without the one that makes room for another: the oldest that writes nothing.

    Raises BusyError.
    """
    if len(phones) < limits.PHONES_MAX:
        return phones
    idle = next((one for one in phones if one.feed is None), None)
    if idle is None:
        raise BusyError(
            f"{limits.PHONES_MAX} guests write at this node, the most that it takes.",
            "Your host can revoke some.",
        )
    return [one for one in phones if one != idle]


def parse_phones(file: Path, text: str) -> list[Phone]:
    """Parse the file (docs/formats/web-phones.md). Raises PhonesFileError."""
    try:
        found = json.loads(text)
        if found["version"] != _VERSION:
            raise PhonesFileError(file, f"it has version {found['version']}, and not {_VERSION}")
        return [
            Phone(
                id=_digits(one["id"], 8),
                secret=_digits(one["secret"], 64),
                feed=None if one["feed"] is None else FeedId.from_hex(one["feed"]),
                entered_s=int(one["entered_s"]),
            )
            for one in found["phones"]
        ]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PhonesFileError(file, "it is not a list of phones") from error


def _digits(text: object, size: int) -> str:
    if not isinstance(text, str) or len(text) != size or len(bytes.fromhex(text)) * 2 != size:
        raise ValueError(f"not {size} digits")
    return text


def serialize_phones(phones: list[Phone]) -> str:
    """Return the file's text."""
    rows = [
        {
            "id": one.id,
            "secret": one.secret,
            "feed": None if one.feed is None else one.feed.hex(),
            "entered_s": one.entered_s,
        }
        for one in phones
    ]
    return json.dumps({"version": _VERSION, "phones": rows}, indent=1) + "\n"
