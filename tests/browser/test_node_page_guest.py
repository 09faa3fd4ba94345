"""Guests at the node's page: a key of the phone's own, entries signed in the browser, carried by the node."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.poor_link import PoorLink, over
from tests.browser.test_node_page import box, noisy_picture, said
from tests.browser.test_node_page_daemon import ask_until, free_port
from tests.browser.test_node_page_pictures import choose, packets_in
from tests.browser.visits import Visit
from tests.daemon.processes import PATIENCE_S, daemon, make_home, tinyssb
from tinyssb_node.catalog.rows import MessageKind, MessageRow
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.content.chat import Alias, ChatPost, Text, parse
from tinyssb_node.content.files import File, serialize_file
from tinyssb_node.content.telemetry import (
    DEGREE,
    PositionRecord,
    coarsened,
    serialize_telemetry,
    withdrawal,
)
from tinyssb_node.feeds.author import compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import Dialect, MessageId
from tinyssb_node.screens.conversation_files import read_file_of
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.store.words import serialize_words, word_list
from tinyssb_node.web import limits
from tinyssb_node.web.phones import PROOF
from tinyssb_node.web.tokens import make_token

pytestmark = pytest.mark.browser

SEED = bytes(range(32))


@pytest.fixture(scope="module")
def script(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page that can call the scripts' functions; crypto.subtle needs a secure address."""
    from tests.web.fake import FakeNode, serving

    with serving(FakeNode()) as address, Visit(browser, address) as visit:
        visit.page.goto(address + "/c/public")
        yield visit.page


def of_entries(page: Page, call: str, *arguments: object) -> object:
    return page.evaluate(
        "async ([call, given]) => { const entries = await import('/static/entries.js');"
        "const { key, feed } = await entries.keyOf(Uint8Array.from({ length: 32 }, (_, n) => n));"
        "const of = " + call + "; return of(entries, key, feed, given); }",
        [call, list(arguments)],
    )


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("size", [1, 20, 26, 27, 28, 29, 46, 47, 48, 49, 126, 127, 128, 200, 1_000, 11_828])
def test_an_entry_signed_in_the_browser_is_that_of_the_node(
    script: Page, dialect: Dialect, size: int
) -> None:
    key = SigningKey(SEED)
    network = Network(b"k" * 32 if size % 2 else b"")
    content = (b"tinySSB!" * size)[:size]
    tip = Tip(key.feed_id, dialect, 0, None)
    first = compose(network, key, tip, content)
    second = compose(network, key, first.extended.tip, content[::-1])
    found = of_entries(
        script,
        """async (entries, key, feed, [prefix, dialect, content]) => {
          const bytes = entries.fromHex(content);
          const place = { prefix, feed, seq: 1, previous: entries.firstPrevious(feed, dialect), dialect };
          const one = await entries.signEntry(key, place, bytes);
          const next = { ...place, seq: 2, previous: one.id };
          const two = await entries.signEntry(key, next, bytes.reverse());
          return [feed, ...[one, two].map(({ id, packets }) => [entries.toHex(id), packets.map(entries.toHex)])];
        }""",
        network.prefix.hex(),
        dialect.value,
        content.hex(),
    )
    assert found == [
        key.feed_id.hex(),
        *(
            [(made.extended.tip.id or b"").hex(), [one.hex() for one in (made.packet, *made.chunks)]]
            for made in (first, second)
        ),
    ]


def test_contents_made_in_the_browser_are_read_by_nodes(script: Page) -> None:
    reply = bytes(range(20))
    found = of_entries(
        script,
        """(entries, key, feed, [reply]) => [
          entries.publicText("Grüße 🏔", null, "spec", 1_800_000_059),
          entries.publicText("So?", reply, "spec", 1_800_000_059),
          entries.publicText("Hm", null, "deployed", 1_800_000_059),
          entries.alias("Zoë"),
        ].map(entries.toHex)""",
        reply.hex(),
    )
    assert isinstance(found, list)
    assert [parse(bytes.fromhex(one)) for one in found] == [
        Text(text="Grüße 🏔", said_s=1_800_000_000),
        ChatPost(tips=(MessageId(reply),), text="So?", said_s=1_800_000_059),
        ChatPost(text="Hm", said_s=1_800_000_059),
        Alias(name="Zoë"),
    ]


