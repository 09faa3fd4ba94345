"""Private texts that guests seal and open in the browser, against the node's own code."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.visits import Visit
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.content.chat import SealedMessage, parse
from tinyssb_node.content.limits import PAIR_PADDING_SIZE
from tinyssb_node.content.pair_box import open_text, seal_text
from tinyssb_node.content.private import SealKey
from tinyssb_node.content.short_text import ShortText, serialize_short_text
from tinyssb_node.feeds.layout import filling_size
from tinyssb_node.ids import FeedId, MessageId

pytestmark = pytest.mark.browser

GUEST, HOST = bytes(range(32)), bytes(range(100, 132))
FEED_OF_GUEST, FEED_OF_HOST = SigningKey(GUEST).feed_id, SigningKey(HOST).feed_id
TEXTS = [
    "x", "Grüße 🏔", "y" * 53, "y" * 54, "z" * 73, "z" * 74, "z" * 75, "z" * 172, "z" * 173, "w" * 1_000,
    "w" * 1_940, "w" * 2_100, "w" * 4_000,
]  # fmt: skip
NOW_S = 1_800_000_059


@pytest.fixture(scope="module")
def script(browser: Browser) -> Iterator[Page]:
    from tests.web.fake import FakeNode, serving

    with serving(FakeNode()) as address, Visit(browser, address) as visit:
        visit.page.goto(address + "/c/public")
        yield visit.page


def call(page: Page, code: str, *given: object) -> object:
    """Run *code* with the guest's key, and the modules."""
    return page.evaluate(
        "async ([code, given]) => {"
        "const entries = await import('/static/entries.js'), sealed = await import('/static/sealed.js');"
        "const seed = Uint8Array.from({ length: 32 }, (_, n) => n);"
        "const person = await entries.keyOf(seed);"
        "return (CODE)(new sealed.SealKey(person), entries, sealed, given, person); }".replace("CODE", code),
        [code, list(given)],
    )


def test_the_key_of_an_identity_on_curve25519_cannot_be_read(script: Page) -> None:
    found = call(
        script,
        "(key, entries, sealed, given, person) => [person.secret.extractable, person.secret.algorithm.name]",
    )
    assert found == [False, "X25519"]


@pytest.mark.parametrize("ties", [0, 1, 7])
def test_what_a_guest_seals_the_node_opens(script: Page, ties: int) -> None:
    named = [MessageId(bytes([number]) * 20) for number in range(1, ties + 1)]
    made = call(
        script,
        """async (key, entries, sealed, [reader, texts, ties, now]) => Promise.all(
          texts.map(async (text) => entries.toHex(await key.seal(text, ties, reader, now))))""",
        FEED_OF_HOST.hex(),
        TEXTS,
        [one.hex() for one in named],
        NOW_S,
    )
    assert isinstance(made, list)
    for text, content in zip(TEXTS, map(bytes.fromhex, made), strict=True):
        assert len(content) == filling_size(len(content)), "its length shows the packets alone"
        message = parse(content)
        assert isinstance(message, SealedMessage)
        expected = ShortText(text=text, ties=tuple(named), said_s=NOW_S - NOW_S % 60, other=FEED_OF_GUEST)
        assert open_text(message.box, SealKey(HOST), FEED_OF_GUEST) == expected
        own = open_text(message.box, SealKey(GUEST), FEED_OF_GUEST)
        assert own is not None
        assert own.other == FEED_OF_HOST
        assert open_text(message.box, SealKey(b"m" * 32), FEED_OF_GUEST) is None


def sealed_by_node(text: str, seed: bytes, reader: FeedId, ties: tuple[MessageId, ...] = ()) -> bytes:
    clear = serialize_short_text(ShortText(text=text, ties=ties, said_s=NOW_S))
    assert clear is not None
    return seal_text(clear, SealKey(seed), reader, bytes(range(1, PAIR_PADDING_SIZE + 1)))


def test_what_the_node_seals_the_guest_opens(script: Page) -> None:
    tie = MessageId(b"t" * 20)
    theirs = [sealed_by_node(text, HOST, FEED_OF_GUEST, (tie,)) for text in TEXTS]
    own = sealed_by_node("Mine", GUEST, FEED_OF_HOST)
    not_mine = sealed_by_node("Not for you", HOST, SigningKey(b"m" * 32).feed_id)
    broken = theirs[0][:-1] + bytes([theirs[0][-1] ^ 1])
    found = call(
        script,
        """async (key, entries, sealed, [host, boxes]) => Promise.all(
          boxes.map(([author, box]) => key.open(entries.fromHex(box), author)))""",
        FEED_OF_HOST.hex(),
        [
            *([FEED_OF_HOST.hex(), box.hex()] for box in theirs),
            [FEED_OF_GUEST.hex(), own.hex()],
            [FEED_OF_HOST.hex(), not_mine.hex()],
            [FEED_OF_GUEST.hex(), theirs[0].hex()],
            [FEED_OF_HOST.hex(), broken.hex()],
            [FEED_OF_HOST.hex(), "ff" * 100],
            [FEED_OF_HOST.hex(), ""],
            ["00" * 32, theirs[0].hex()],
        ],
    )
    assert isinstance(found, list)
    said_s = NOW_S - NOW_S % 60
    for text, one in zip(TEXTS, found, strict=False):
        assert one == {"text": text, "ties": [tie.hex()], "saidS": said_s, "other": FEED_OF_HOST.hex()}
    rest = found[len(TEXTS) :]
    assert rest[0] == {"text": "Mine", "ties": [], "saidS": said_s, "other": FEED_OF_HOST.hex()}
    assert rest[1:] == [None] * 6
