"""The versions of PZP's messages, each a table of fields and rules; taking messages, and writing them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.pzp.messages import base58, message, rules
from tinyssb_node.pzp.messages.errors import MessageError, PzpRule
from tinyssb_node.pzp.messages.jsontext import Json, canonical
from tinyssb_node.pzp.messages.message import (
    IDENTITY_TYPE,
    V1_FIELDS,
    V2_FIELDS,
    V4_FIELDS,
    FieldLayout,
)
from tinyssb_node.pzp.messages.rules import Rule, ValidationCase
from tinyssb_node.pzp.messages.tangle import PzpTangle


@dataclass(frozen=True, slots=True)
class PzpVersion:
    """One version of the format."""

    name: str
    """For people."""
    fields: FieldLayout
    compat: tuple[Rule, ...]
    """The original program's rules, in its order."""
    strict: tuple[Rule, ...]
    """The rules that hold by default, in the order in which they are asked."""
    compat_feed_root: tuple[Rule, ...] | None = None
    """The original program's rules for a feed's root, if they are others."""

    def rules(self, case: ValidationCase, *, strict: bool) -> tuple[Rule, ...]:
        """The rules for *case*."""
        if strict or self.compat_feed_root is None or not _may_be_feed_root(case):
            return self.strict if strict else self.compat
        return self.compat_feed_root

    def is_unowned_root(self, case: ValidationCase) -> bool:
        """Return True for a feed's root for which nobody asks whether its group is known."""
        return self.compat_feed_root is not None and _may_be_feed_root(case)


def _may_be_feed_root(case: ValidationCase) -> bool:
    """Return True if *case*, of any shape, is that of a feed's root."""
    return case.metadata.keys() >= case.fields.inner and rules.is_feed_root(case)


def _before_signature(compat: tuple[Rule, ...], *more: Rule) -> tuple[Rule, ...]:
    """*compat* with *more*: a signature takes ten times as long as all others, so it comes last."""
    return (*compat[:-1], *more, compat[-1])


_V2_RULES: Final = (
    rules.shape, rules.author, rules.payload_size, rules.payload, rules.kind, rules.member, rules.place,
    rules.signature,
)  # fmt: skip
_V1_RULES: Final = (
    rules.shape, rules.author, rules.payload_size, rules.place, rules.payload, rules.signature,
)  # fmt: skip

V2: Final = PzpVersion(
    "Msg V2",
    V2_FIELDS,
    _V2_RULES,
    _before_signature(
        _V2_RULES,
        rules.known_fields,
        rules.payload_object,
        rules.identity,
        rules.payload_hash,
        rules.owner,
        rules.every_place,
        rules.tips_and_lipmaa,
    ),
)
V1: Final = PzpVersion(
    "Feed V1",
    V1_FIELDS,
    _V1_RULES,
    _before_signature(
        _V1_RULES,
        rules.kind,
        rules.known_fields,
        rules.payload_object,
        rules.payload_hash,
        rules.every_place,
        rules.tips_and_lipmaa,
    ),
)
_V4_RULES: Final = (
    rules.shape, rules.author, rules.payload_size, rules.payload, rules.kind, rules.account_owner, rules.member,
    rules.place, rules.account_power, rules.signature,
)  # fmt: skip
V4: Final = PzpVersion(
    "Msg V4",
    V4_FIELDS,
    _V4_RULES,
    _before_signature(
        tuple(rule for rule in _V4_RULES if rule is not rules.account_power),
        rules.known_fields,
        rules.size,
        rules.payload_hash,
        rules.owner,
        rules.every_place,
        rules.tips_and_lipmaa,
        rules.account_message,
    ),
    compat_feed_root=(rules.shape, rules.author, rules.payload, rules.place),
)
_OF_A_PLACE: Final = frozenset(
    {
        rules.place, rules.identity, rules.owner, rules.tips_and_lipmaa,
        rules.account_owner, rules.account_power, rules.account_message,
    }
)  # fmt: skip
"""Rules that are checked for each tangle; all other rules check the message alone."""
_OF_WHAT_IS_SAID: Final = frozenset(
    {
        rules.shape, rules.payload_size, rules.payload, rules.payload_object, rules.identity,
        rules.size, rules.account_message,
    }
)  # fmt: skip
VERSIONS: Final[Mapping[int, PzpVersion]] = {version.fields.v: version for version in (V1, V2, V4)}
"""By the number in ``metadata.v``."""


DEFAULT: Final = V4
"""The version of identities that are founded here (docs/decisions/0096)."""