@pytest.mark.parametrize(
    "file",
    [
        File("", "", b"\0"),
        File("a", "", bytes(3)),
        File("map.webp", "image/webp", b"\x00\xff\x10"),
        File("Grüße 🏔.webp", "image/webp", bytes(range(256)) * 15),
        File("m" * 64, "t" * 40, b"\xff" * 11_700),
    ],
)
def test_a_file_made_in_the_browser_is_that_of_the_node(script: Page, file: File) -> None:
    found = script.evaluate(
        """async ([name, type, data, nowS]) => {
          const { fileContent, guestFiles } = await import('/static/guestfile.js');
          const { split, toHex } = await import('/static/entries.js');
          const content = fileContent({ name, type, data }, nowS);
          return [toHex(content), (await split(content, 'spec')).chunks.length, guestFiles.sizeMax];
        }""",
        [file.name, file.type, base64.b64encode(file.data).decode(), 1_800_000_059],
    )
    content = serialize_file(replace(file, said_s=1_800_000_000))
    key = SigningKey(SEED)
    made = compose(Network(b""), key, Tip(key.feed_id, Dialect.SPEC, 0, None), content)
    assert found[:2] == [content.hex(), len(made.chunks)]
    assert len(file.data) <= found[2]
    assert 1 + len(made.chunks) <= limits.PUBLISH_PACKETS_MAX


PLACES = [
    (latitude, longitude)
    for latitude in (0.0, 47.37694, -33.86882, 89.99, -90.0, 90.0, 0.000004)
    for longitude in (0.0, 8.54172, -151.20929, 180.0, -180.0, -0.00001)
]


@pytest.mark.parametrize("precision_m", [0, 1, 100, 1_000, 10_000])
def test_positions_made_in_the_browser_are_those_of_the_node(script: Page, precision_m: int) -> None:
    found = script.evaluate(
        """async ([places, precision]) => {
          const { coarsened, positionRecord } = await import('/static/telemetry.js');
          const { toHex } = await import('/static/entries.js');
          const at = ([latitude, longitude]) => coarsened({ latitude, longitude, accuracy_m: 11.2 }, precision);
          const record = (place) => toHex(positionRecord(place, 240, 1_800_000_059));
          return [...places.map(at).map(record), record(null)];
        }""",
        [PLACES, precision_m],
    )
    exact = [
        PositionRecord(
            said_s=1_800_000_059,
            valid_minutes=240,
            latitude=round(latitude * DEGREE),
            longitude=round(longitude * DEGREE),
            radius_m=12,
        )
        for latitude, longitude in PLACES
    ]
    records = [*(coarsened(one, precision_m) for one in exact), withdrawal(1_800_000_059)]
    assert found == [serialize_telemetry(one).hex() for one in records]


def test_words_and_proof_of_a_key_are_those_of_the_node(script: Page) -> None:
    challenge = bytes(32)
    found = of_entries(
        script,
        """async (entries, key, feed, [list, challenge]) => {
          const seed = Uint8Array.from({ length: 32 }, (_, n) => n);
          const words = await entries.wordsOf(seed, list);
          const wrong = [...words.slice(1), words[0]].join(" ");
          const again = await entries.seedOf(words.join("\\n").toUpperCase(), list);
          const proof = await entries.prove(key, challenge);
          const others = [await entries.seedOf(wrong, list), await entries.seedOf("abandon", list)];
          return [words, entries.toHex(again), ...others, entries.toHex(proof), key.extractable];
        }""",
        list(word_list()),
        challenge.hex(),
    )
    words = list(serialize_words(SEED))
    proof = SigningKey(SEED).sign(PROOF + challenge).hex()
    assert found == [words, SEED.hex(), None, None, proof, False]


