"""The map of the node's page in Chromium: drawn without tiles, dragged, zoomed, used by keyboard, read as a list."""

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.visits import Visit
from tests.catalog.fake import ANA, BOB, CYD, EVE, ZOE
from tests.maps.making import around, make_pmtiles, picture, tile_at, within_tile
from tests.web.fake import FakeNode, serving
from tinyssb_node.catalog.rows import TelemetryRow
from tinyssb_node.content.telemetry import PositionRecord, SensorRecord, TelemetryRecord, withdrawal
from tinyssb_node.ids import FeedId
from tinyssb_node.maps.tile_address import TileAddress

pytestmark = pytest.mark.browser

MINUTE_US = 60_000_000
HARM = '"><img src=x onerror=alert(1)>'


def row(feed: FeedId, record: TelemetryRecord, minutes: int) -> TelemetryRow:
    """A record that arrived some minutes ago."""
    now_us = time.time_ns() // 1_000
    return TelemetryRow(feed=feed, own=feed == ANA, committed_us=now_us - minutes * MINUTE_US, record=record)


def mapped_node() -> FakeNode:
    """A node with people around Zurich, two of whom it shows no more."""
    node = FakeNode()
    node.catalog.all_telemetry = [
        row(ANA, PositionRecord(latitude=4_737_690, longitude=854_170, radius_m=12, altitude_m=408), 5),
        row(BOB, PositionRecord(latitude=4_734_990, longitude=849_130, radius_m=722), 1_000),
        row(EVE, PositionRecord(latitude=4_741_500, longitude=855_000, speed_dm_s=15, course_degrees=271), 2),
        row(CYD, PositionRecord(latitude=4_700_000, longitude=800_000, valid_minutes=10), 11),
        row(ZOE, withdrawal(), 1),
        row(BOB, SensorRecord(battery_percent=87, voltage_mv=3_912, solar_mw=512, temperature_dc=-185), 3),
        row(
            EVE,
            SensorRecord(battery_percent=101, status=HARM, version="tinyssb 0.9", hardware="Pi" + HARM[:20]),
            3,
        ),
    ]
    return node


def opened(visit: Visit) -> Page:
    """The map, once it is drawn."""
    visit.page.goto(f"{visit.address}/map")
    expect(visit.page.locator("#connection-text")).to_have_text("Live")
    expect(visit.page.locator(".map .place").first).to_be_visible()
    return visit.page


def place_of(page: Page, name: str) -> tuple[float, float]:
    """Where the name of somebody stands."""
    label = page.locator(".map text.name", has_text=name)
    expect(label).to_be_visible()  # it is drawn anew when readings come
    found = label.bounding_box()
    assert found is not None
    return found["x"], found["y"]


def card(page: Page, name: str) -> Locator:
    return page.locator("main .card", has=page.get_by_role("heading", name=name))


def test_people_are_where_they_say_and_the_list_says_it_in_words(browser: Browser) -> None:
    with serving(mapped_node()) as address, Visit(browser, address) as visit:
        page = opened(visit)
        expect(page.locator(".map .place")).to_have_count(3)
        expect(page.locator(".map .around")).to_have_count(1)  # Bob's is coarse, Ana's too small to see
        expect(page.locator(".map text.name.old")).to_have_text("Bob from the hut")
        expect(page.locator(".map")).to_have_attribute("aria-label", re.compile("Map of 3 positions"))
        you, bob = place_of(page, "You"), place_of(page, "Bob from the hut")
        assert bob[0] < you[0]
        assert bob[1] > you[1], "south is below"
        facts = card(page, "Bob from the hut").locator("dl")
        expect(facts).to_contain_text("47.34990, 8.49130 ±722 m, 17 h ago")
        expect(facts).to_contain_text("4.8 km SW")
        expect(facts).to_contain_text("87 %, 3.91 V")
        expect(facts).to_contain_text("-18.5 °C")
        expect(card(page, "You").locator("dl")).to_contain_text("408 m")
        assert "Cyd" not in str(page.locator(".map").text_content()), "expired"
        assert visit.complaints == []
        assert len(visit.places) == 1, "nobody else is asked for tiles"


def test_it_is_moved_and_zoomed_by_keyboard_mouse_and_buttons(browser: Browser) -> None:
    with serving(mapped_node()) as address, Visit(browser, address) as visit:
        page = opened(visit)
        scale = page.locator(".map text.scale")
        before = place_of(page, "You")
        page.locator(".map").focus()
        page.keyboard.press("ArrowRight")
        assert place_of(page, "You")[0] == pytest.approx(before[0] - 80, abs=1)
        page.keyboard.press("ArrowLeft")
        expect(scale).to_have_text("2.0 km")
        page.keyboard.press("+")
        expect(scale).to_have_text("1.0 km")
        page.get_by_role("button", name="Zoom out").click()
        expect(scale).to_have_text("2.0 km")
        page.get_by_role("button", name="Zoom out").click()
        page.get_by_role("button", name="Show all").click()
        assert place_of(page, "You") == pytest.approx(before, abs=1)
        page.mouse.move(before[0] - 40, before[1])
        page.mouse.down()
        page.mouse.move(before[0] - 10, before[1] + 50, steps=3)
        page.mouse.up()
        assert place_of(page, "You") == pytest.approx((before[0] + 30, before[1] + 50), abs=1)
        page.mouse.wheel(0, -600)
        expect(scale).to_have_text("500 m")
        card(page, "Bob from the hut").get_by_role("button", name="Show").click()
        expect(page.locator(".map")).to_be_focused()
        expect(page.locator(".map text.name")).to_have_text("Bob from the hut")
        assert visit.complaints == []