def version_of(value: Json) -> PzpVersion:
    """The version that a message names. Raises MessageError, also for one that is not read here."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict):
        raise MessageError(PzpRule.NOT_AN_OBJECT, "metadata", metadata)
    found = metadata.get("v")
    if type(found) is not int or found not in VERSIONS:
        raise MessageError(PzpRule.VERSION, "metadata.v", found, " or ".join(str(v) for v in VERSIONS))
    return VERSIONS[found]


def judge(version: PzpVersion, case: ValidationCase, *, strict: bool) -> None:
    """Check all of *case*. Raises a MessageError."""
    for rule in version.rules(case, strict=strict):
        rule(case)


def judge_place(version: PzpVersion, case: ValidationCase, *, strict: bool) -> None:
    """Check *case*, which was taken for another tangle, for one more. Raises a MessageError."""
    for rule in version.strict if strict else version.compat:
        if rule in _OF_A_PLACE:
            rule(case)


def judge_said(version: PzpVersion, case: ValidationCase, *, strict: bool) -> None:
    """Check what *case* says, all else of which was taken without it. Raises a MessageError."""
    for rule in version.strict if strict else version.compat:
        if rule in _OF_WHAT_IS_SAID:
            rule(case)


def _signed(version: PzpVersion, key: SigningKey, said: Json, metadata: dict[str, Json]) -> dict[str, Json]:
    fields = version.fields
    public = base58.encode(key.feed_id)
    if fields.author_signed:
        metadata[fields.author] = public
    written: dict[str, Json] = {fields.payload: said, "metadata": metadata}
    if not fields.author_signed:
        written[fields.author] = public
    written["sig"] = base58.encode(key.sign(fields.tag + canonical(metadata)))
    return written


def write(
    version: PzpVersion,
    key: SigningKey,
    said: Json,
    kind: str,
    tangles: Collection[PzpTangle],
    group: str | None = None,
    group_tips: Sequence[str] | None = None,
) -> dict[str, Json]:
    """A message that says *said* and follows the tips of *tangles*, signed. It is checked by whoever adds it.

    *group*, the owner, and its tips are not V1's. Raises what ``canonical`` does.
    """
    fields = version.fields
    found, size = message.hash_and_size(fields, said)
    places: dict[str, Json] = {}
    for tangle in tangles:
        depth, prev = tangle.place_of_next()
        places[tangle.root] = {"depth": depth, "prev": list(prev)}
    metadata: dict[str, Json] = {
        fields.payload_hash: found,
        fields.payload_size: size,
        "tangles": places,
        fields.kind: kind,
        "v": fields.v,
    }
    if fields.tips:
        metadata[fields.owner] = group
        metadata[fields.tips] = [*sorted(group_tips)] if group_tips is not None else None
    return _signed(version, key, said, metadata)


def write_feed_root(version: PzpVersion, key: SigningKey, owner: str, kind: str) -> dict[str, Json]:
    """The root of the feed of *owner*: a group, or in V1 the key that signs it."""
    return _signed(version, key, None, message.root_metadata(version.fields, owner, kind))


def write_identity(version: PzpVersion, key: SigningKey, nonce: str) -> dict[str, Json]:
    """The root of an identity that has *key*. *nonce* tells it from others that the same key founds."""
    public = base58.encode(key.feed_id)
    if version.fields.own is None:
        return write(version, key, {"add": public, "nonce": nonce}, IDENTITY_TYPE, ())
    said: Json = {
        "action": "add",
        "key": _signing_key(public, "shs-and-sig"),
        "nonce": nonce,
        "powers": _FOUNDER,
    }
    return write(version, key, said, ACCOUNT_KIND, (), version.fields.own)


ACCOUNT_KIND: Final = f"{message.ACCOUNT_DOMAIN}person"
"""V4: the domain of accounts that are founded here, as in the examples of PZP's programs."""
_FOUNDER: Final[list[Json]] = ["add", "del", "external-encryption", "internal-encryption"]
"""V4: the powers of an account's first key, in the original's order."""


def _signing_key(public: str, purpose: str) -> dict[str, Json]:
    return {"purpose": purpose, "algorithm": "ed25519", "bytes": public}


def write_added_key(
    version: PzpVersion,
    key: SigningKey,
    identity: PzpTangle,
    added: str,
    *,
    kind: str = ACCOUNT_KIND,
    consent: str | None = None,
    powers: Sequence[str] = (),
) -> dict[str, Json]:
    """A message by which a member adds a key to an identity.

    V4: *kind* is the account's domain, *consent* that of the key's owner, and *powers* are what the key may do.
    """
    if version.fields.own is None:
        return write(version, key, {"add": added}, IDENTITY_TYPE, (identity,))
    said: dict[str, Json] = {"action": "add", "key": _signing_key(added, "sig"), "consent": consent}
    if powers:
        said["powers"] = [*powers]
    return write(version, key, said, kind, (identity,), version.fields.own)


def write_removed_key(
    version: PzpVersion,
    key: SigningKey,
    identity: PzpTangle,
    removed: str,
    confirms: Mapping[str, Sequence[str]],
    *,
    kind: str = ACCOUNT_KIND,
) -> dict[str, Json]:
    """A message by which a member removes a key from an identity; *kind* is the account's domain in V4.

    *confirms* are messages of the removed key that stay valid, by the root of their tangle.
    """
    named: dict[str, Json] = {root: [*sorted(ids)] for root, ids in confirms.items()}
    if version.fields.own is None:
        said: dict[str, Json] = {"del": removed, message.CONFIRMS: named}
        return write(version, key, said, IDENTITY_TYPE, (identity,))
    said = {"action": "del", "key": _signing_key(removed, "sig"), message.CONFIRMS: named}
    return write(version, key, said, kind, (identity,), version.fields.own)


def write_consent(key: SigningKey, account: str) -> str:
    """V4: the consent of the owner of *key* to its being added to *account*."""
    return base58.encode(key.sign(message.consent_bytes(account)))
