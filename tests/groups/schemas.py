"""What private-group-spec 8.1.0 asks of messages, in words of our own: its schemas, held to every element of a list.

Exclusions may be those of version 1.0 of the exclusion document too, which that specification does not know.
"""

import re
from collections.abc import Callable
from typing import Any

B64 = r"[a-zA-Z0-9/+]{42}[AEIMQUYcgkosw048]="
B64_URL = r"[a-zA-Z0-9_\-]{42}[AEIMQUYcgkosw048]="
Check = Callable[[Any], bool]


def matching(pattern: str) -> Check:
    """A text that is all of *pattern*."""
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


SECRET = matching(B64)
MESSAGE = matching(f"ssb:message/classic/{B64_URL}")
PERSON = matching(f"ssb:feed/bendybutt-v1/{B64_URL}")
FEED = matching(f"ssb:feed/(classic|bendybutt-v1)/{B64_URL}")
GROUP = matching(f"ssb:identity/group/{B64_URL}")


def text(value: Any) -> bool:
    """Any text."""
    return isinstance(value, str)


def row(check: Check, least: int, most: int = 1 << 32) -> Check:
    """A list of so many, each of which passes."""
    return lambda value: isinstance(value, list) and least <= len(value) <= most and all(map(check, value))


def members(*checks: Check, more: bool = False) -> Check:
    """A list that passes item by item; *more*: the last check holds for all further ones."""

    def check(value: Any) -> bool:
        if not isinstance(value, list) or len(value) < len(checks) or (len(value) > len(checks) and not more):
            return False
        return all(checks[min(index, len(checks) - 1)](item) for index, item in enumerate(value))

    return check


def fields(
    needed: dict[str, Check], optional: dict[str, Check] | None = None, *, open_: bool = False
) -> Check:
    """An object with these fields; *open_*: and any others."""
    some = optional or {}

    def check(value: Any) -> bool:
        if not isinstance(value, dict) or not needed.keys() <= value.keys():
            return False
        if not open_ and value.keys() - needed.keys() - some.keys():
            return False
        return all(one(value[name]) for name, one in (needed | some).items() if name in value)

    return check


def nothing(value: Any) -> bool:
    """Null."""
    return value is None


FIRST = fields({"root": nothing, "previous": nothing})
UPDATE = fields({"root": MESSAGE, "previous": row(MESSAGE, 1)})
_V2 = matching("v2")

INIT_ROOT = fields(
    {
        "type": matching("group/init"),
        "version": _V2,
        "secret": SECRET,
        "tangles": fields({"group": FIRST, "epoch": FIRST, "members": FIRST}),
    }
)
INIT_EPOCH = fields(
    {
        "type": matching("group/init"),
        "version": _V2,
        "secret": SECRET,
        "tangles": fields({"group": UPDATE, "epoch": UPDATE, "members": FIRST}),
        "recps": members(GROUP, PERSON),
    }
)
ADD_MEMBER = fields(
    {
        "type": matching("group/add-member"),
        "version": _V2,
        "secret": SECRET,
        "root": MESSAGE,
        "creator": PERSON,
        "recps": lambda value: members(GROUP, PERSON, more=True)(value) and len(value) <= 16,
        "tangles": fields({"group": UPDATE, "members": UPDATE}),
    },
    {"text": text, "oldSecrets": row(SECRET, 0)},
)


def _exclude(people: Check) -> Check:
    return fields(
        {
            "type": matching("group/exclude-member"),
            "excludes": people,
            "recps": members(GROUP),
            "tangles": fields({"group": UPDATE, "members": UPDATE}),
        }
    )


EXCLUDE_V0 = _exclude(row(PERSON, 1))
EXCLUDE_V1 = _exclude(
    row(
        fields(
            {
                "id": PERSON,
                "groupFeedId": FEED,
                "sequence": lambda value: type(value) is int and value >= 0,
            }
        ),
        1,
    )
)
CONTENT = fields(
    {"type": text, "recps": members(GROUP), "tangles": fields({"group": UPDATE}, open_=True)}, open_=True
)
_OF_A_GROUP = ("group/init", "group/add-member", "group/exclude-member")


def valid(written: Any) -> bool:
    """Whether *written* is a message of a group, of any kind."""
    if not isinstance(written, dict) or written.get("type") not in _OF_A_GROUP:
        return CONTENT(written)
    return any(check(written) for check in (INIT_ROOT, INIT_EPOCH, ADD_MEMBER, EXCLUDE_V0, EXCLUDE_V1))