@pytest.fixture
def hut(tmp_path: Path) -> tuple[Path, Path, str, str]:
    """Homes of Ana, whose page takes guests, and of Ben; the page's address and the guests' token."""
    wire, port = free_port(), free_port()
    ana, ben = tmp_path / "ana", tmp_path / "ben"
    make_home(ana, f"ws:listen:127.0.0.1:{wire}", name="ana")
    make_home(ben, f"ws:connect:127.0.0.1:{wire}", name="ben")
    with (ana / "config.toml").open("a") as config:
        config.write(f'[web]\nenabled = true\nlisten = "127.0.0.1:{port}"\n')
    make_token(ana / "web.token")
    return ana, ben, f"http://127.0.0.1:{port}", make_token(ana / "web.guest")


def enter(visit: Visit, address: str, token: str) -> Page:
    page = visit.page
    page.goto(f"{address}/#guest={token}")
    expect(page.locator("#connection-text")).to_have_text("Live", timeout=PATIENCE_S * 1e3)
    expect(page.get_by_role("link", name="Write as yourself")).to_be_visible(timeout=PATIENCE_S * 1e3)
    return page


def begin(page: Page, name: str) -> list[str]:
    """Make an identity; returns its words."""
    page.get_by_role("link", name="Write as yourself").click()
    page.get_by_label("Name; everyone").fill(name)
    page.get_by_role("button", name="Begin").click()
    words = page.get_by_role("region", name="Your 24 words").get_by_role("listitem")
    expect(words).to_have_count(24, timeout=PATIENCE_S * 1e3)
    found = words.all_text_contents()
    page.get_by_role("button", name="I wrote them down").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.get_by_role("link", name="Chat").click()
    return found


def heard(talk: NodeSession, count: int) -> list[tuple[str | None, str]]:
    """Return who said what, as Ben's node has it."""
    from tests.browser.test_node_page_daemon import wait_for

    wait_for(talk, count, lambda: talk.catalog.messages("public"))
    return [(talk.names().name(row.feed), row.text) for row in talk.catalog.messages("public")]


@contextmanager
def two_nodes(
    hut: tuple[Path, Path, str, str],
) -> Iterator[tuple[NodeSession, NodeSession, PoorLink, str]]:
    """Ana's node and Ben's, each with its owner's session; a link to Ana's page that can be down, and its address."""
    ana, ben, address, _ = hut
    link = PoorLink(round_trip_s=0.0, loss=0.0)
    with (
        daemon(ana),
        daemon(ben),
        NodeSession.at_home(str(ben)) as bens,
        NodeSession.at_home(str(ana)) as anas,
        over(link, address) as near,
    ):
        ask_until(address, "/api/session", served=True)
        yield anas, bens, link, near


def test_two_guests_write_as_themselves_and_another_node_reads_them(
    browser: Browser, hut: tuple[Path, Path, str, str]
) -> None:
    *_, address, token = hut
    with two_nodes(hut) as (host, talk, link, near):
        host.call_me("Ana")
        host.say("Welcome at the hut.")
        with (
            Visit(browser, near, width=390, worker=True) as cyds,
            Visit(browser, address, width=320) as doras,
        ):
            cyd, dora = enter(cyds, near, token), enter(doras, address, token)
            expect(cyd.get_by_role("textbox", name="Message")).to_have_count(0)
            begin(cyd, "Cyd")
            begin(dora, "Dora")
            box(cyd).fill("Is there soup?")
            box(cyd).press("Enter")
            expect(dora.locator(".message", has_text="Is there soup?").locator(".who")).to_contain_text("Cyd")
            dora.get_by_role("button", name="Answer Cyd").click()
            box(dora).fill("There is. " * 30)
            box(dora).press("Enter")
            expect(said(dora).last).to_contain_text("There is.")
            expect(dora.locator(".message.own")).to_have_count(1)
            expect(dora.locator(".message.own .who")).to_have_text("You")
            expect(cyd.locator(".message", has_text="Welcome").locator(".who")).to_contain_text("Ana")
            assert set(heard(talk, 3)) == {
                ("Ana", "Welcome at the hut."),
                ("Cyd", "Is there soup?"),
                ("Dora", ("There is. " * 30).strip()),
            }
            # Without the node the phone signs, and hands over later.
            link.down = True
            expect(cyd.locator("#connection-text")).to_contain_text("Offline since")
            cyd.reload()
            for text in ("On my way", "With Eva"):
                box(cyd).fill(text)
                box(cyd).press("Enter")
            expect(cyd.locator(".outbox .text")).to_have_text(["On my way", "With Eva"])
            link.down = False
            expect(cyd.locator(".outbox .text")).to_have_count(0, timeout=20_000)
            assert {("Cyd", "On my way"), ("Cyd", "With Eva")} <= set(heard(talk, 5))
            # The thread of a message, and an answer in it.
            asked = dora.locator(".message", has_text="Is there soup?")
            asked.get_by_role("button", name="Answer Cyd").click()
            box(dora).fill("Leek")
            box(dora).press("Enter")
            asked.get_by_role("link", name="1 answer").click()
            rows = dora.get_by_role("list", name="Thread").locator(".text")
            expect(rows.first).to_have_text("Is there soup?")
            expect(rows.last).to_have_text("Leek")
            box(dora).fill("With bread")
            box(dora).press("Enter")
            expect(rows.last).to_have_text("With bread")
            heard(talk, 7)
            (bread,) = talk.catalog.search("bread")
            assert [row.text for row in talk.catalog.messages("public") if row.id == bread.previous[0]] == [
                "Is there soup?"
            ]
            assert doras.barriers() == []
            assert not doras.wide()
            dora.get_by_role("link", name="All public messages").click()
            for visit in (cyds, doras):
                assert visit.barriers() == []
                assert not visit.wide()
                visit.page.get_by_role("link", name="You", exact=True).click()
                expect(visit.page.get_by_role("heading", name="You", exact=True)).to_be_visible()
                assert visit.barriers() == []
                assert not visit.wide()
            lost = ("ERR_EMPTY_RESPONSE", "ERR_CONNECTION", "401")
            assert [one for one in doras.complaints if not any(word in one for word in lost)] == []


