"""What a PZP message gets wrong: one class per rule, each with the field, the rule and the value."""

from typing import ClassVar

from tinyssb_node.errors import PeerError
from tinyssb_node.pzp.messages import limits


class MessageError(PeerError):
    """A message that is not taken."""

    rule: ClassVar[str] = "must be right"
    """What was asked for, as a part of a sentence."""

    def __init__(self, field: str, value: object, expected: str = "") -> None:
        shown = ascii(value)
        if len(shown) > limits.SHOWN_MAX:
            shown = shown[: limits.SHOWN_MAX] + "…"
        asked = f"{self.rule} {expected}" if expected else self.rule
        super().__init__(f"{field} {asked}; found {shown}")
        self.field = field
        self.shown = shown
        """The value in ASCII, cut short."""
        self.value = value
        self.expected = expected


# --- the text


class TextSizeError(MessageError):
    """More text than is read as one message."""

    rule = "must be short enough:"


class EncodingError(MessageError):
    """Bytes that are no UTF-8, or begin with a byte order mark."""

    rule = "must be UTF-8 without byte order mark"


class JsonError(MessageError):
    """Text that is no JSON."""

    rule = "must be JSON:"


class NumberError(MessageError):
    """A number that no double holds."""

    rule = "must be a number that a double holds"


class SurrogateError(MessageError):
    """Half of a pair of surrogates, which no UTF-8 can say."""

    rule = "must not have lone surrogates"


class NestingError(MessageError):
    """Lists in lists, beyond any use."""

    rule = "must not be nested deeper than"


# --- fields


class NotAnObjectError(MessageError):
    """Something else than a JSON object."""

    rule = "must be an object"


class MissingError(MessageError):
    """A field that is not there. The value is the names that are."""

    rule = "must be there, beside what is:"


class UnknownFieldError(MessageError):
    """A field that the version does not have."""

    rule = "must have no fields but"


class VersionError(MessageError):
    """Another version."""

    rule = "must be the number"


class NotTextError(MessageError):
    """Something else than a string."""

    rule = "must be a string"


class Base58Error(MessageError):
    """Characters that base58 does not have, or more of them than anything here needs."""

    rule = "must be in base58"


class LengthError(MessageError):
    """A key, id or signature with the wrong number of bytes."""

    rule = "must have bytes:"


class SizeError(MessageError):
    """A size that is no integer from 0."""

    rule = "must be an integer from 0 that a double holds exactly"


class PayloadListError(MessageError):
    """What is said is a list."""

    rule = "must not be a list"


class PayloadKindError(MessageError):
    """What is said is a number or a boolean, or, to the letter of the text, a string."""

    rule = "must be"


class PayloadHashError(MessageError):
    """What is said is not what was signed."""

    rule = "must have the hash that the metadata says,"


class PayloadSizeError(MessageError):
    """What is said has another size than the metadata says."""

    rule = "must have the size that the metadata says,"


class NoPayloadHashError(MessageError):
    """A message that has no hash of what it says, and is not a feed root."""

    rule = "must be a hash, except in a feed root"


class TypeLongError(MessageError):
    """A type with too many characters."""

    rule = "must have characters: at most"


class TypeShortError(MessageError):
    """A type with too few characters."""

    rule = "must have characters: at least"


class TypeCharactersError(MessageError):
    """A type with other characters."""

    rule = "must have no characters but a-z, A-Z, 0-9 and _"


# --- places


class NotMemberError(MessageError):
    """Signed with a key that is not of the group."""

    rule = "must be a key of the group"


class RootError(MessageError):
    """The first message of a tangle has to be its root."""

    rule = "must be the tangle's root"


class RootPlaceError(MessageError):
    """A root with a place in its own tangle."""

    rule = "must not name the tangle's own root"


class NoPlaceError(MessageError):
    """No place in the tangle that it was offered for."""

    rule = "must name the tangle"


class PrevListError(MessageError):
    """Something else than a list of predecessors."""

    rule = "must be a list"


class DepthRangeError(MessageError):
    """A depth that is no integer from 1."""

    rule = "must be an integer from 1 that a double holds exactly"


class FeedTypeError(MessageError):
    """Another type than the feed's."""

    rule = "must be the feed's type,"


class FeedOwnerError(MessageError):
    """Another group, or in V1 another author, than the feed's."""

    rule = "must be the feed's,"


class PrevTextError(MessageError):
    """A predecessor that is not named by a string."""

    rule = "must be strings"


class PrevUriError(MessageError):
    """A predecessor that is named by a URI."""

    rule = "must be ids and not URIs"


class PrevTwiceError(MessageError):
    """A predecessor that is named twice."""

    rule = "must name each once"


class PrevOrderError(MessageError):
    """Predecessors in another order than that of UTF-16 code units."""

    rule = "must be sorted"


class PrevDepthError(MessageError):
    """A predecessor that is not less deep."""

    rule = "must be less deep than the message: depth below"


class PrevUnknownError(MessageError):
    """No predecessor is known."""

    rule = "must name a message that is known"


class DepthError(MessageError):
    """All predecessors are known, and the depth does not follow from theirs."""

    rule = "must be one more than the largest depth of prev,"


class LipmaaError(MessageError):
    """All predecessors are known, and none is at the lipmaa depth: certificates would not reach the root."""

    rule = "must name a message at the lipmaa depth,"


class PrevAncestorError(MessageError):
    """A predecessor that another one follows, and that is not there as a lipmaa link."""

    rule = "must name tips and lipmaa links only"


class GroupTipsError(MessageError):
    """No list of ids of the group's messages."""

    rule = "must be a list of ids"


class IdentityTypeError(MessageError):
    """A message of an identity that has another type."""

    rule = "must be the type of an identity's messages,"


class IdentityGroupError(MessageError):
    """A message of an identity that is written for a group."""

    rule = "must be null in an identity's messages"


class SignatureError(MessageError):
    """A signature that is not the author's."""

    rule = "must be the author's signature of the metadata"


# --- over the air


class AirFormError(MessageError):
    """Content that carries a message, and not in the one form for it."""

    rule = "must be"
