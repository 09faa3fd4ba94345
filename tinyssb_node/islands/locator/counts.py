"""What a locator did and holds, in numbers."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LocatorCounters:
    """Of one locator, since it began or now."""

    historic: int
    unconfirmed: int
    confirmed: int
    labels: int
    """Resources in the map."""
    locations: int
    """Of all of them."""
    resources: int
    """Local ones."""
    seeks: int
    """Lookups that go on."""
    reached: bool
    """True if somebody who had not heard of us from ourselves pinged us: we can be reached."""
    received: Mapping[str, int]
    """Messages by type: ``ping``, ``pong_one``, ``pong_two``, ``report``, ``report_cookie``, ``post``, ``query``."""
    sent: Mapping[str, int]
    received_bytes: int
    """All that came in, dropped or not, without the headers of UDP and below."""
    sent_bytes: int
    drops: Mapping[str, int]
    """Messages that were not done as they asked, by reason: the error's class without ``Error``, or a word."""