def test_a_guest_sends_a_picture_that_the_phone_made_to_fit_and_signed(
    browser: Browser, hut: tuple[Path, Path, str, str]
) -> None:
    *_, address, token = hut
    with (
        two_nodes(hut) as (_, talk, link, near),
        Visit(browser, near, width=320, worker=True) as cyds,
        Visit(browser, address, width=390) as doras,
    ):
        cyd, dora = enter(cyds, near, token), enter(doras, address, token)
        begin(cyd, "Cyd")
        panel = choose(cyd, "hut.bmp", noisy_picture(300))
        size, status = panel.get_by_label("Size of the picture"), panel.get_by_role("status")
        expect(size).to_have_value("40")
        expect(size.get_by_role("option")).to_have_count(3)
        expect(status).to_contain_text("Everyone in the mesh can read it.")
        expect(status).to_contain_text("The node takes 119 packets more of you in this hour.")
        size.select_option("80")
        expect(panel.get_by_role("button", name="Send file")).to_be_visible()
        packets = packets_in(panel)
        assert 40 < packets <= 80
        assert cyds.barriers() == []
        assert not cyds.wide()
        panel.get_by_role("button", name="Send file").click()
        expect(panel).to_be_hidden()
        for page in (cyd, dora):
            picture = page.get_by_role("img", name="hut.webp")
            expect(picture).to_be_visible(timeout=PATIENCE_S * 1e3)
            assert picture.evaluate("(one) => one.decode().then(() => one.naturalWidth > 80)")
        assert heard(talk, 1)[0][0] == "Cyd"
        (row,) = talk.catalog.messages("public")
        assert (row.kind, 1 + row.chunks) == (MessageKind.FILE, packets)
        ask_for_bytes = "async (href) => [...new Uint8Array(await (await fetch(href)).arrayBuffer())]"
        shown = dora.evaluate(ask_for_bytes, f"/api/guest/file?id={row.id.hex()}")
        assert read_file_of(talk, row.id)[0].data == bytes(shown)
        # What is more than the node takes is refused before it is signed.
        choose(cyd, "other.bmp", noisy_picture(300))
        expect(status).to_have_text(
            re.compile(r"This file has \d+ packets. The node takes \d+ packets more of you in this hour.")
        )
        expect(panel.get_by_role("button", name=re.compile("Send"))).to_have_count(0)
        assert cyds.barriers() == []
        size.select_option("20")
        expect(panel.get_by_role("button", name="Send file")).to_be_visible()
        # Without the node nothing says how much it takes: nothing is signed.
        link.down = True
        expect(cyd.locator("#connection-text")).to_contain_text("Offline since")
        panel.get_by_role("button", name="Send file").click()
        expect(status).to_contain_text("Not sent. The page’s server does not answer.", timeout=60_000)
        link.down = False
        expect(cyd.locator("#connection-text")).to_have_text("Live", timeout=PATIENCE_S * 1e3)
        panel.get_by_role("button", name="Send file").click()
        expect(panel).to_be_hidden()
        expect(dora.get_by_role("img", name="other.webp")).to_be_visible(timeout=PATIENCE_S * 1e3)
        expect(cyd.locator(".outbox .text")).to_have_count(0)


