"""Cookies: a time and a keyed hash over it and what it is for; nobody else can make one."""

from enum import Enum
from hashlib import blake2b
from hmac import compare_digest

from tinyssb_node.islands.locator import limits

_MASK = 2 ** (8 * limits.COOKIE_TIME_SIZE) - 1


class CookiePurpose(Enum):
    """What a cookie is for: one for a ping is none for a query."""

    PONG = b"locator pong"
    REPORT = b"locator report"
    RELAY = b"locator relay"


class CookieMaker:
    """Makes cookies, and knows its own again."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def make(self, use: CookiePurpose, subject: bytes, now_us: int) -> bytes:
        """A cookie for *subject*: a peer's addresses, or a label."""
        return self._seal(use, subject, (now_us // 1_000 & _MASK).to_bytes(limits.COOKIE_TIME_SIZE, "big"))

    def age_us(
        self, cookie: bytes, use: CookiePurpose, subject: bytes, now_us: int, most_us: int
    ) -> int | None:
        """How long ago it was made, to a millisecond; None if it is not ours for that, or older than *most_us*."""
        time = cookie[: limits.COOKIE_TIME_SIZE]
        if len(cookie) != limits.COOKIE_SIZE or not compare_digest(cookie, self._seal(use, subject, time)):
            return None
        age_us = 1_000 * ((now_us // 1_000 - int.from_bytes(time, "big")) & _MASK)
        return age_us if age_us <= most_us else None

    def _seal(self, use: CookiePurpose, subject: bytes, time: bytes) -> bytes:
        digest = blake2b(
            time + subject, digest_size=limits.COOKIE_MAC_SIZE, key=self._secret, person=use.value
        ).digest()
        return time + digest