def test_texts_of_harmful_people_are_only_text(browser: Browser) -> None:
    with serving(mapped_node()) as address, Visit(browser, address) as visit:
        page = opened(visit)
        expect(page.locator("main dd", has_text="onerror=alert(1)")).to_be_visible()
        facts = page.locator("main dl", has_text="tinyssb 0.9")
        expect(facts).to_contain_text('HardwarePi"><img src=x onerror')
        assert page.locator("main img").count() == 0
        hidden = r"/[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069\u200b]/"
        assert page.evaluate(f"!{hidden}.test(document.body.textContent)")
        assert visit.complaints == []


def test_without_positions_it_says_so(browser: Browser) -> None:
    with serving(FakeNode()) as address, Visit(browser, address) as visit:
        visit.page.goto(f"{address}/map")
        expect(visit.page.get_by_text("Nobody shares a position")).to_be_visible()
        expect(visit.page.locator(".map")).to_be_hidden()
        expect(visit.page.locator("main .card").first).to_be_visible()
        assert visit.complaints == []


def test_one_place_alone_and_the_edge_of_the_world_are_drawn(browser: Browser) -> None:
    node = FakeNode()
    node.catalog.all_telemetry = [row(ANA, PositionRecord(latitude=9_000_000, longitude=-18_000_000), 1)]
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit)
        expect(page.locator(".map text.name")).to_have_text("You")
        assert "NaN" not in page.locator(".map").inner_html()
        assert visit.complaints == []


def test_tiles_of_the_nodes_own_file_are_the_ground_and_nobody_else_is_asked(
    browser: Browser, tmp_path: Path
) -> None:
    tiles = {at: picture(at) for zoom in (9, 10, 11) for at in around(47.3769, 8.5417, zoom)}
    here = tile_at(47.3769, 8.5417, 11)
    hole = TileAddress(11, here.column - 1, here.row)
    del tiles[hole]
    path = make_pmtiles(tmp_path / "map", tiles, attribution=f"© Ana <b>{HARM}</b>")
    with serving(mapped_node(), map_file=path) as address, Visit(browser, address) as visit:
        page = opened(visit)
        ground = page.locator(".map .ground image")
        expect(
            page.locator(f'.ground image[href^="/api/tile/11/{here.column}/{here.row}?v="]')
        ).to_be_visible()
        expect(page.locator(f'.ground image[href*="/11/{hole.column}/{hole.row}?"]')).to_be_hidden()
        below = page.evaluate(
            """(start) => {
              const you = document.querySelector('.map .place.own').getBBox();
              const tile = document.querySelector(`.ground image[href^="${start}"]`).getBBox();
              return [(you.x + you.width / 2 - tile.x) / tile.width, (you.y + you.height / 2 - tile.y) / tile.height];
            }""",
            f"/api/tile/11/{here.column}/{here.row}?",
        )
        assert below == pytest.approx(within_tile(47.3769, 8.5417, 11), abs=0.02)
        expect(page.locator(".map-author")).to_have_text('Map: © Ana ">')
        for _ in range(3):
            page.get_by_role("button", name="Zoom out").click()
        expect(page.locator('.ground image[href^="/api/tile/9/"]').first).to_be_visible()
        expect(page.locator('.ground image[href^="/api/tile/11/"]')).to_have_count(0)
        for _ in range(10):
            page.get_by_role("button", name="Zoom in").click()
        expect(ground).to_have_count(0)  # a picture is not enlarged without end
        assert page.locator("main img").count() == 0
        assert visit.complaints == []
        assert len(visit.places) == 1, "nobody else is asked for tiles"


def test_a_broken_map_leaves_the_drawing_as_it_is_without_one(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "map").write_bytes(b"PMTiles\x03 and nothing more")
    with serving(mapped_node(), map_file=tmp_path / "map") as address, Visit(browser, address) as visit:
        page = opened(visit)
        expect(page.locator(".map text.degree").first).to_be_visible()
        expect(page.locator(".map .ground image")).to_have_count(0)
        expect(page.locator(".map-author")).to_be_hidden()
        assert visit.complaints == []


@pytest.mark.parametrize("width", [320, 1_280])
def test_it_fits_and_everybody_can_use_it(browser: Browser, width: int) -> None:
    with serving(mapped_node()) as address, Visit(browser, address, width=width) as visit:
        page = opened(visit)
        assert not visit.wide()
        assert visit.barriers() == []
        page.emulate_media(color_scheme="dark")
        assert visit.barriers() == []
        assert visit.complaints == []


@pytest.mark.parametrize("latitude", [0, 47.4, -80, 85])
def test_the_projection_and_its_inverse_agree_and_ways_are_those_of_the_command(
    browser: Browser, latitude: float
) -> None:
    with serving(FakeNode()) as address, Visit(browser, address) as visit:
        visit.page.goto(f"{address}/map")
        found = visit.page.evaluate(
            """async (latitude) => {
              const { project, unproject, way, wind, rounded } = await import('/static/mercator.js');
              const place = { latitude, longitude: 8.5 };
              const zurich = { latitude: 47.3769, longitude: 8.5417 };
              const there = way(zurich, { latitude: 46.9481, longitude: 7.4474 });
              return [unproject(project(place)), there.metres, wind(there.course), rounded(499), rounded(0.7)];
            }""",
            latitude,
        )
        assert found[0] == pytest.approx({"latitude": latitude, "longitude": 8.5}, abs=1e-9)
        assert found[1:] == [pytest.approx(95_500, rel=0.01), "SW", 200, 0.5]