def positions(talk: NodeSession) -> list[tuple[str | None, PositionRecord]]:
    """Return the last position of each person, withdrawn ones too, as Ben's node has it."""
    talk.catch_up()
    return [
        (talk.names().name(row.feed), row.record)
        for row in talk.catalog.telemetry()
        if isinstance(row.record, PositionRecord)
    ]


def test_a_guest_shares_the_position_that_the_phone_finds_and_withdraws_it(
    browser: Browser, hut: tuple[Path, Path, str, str]
) -> None:
    from tests.browser.test_node_page_daemon import wait_for

    *_, address, token = hut
    with two_nodes(hut) as (_host, talk, link, near), Visit(browser, near, width=320, worker=True) as visit:
        visit.context.grant_permissions(["geolocation"])
        visit.context.set_geolocation({"latitude": -33.86882, "longitude": 151.20929, "accuracy": 11.2})
        page = enter(visit, near, token)
        page.get_by_role("link", name="Map").click()
        expect(page.get_by_text("Nobody shares a position")).to_be_visible()
        expect(page.get_by_text("Your position", exact=True)).to_be_hidden()
        page.get_by_role("link", name="Chat").click()
        begin(page, "Cyd")
        page.get_by_role("link", name="Map").click()
        page.get_by_text("Your position", exact=True).click()
        mine = page.locator("details", has=page.get_by_text("Your position", exact=True))
        expect(mine.get_by_label("Readable by").get_by_role("option")).to_have_text(["Everyone in the mesh"])
        mine.get_by_label("Precision").select_option("1000")
        mine.get_by_role("button", name="Find my position").click()
        expect(mine.locator(".asked")).to_contain_text("±722 m")
        assert positions(talk) == []
        assert visit.barriers() == []
        assert not visit.wide()
        mine.get_by_role("button", name="Publish it").click()
        expect(mine.get_by_role("status")).to_have_text("Your position is published.")
        wait_for(talk, 1, lambda: positions(talk))
        ((name, record),) = positions(talk)
        exact = PositionRecord(latitude=-3_386_882, longitude=15_120_929, radius_m=12)
        grid = coarsened(exact, 1_000)
        assert (name, record.latitude, record.longitude, record.radius_m) == (
            "Cyd",
            grid.latitude,
            grid.longitude,
            722,
        )
        # Everybody who is let in sees it on the map.
        expect(page.locator(".map text.name.own")).to_have_text("You")
        with Visit(browser, address, width=390) as other:
            there = enter(other, address, token)
            there.get_by_role("link", name="Map").click()
            expect(there.locator(".map text.name")).to_contain_text("Cyd")
            expect(there.locator("main .card", has_text="Cyd")).to_contain_text("±722 m")
            assert not other.wide()
            for scheme in ("light", "dark"):
                there.emulate_media(color_scheme=scheme)
                assert other.barriers() == []
            assert other.complaints == []
        # Without the node it is signed and waits; after a reload the phone still knows that it shares one.
        link.down = True
        expect(page.locator("#connection-text")).to_contain_text("Offline since")
        page.reload()
        page.get_by_text("Your position", exact=True).click()
        mine.get_by_role("button", name="Stop sharing").click()
        expect(mine.get_by_role("status")).to_contain_text("waits on this phone", timeout=60_000)
        expect(mine.get_by_role("button", name="Stop sharing")).to_be_hidden()
        link.down = False
        wait_for(talk, 1, lambda: [one for _, one in positions(talk) if one.latitude is None])


