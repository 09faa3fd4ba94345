"""Rules of PZP messages that can be broken, and the error that says which one, in which field, by which value."""

from enum import Enum

from tinyssb_node.errors import PeerError
from tinyssb_node.pzp.messages import limits


class PzpRule(Enum):
    """Rule that a message can break: its code for programs, and its words as a part of a sentence."""

    # text
    TEXT_SIZE = "TextSize", "must be short enough:"
    ENCODING = "Encoding", "must be UTF-8 without byte order mark"
    JSON = "Json", "must be JSON:"
    NUMBER = "Number", "must be a number that a double holds"
    SURROGATE = "Surrogate", "must not have lone surrogates"
    NESTING = "Nesting", "must not be nested deeper than"
    # fields
    NOT_AN_OBJECT = "NotAnObject", "must be an object"
    MISSING = "Missing", "must be there, beside what is:"
    UNKNOWN_FIELD = "UnknownField", "must have no fields but"
    VERSION = "Version", "must be the number"
    NOT_TEXT = "NotText", "must be a string"
    BASE58 = "Base58", "must be in base58"
    LENGTH = "Length", "must have bytes:"
    SIZE = "Size", "must be an integer from 0 that a double holds exactly"
    PAYLOAD_LIST = "PayloadList", "must not be a list"
    PAYLOAD_KIND = "PayloadKind", "must be"
    PAYLOAD_HASH = "PayloadHash", "must have the hash that the metadata says,"
    PAYLOAD_SIZE = "PayloadSize", "must have the size that the metadata says,"
    NO_PAYLOAD_HASH = "NoPayloadHash", "must be a hash, except in a feed root"
    TYPE_LONG = "TypeLong", "must have characters: at most"
    TYPE_SHORT = "TypeShort", "must have characters: at least"
    TYPE_CHARACTERS = "TypeCharacters", "must have no characters but a-z, A-Z, 0-9 and _"
    # places
    NOT_MEMBER = "NotMember", "must be a key of the group"
    ROOT = "Root", "must be the tangle's root"
    ROOT_PLACE = "RootPlace", "must not name the tangle's own root"
    NO_PLACE = "NoPlace", "must name the tangle"
    PREV_LIST = "PrevList", "must be a list"
    DEPTH_RANGE = "DepthRange", "must be an integer from 1 that a double holds exactly"
    FEED_TYPE = "FeedType", "must be the feed's type,"
    FEED_OWNER = "FeedOwner", "must be the feed's,"
    PREV_TEXT = "PrevText", "must be strings"
    PREV_URI = "PrevUri", "must be ids and not URIs"
    PREV_TWICE = "PrevTwice", "must name each once"
    PREV_ORDER = "PrevOrder", "must be sorted"
    PREV_DEPTH = "PrevDepth", "must be less deep than the message: depth below"
    PREV_UNKNOWN = "PrevUnknown", "must name a message that is known"
    DEPTH = "Depth", "must be one more than the largest depth of prev,"
    LIPMAA = "Lipmaa", "must name a message at the lipmaa depth,"
    PREV_ANCESTOR = "PrevAncestor", "must name tips and lipmaa links only"
    GROUP_TIPS = "GroupTips", "must be a list of ids"
    IDENTITY_TYPE = "IdentityType", "must be the type of an identity's messages,"
    IDENTITY_GROUP = "IdentityGroup", "must be null in an identity's messages"
    ACCOUNT_OWN = "AccountOwn", 'must be "self" in the messages of an account, and there only:'
    ACCOUNT_DOMAIN = "AccountDomain", "must begin with"
    ACCOUNT_DATA = "AccountData", "must be, for an account,"
    NO_TIPS = "NoTips", "must be null, where no account is named"
    NOT_ALLOWED = "NotAllowed", "must have in the account the power"
    LAST_KEY = "LastKey", "must leave a key in the identity:"
    CONFIRMS = "Confirms", "must be an object of ids, each with a list of ids in order"
    CONSENT = "Consent", "must be the signature of the added key over the account's id"
    SIGNATURE = "Signature", "must be the author's signature of the metadata"
    # what the database lacks
    GROUP_UNKNOWN = "GroupUnknown", "must be a group whose identity is here"
    TANGLE_UNKNOWN = "TangleUnknown", "must name a tangle whose root is here"
    TIPS_UNKNOWN = "TipsUnknown", "must be messages of the account that are here,"
    AIR_FORM = "AirForm", "must be"

    @property
    def code(self) -> str:
        """Name of the rule in JSON and in lists of wrong lines."""
        return self.value[0]

    @property
    def words(self) -> str:
        """Return the requirement of the rule, in words."""
        return self.value[1]


class MessageError(PeerError):
    """A message that is refused."""

    def __init__(self, rule: PzpRule, field: str, value: object, expected: str = "") -> None:
        shown = ascii(value)
        if len(shown) > limits.SHOWN_MAX:
            shown = shown[: limits.SHOWN_MAX] + "…"
        self.asked = f"{rule.words} {expected}".strip()
        """The requirement, as a part of a sentence."""
        super().__init__(f"{field} {self.asked}; found {shown}")
        self.rule = rule
        self.field = field
        self.shown = shown
        """The value in ASCII, cut short."""
        self.value = value
        self.expected = expected


class AirFormError(MessageError):
    """Content that carries a message, but not in its one form."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(PzpRule.AIR_FORM, field, value, expected)