def private_texts(talk: NodeSession, count: int) -> list[tuple[str | None, str]]:
    """Return who said what in the private conversation that Ben's node has."""
    from tests.browser.test_node_page_daemon import wait_for

    def rows() -> list[MessageRow]:
        names = [row.name for row in talk.catalog.conversations() if row.name != "public"]
        return [row for name in names for row in talk.catalog.messages(name)]

    wait_for(talk, count, rows)
    return [(talk.names().name(row.feed), row.text) for row in rows()]


def test_a_guest_and_a_person_of_another_node_write_to_each_other_privately(
    browser: Browser, hut: tuple[Path, Path, str, str]
) -> None:
    """The node that carries it can read nothing of it: the key is in the browser."""
    *_, address, token = hut
    with two_nodes(hut) as (host, talk, link, near):
        talk.call_me("Ben")
        with Visit(browser, near, width=320, worker=True) as visit:
            page = enter(visit, near, token)
            page.get_by_role("link", name="People").click()
            expect(page.locator("main [role=status]")).to_contain_text("Private messages need a key.")
            page.get_by_role("link", name="Chat").click()
            words = begin(page, "Cyd")
            box(page).fill("Hello all")
            box(page).press("Enter")
            page.get_by_role("link", name="Write privately").click()
            page.get_by_role("link", name="Write to Ben").click(timeout=PATIENCE_S * 1e3)
            expect(page.locator(".conversation > header")).to_contain_text("and you can read this.")
            bottom = page.locator(".composer").evaluate("(one) => one.getBoundingClientRect().bottom")
            assert abs(bottom - page.evaluate("innerHeight")) < 2, "the box to write in is at the bottom"
            box(page).fill("Is the key under the stone?")
            box(page).press("Enter")
            expect(said(page)).to_have_text(["Is the key under the stone?"])
            assert private_texts(talk, 1) == [("Cyd", "Is the key under the stone?")]
            assert visit.barriers() == []
            assert not visit.wide()

            cyd = next(person.feed for person in talk.catalog.people() if person.said == "Cyd")
            talk.say_private("No, behind the door. " * 12, [cyd])
            expect(said(page).last).to_contain_text("behind the door", timeout=PATIENCE_S * 1e3)
            host.catch_up()
            assert [row.name for row in host.catalog.conversations()] == ["public"], "Ana can read none of it"

            page.get_by_role("button", name="Answer Ben").click()
            box(page).fill("Found it")
            box(page).press("Enter")
            expect(page.locator(".outbox .text")).to_have_count(0)
            expect(said(page)).to_have_count(3)
            assert ("Cyd", "Found it") in private_texts(talk, 3)
            # Without the node it is read and written all the same.
            link.down = True
            expect(page.locator("#connection-text")).to_contain_text("Offline since")
            page.reload()
            expect(said(page)).to_have_count(3)
            box(page).fill("Good night")
            box(page).press("Enter")
            expect(page.locator(".outbox .text")).to_have_text(["Good night"])
            link.down = False
            expect(page.locator(".outbox .text")).to_have_count(0, timeout=20_000)
            assert ("Cyd", "Good night") in private_texts(talk, 4)
            page.get_by_role("link", name="Chat").click()
            page.get_by_role("link", name="Ben").first.click()
            expect(said(page).last).to_have_text("Good night")
        with Visit(browser, address, width=390) as visit:
            page = enter(visit, address, token)
            page.get_by_role("link", name="Write as yourself").click()
            page.get_by_label("Your 24 words").fill(" ".join(words))
            page.get_by_role("button", name="Restore").click()
            page.get_by_role("button", name="Yes, write here").click()
            page.get_by_role("link", name="Chat").click()
            page.get_by_role("link", name="Ben").first.click()
            expect(said(page)).to_have_count(4)


def test_a_person_goes_on_with_their_words_and_a_revoked_phone_does_not(
    browser: Browser, hut: tuple[Path, Path, str, str]
) -> None:
    ana, ben, address, token = hut
    with daemon(ana), daemon(ben), NodeSession.at_home(str(ben)) as talk:
        ask_until(address, "/api/session", served=True)
        with Visit(browser, address, width=390) as old, Visit(browser, address, width=390) as new:
            first = enter(old, address, token)
            words = begin(first, "Cyd")
            box(first).fill("From the old phone")
            box(first).press("Enter")
            expect(said(first)).to_have_text(["From the old phone"])
            second = enter(new, address, token)
            second.get_by_role("link", name="Write as yourself").click()
            second.get_by_label("Your 24 words").fill(" ".join(words[1:]))
            second.get_by_role("button", name="Restore").click()
            expect(second.get_by_role("status").get_by_text("These are not 24 words")).to_be_visible()
            second.get_by_label("Your 24 words").fill("\n".join(word[:4] for word in words))
            second.get_by_role("button", name="Restore").click()
            expect(second.get_by_text("This node has 2 entries of yours.")).to_be_visible()
            assert new.barriers() == []
            second.get_by_role("button", name="Yes, write here").click()
            second.get_by_role("link", name="Chat").click()
            box(second).fill("From the new phone")
            box(second).press("Enter")
            expect(said(second)).to_have_text(["From the old phone", "From the new phone"])
            assert [text for _, text in heard(talk, 2)] == ["From the old phone", "From the new phone"]
            # The first one is locked out: a person has one place. The node names it no more.
            first.reload()
            expect(first.get_by_label("Token")).to_be_visible()
            (line,) = tinyssb(ana, "web", "--phones").stdout.decode().splitlines()
            assert tinyssb(ana, "web", "--revoke", line.split()[0]).returncode == 0
            second.reload()
            expect(second.get_by_label("Token")).to_be_visible()
            assert tinyssb(ana, "web", "--phones").stdout == b""


def test_a_phone_that_finds_entries_of_another_one_signs_nothing(
    browser: Browser, hut: tuple[Path, Path, str, str]
) -> None:
    """Two entries with one number would end the feed for ever."""
    ana, _, address, token = hut
    with daemon(ana):
        ask_until(address, "/api/session", served=True)
        with Visit(browser, address, width=390) as visit:
            page = enter(visit, address, token)
            begin(page, "Cyd")
            box(page).fill("One")
            box(page).press("Enter")
            expect(said(page)).to_have_text(["One"])
            # The phone's memory is put back, as by a backup of it.
            page.evaluate(
                """() => new Promise((done) => {
                  indexedDB.open("person").onsuccess = ({ target: { result } }) => {
                    const change = result.transaction("person", "readwrite");
                    change.oncomplete = done;
                    const store = change.objectStore("person");
                    store.get("me").onsuccess = ({ target: { result: me } }) => {
                      store.put({ ...me, seq: 1, id: "00".repeat(20) }, "me");
                    };
                  };
                })"""
            )
            page.reload()
            expect(page.get_by_role("link", name="Write as yourself")).to_be_visible()
            page.get_by_role("link", name="You", exact=True).click()
            expect(page.get_by_role("heading", name="Somebody writes with your key")).to_be_visible()
            assert visit.barriers() == []
            page.get_by_role("button", name="Write here only").click()
            page.get_by_role("link", name="Chat").click()
            box(page).fill("Two")
            box(page).press("Enter")
            expect(said(page)).to_have_text(["One", "Two"])
            shown = json.loads(tinyssb(ana, "feeds", "--json").stdout.decode().splitlines()[-1])
            assert "forked_at" not in shown or shown["forked_at"] is None


def test_over_plain_http_a_guest_reads_and_is_told_why_they_cannot_write(
    browser: Browser, hut: tuple[Path, Path, str, str]
) -> None:
    ana, _, address, token = hut
    with daemon(ana):
        ask_until(address, "/api/session", served=True)
        with Visit(browser, address, width=320) as visit:
            visit.page.add_init_script(
                "Object.defineProperty(window, 'isSecureContext', { value: false });"
                "Object.defineProperty(crypto, 'subtle', { value: undefined });"
            )
            page = enter(visit, address, token)
            page.get_by_role("link", name="Write as yourself").click()
            expect(page.locator("main .notice")).to_contain_text("this one came over HTTP")
            assert visit.barriers() == []
            assert not visit.wide()
