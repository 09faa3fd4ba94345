"""Topology, map, airtime, delays, packets, message, gossip and faults: what a reader sees is what the server says."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

from spark_sink.page.tiles import parse_tiles
from tests.browser import answers
from tests.browser.visits import HEIGHT, PHONE_WIDTH, Visit
from tests.maps.making import make_pmtiles, tiles_of
from tests.spark_sink.page.serve_story import serving

pytestmark = pytest.mark.browser

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""A picture of one pixel."""
VIEWS = ("topology", "map", "airtime", "delays", "packets", "message", "gossip", "faults")
PICTURED = ("airtime", "message")
"""Those that begin at the top of a page."""
HOUR_US = 3_600_000_000


def ask(story: str, path: str) -> answers.Answer:
    """Return the server's answer."""
    with urlopen(story + path) as response:
        found: answers.Answer = json.load(response)
    return found


def message_of(story: str) -> str:
    """Feed and number of a recent entry that has a side chain and came to others."""
    recent = ask(story, "/api/overview")["recent"]
    best = max(
        recent, key=lambda entry: (entry["publisher"] is not None, entry["chunks"] or 0, entry["t_us"] or 0)
    )
    return f"{best['feed']}/{best['seq']}"


def path_of(story: str, view: str) -> str:
    """Address of a view."""
    return f"/message/{message_of(story)}" if view == "message" else f"/{view}"


@pytest.fixture
def visit(browser: Browser, story: str) -> Iterator[Visit]:
    with Visit(browser, story) as visit:
        yield visit
        assert visit.complaints == []


@pytest.mark.parametrize("view", VIEWS)
def test_everybody_can_use_the_view_on_any_screen(visit: Visit, story: str, view: str) -> None:
    page = visit.go(path_of(story, view))
    if view in PICTURED:
        assert visit.picture_differs(view) == ""
    assert visit.barriers() == []
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert visit.barriers() == []
    page.set_viewport_size({"width": PHONE_WIDTH, "height": HEIGHT})
    assert not visit.wide()
    page.set_viewport_size({"width": 3_840, "height": 2_160})
    assert not visit.wide()
    assert {story.split("//")[1]} == visit.places


def column(page: Page, table: str, number: int) -> list[str]:
    """The texts of a column, 1 being the first."""
    found = page.locator(f"{table} tbody tr > :nth-child({number})").all_text_contents()
    return [text.strip() for text in found]


@pytest.mark.parametrize("view", VIEWS)
def test_names_are_text_and_never_markup(browser: Browser, harmful_story: str, view: str) -> None:
    with Visit(browser, harmful_story) as visit:
        page = visit.go(path_of(harmful_story, view))
        expect(page.locator("#view")).to_contain_text("<img src=x")
        assert page.locator("#view img, #view script, #view b:not(.used b)").count() == 0
        assert visit.complaints == []


def test_the_graph_has_a_dot_for_each_node_and_an_arrow_for_each_direction(visit: Visit, story: str) -> None:
    known = ask(story, "/api/topology")
    page = visit.go("/topology")
    drawn = page.locator(".vertex").evaluate_all("all => all.map(one => one.dataset.vertex)")
    assert sorted(drawn) == sorted(node["node"] for node in known["nodes"])
    links = page.locator(".edge").evaluate_all("all => all.map(one => one.dataset.key)")
    assert sorted(links) == sorted(f"{link['sender']}>{link['receiver']}" for link in known["links"])
    page.locator("#links").get_by_role("button", name="Show all").click()
    assert len(column(page, "#links", 1)) == len(known["links"])
    assert [text.split()[0] for text in column(page, "#changes", 2)] == [
        {"join": "joined"}.get(change["kind"], change["kind"]) for change in known["changes"]
    ]


def test_links_that_were_not_heard_for_an_hour_are_dashed_and_paler(visit: Visit, story: str) -> None:
    known = ask(story, "/api/topology")
    page = visit.go("/topology")
    stale = {
        f"{link['sender']}>{link['receiver']}"
        for link in known["links"]
        if known["to_us"] - link["last_us"] > HOUR_US
    }
    assert stale
    dashed = page.locator(".edge.stale").evaluate_all("all => all.map(one => one.dataset.key)")
    assert set(dashed) == stale
    assert page.locator(".edge.stale").first.evaluate("one => Number(one.getAttribute('opacity')) < 1")


def test_a_node_of_the_graph_is_chosen_with_the_keyboard_and_kept_in_the_address(
    visit: Visit, story: str
) -> None:
    known = ask(story, "/api/topology")
    page = visit.go("/topology")
    first = page.locator('.vertex[tabindex="0"]')
    expect(first).to_have_count(1)
    first.focus()
    expect(page.locator("#tip")).to_be_visible()
    before = first.get_attribute("data-vertex")
    for key in ("ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
        node = page.locator(".vertex:focus").get_attribute("data-vertex")
        if node != before:
            break
    assert node != before
    page.keyboard.press("Enter")
    expect(page.locator('.vertex[aria-pressed="true"]')).to_have_attribute("data-vertex", node or "")
    assert f"node={node}" in page.url
    mine = [link for link in known["links"] if node in (link["sender"], link["receiver"])]
    expect(page.locator("#links tbody tr")).to_have_count(len(mine))
    visit.settle()
    page.reload()
    visit.settle()
    expect(page.locator("#links tbody tr")).to_have_count(len(mine))


def test_the_graph_looks_the_same_on_every_load_and_nodes_stay_in_time(visit: Visit) -> None:
    page = visit.go("/topology")
    places = "all => Object.fromEntries(all.map(one => [one.dataset.vertex, one.getAttribute('transform')]))"
    before = page.locator(".vertex").evaluate_all(places)
    page.reload()
    visit.settle()
    assert page.locator(".vertex").evaluate_all(places) == before
    page.locator(".time-slider input").focus()
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile(r"[?&]at="))
    expect(page.get_by_role("button", name="Latest")).to_be_visible()
    after = page.locator(".vertex").evaluate_all(places)
    assert {node: before[node] for node in after} == after


def test_the_slider_shows_the_parts_of_a_split(visit: Visit, story: str) -> None:
    (split,) = [change for change in ask(story, "/api/topology")["changes"] if change["kind"] == "split"]
    page = visit.go(f"/topology?at={split['t_us'] + HOUR_US}")
    expect(page.locator("#mesh header p")).to_contain_text("The mesh is in 2 parts")
    expect(page.locator(".hull")).to_have_count(2)
    page.get_by_role("button", name="Latest").click()
    expect(page.locator(".hull")).to_have_count(1)


def test_the_layout_puts_neighbours_near_and_a_new_node_beside_them(visit: Visit) -> None:
    page = visit.go("/topology")
    distances, kept = page.evaluate(
        """async () => {
          const { arrange, hull } = await import('/static/layout.js');
          const link = (a, b) => ({ sender: a, receiver: b, ratio: 1 });
          const line = [link('a', 'b'), link('b', 'c'), link('c', 'd')];
          const places = arrange(['a', 'b', 'c', 'd'], line);
          const far = (one, two) => Math.hypot(...places.get(one).map((n, axis) => n - places.get(two)[axis]));
          const more = arrange(['a', 'b', 'c', 'd', 'e'], [...line, link('d', 'e')], places);
          const corners = hull([[0, 0], [2, 0], [1, 1], [2, 2], [0, 2]]).length;
          return [[far('a', 'b'), far('b', 'c'), far('a', 'd'), corners],
            ['a', 'b', 'c', 'd'].every((node) => more.get(node) === places.get(node)) && more.has('e')];
        }"""
    )
    assert distances == pytest.approx([1, 1, 3, 4], abs=0.1)
    assert kept is True


def test_nodes_that_fell_into_a_line_are_laid_out_anew_once_their_links_are_known(visit: Visit) -> None:
    """Links of a line hide each other."""
    page = visit.go("/topology")
    width = page.evaluate(
        """async () => {
          const { arrange } = await import('/static/layout.js');
          const names = ['a', 'b', 'c', 'd', 'e'];
          const inLine = new Map(names.map((name, at) => [name, [at, 0]]));
          const links = names.flatMap((a) => names.filter((b) => b > a).map((b) => ({ sender: a, receiver: b, ratio: 1 })));
          const ys = [...arrange(names, links, inLine).values()].map(([, y]) => y);
          return Math.max(...ys) - Math.min(...ys);
        }"""  # noqa: E501 - a line of another language
    )
    assert width > 0.5


def test_nodes_with_a_position_are_on_the_map_and_the_others_are_named(visit: Visit, story: str) -> None:
    nodes = ask(story, "/api/topology")["nodes"]
    page = visit.go("/map")
    placed = {node["label"] for node in nodes if node["latitude"] is not None}
    assert set(page.locator(".pin > span").all_text_contents()) == placed
    for label in {node["label"] for node in nodes} - placed:
        expect(page.locator("#map header p")).to_contain_text(label)
    expect(page.locator(".leaflet-control-scale")).to_contain_text("km")
    assert page.locator("path.grid-line").count() > 4
    page.locator(".leaflet-marker-icon.pin-box").first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/node/"))


def test_the_map_has_room_for_nodes_that_come_later_until_it_is_moved(visit: Visit, story: str) -> None:
    known = ask(story, "/api/topology")
    placed = [node for node in known["nodes"] if node["latitude"] is not None]
    few = {**known, "nodes": placed[:2], "links": []}
    page = visit.page
    page.route("**/api/topology*", lambda route: route.fulfill(json=few))
    visit.go("/")
    expect(page.locator(".pin")).to_have_count(2)
    page.unroute("**/api/topology*")
    page.get_by_label("Time range").select_option("7d")
    expect(page.locator(".pin")).to_have_count(len(placed))
    inside = """() => {
      const map = document.querySelector('.map-box').getBoundingClientRect();
      const boxes = [...document.querySelectorAll('.pin-box')].map((pin) => pin.getBoundingClientRect());
      return boxes.filter((box) => box.top >= map.top && box.bottom <= map.bottom && box.left >= map.left).length;
    }"""
    assert page.evaluate(inside) == len(placed)
    page.locator(".map-box").get_by_role("button", name="Zoom in").click()
    zoomed = page.locator(".leaflet-control-scale").text_content()
    page.get_by_label("Time range").select_option("24h")
    visit.settle()
    assert page.locator(".leaflet-control-scale").text_content() == zoomed


def test_the_map_has_pictures_if_a_server_of_them_is_named_and_a_grid_where_they_fail(
    browser: Browser, story_database: Path
) -> None:
    tiles = parse_tiles("https://tiles.example.org/{z}/{x}/{y}.png", "<b>Example</b>")
    with serving(str(story_database), tiles=tiles) as address, Visit(browser, address) as visit:
        visit.page.route(
            "https://tiles.example.org/**", lambda route: route.fulfill(body=DOT, content_type="image/png")
        )
        page = visit.go("/map")
        expect(page.locator(".leaflet-tile-loaded").first).to_be_visible()
        expect(page.locator("path.grid-line")).to_have_count(0)
        expect(page.locator(".map-by")).to_have_text("<b>Example</b>")
        assert visit.barriers() == []
        assert visit.places == {address.split("//")[1], "tiles.example.org"}
        assert visit.complaints == []
        page.unroute("https://tiles.example.org/**")
        page.route("https://tiles.example.org/**", lambda route: route.abort())
        page.reload()
        expect(page.locator("path.grid-line").nth(3)).to_be_attached()


def test_the_map_has_pictures_of_a_file_and_nobody_else_is_asked(
    browser: Browser, story_database: Path, tmp_path: Path
) -> None:
    path = make_pmtiles(tmp_path / "map", tiles_of(3), attribution="© <b>Ana</b>")
    with serving(str(story_database), map_file=path) as address, Visit(browser, address) as visit:
        page = visit.go("/map")
        expect(page.locator('.leaflet-tile-loaded[src^="/api/tile/3/"]').first).to_be_visible()
        expect(page.locator("path.grid-line")).to_have_count(0)
        expect(page.locator(".map-by")).to_have_text("© Ana")
        assert visit.places == {address.split("//")[1]}
        assert visit.complaints == []


def test_worst_talkers_stand_first_and_whoever_is_over_the_limit_is_told(visit: Visit, story: str) -> None:
    known = ask(story, "/api/airtime")
    page = visit.go("/airtime")
    assert column(page, "#talkers", 1) == [f"{row['label']} {row['face']}" for row in known["nodes"]]
    over = [row for row in known["nodes"] if row["fullest_ppm"] > row["limit_ppm"]]
    assert over
    expect(page.locator('#talkers .gauge[data-level="over"]')).to_have_count(len(over))
    expect(page.locator("#talkers .gauge-limit")).to_have_count(len(known["nodes"]))
    expect(page.locator("#talkers header p")).to_contain_text(f"{known['delivered']:,} copies")
    uses: dict[str, int] = {}
    for row in known["nodes"]:
        for use, airtime_us in row["uses"].items():
            uses[use] = uses.get(use, 0) + airtime_us
    shares = {
        name.split()[0][:4]: share
        for name, share in zip(*(column(page, "#uses", n) for n in (1, 3)), strict=True)
    }
    assert shares["news"] == f"{100 * uses['news'] / sum(uses.values()):.1f} %"


def test_the_histogram_has_all_copies_and_a_row_shows_its_own(visit: Visit, story: str) -> None:
    known = ask(story, "/api/delays?scope=hop")
    page = visit.go("/delays")
    page.get_by_role("button", name="by hop").click()
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("#rows tbody tr")).to_have_count(len(known["rows"]))
    expect(page.locator(".histogram:not(.small) .mark-line")).to_have_count(2)
    row = known["rows"][0]
    page.get_by_role("button", name=row["label"], exact=True).click()
    expect(page.locator("#distribution h2")).to_have_text(row["label"])
    expect(page.locator("#distribution header p")).to_contain_text(f"{row['n']:,} cop")
    assert "by=hop" in page.url
    counts = page.evaluate(
        "async () => { const { rebin, place } = await import('/static/histogram.js');"
        " return [...rebin([[0, 0, 2], [1000, 3000, 8]], [0, place(3000)], 4)]; }"
    )
    assert counts == pytest.approx([2, 0, 4, 4])


def test_delays_over_time_are_drawn_once_they_come_into_sight(visit: Visit, story: str) -> None:
    known = ask(story, "/api/delays")
    visit.page.set_viewport_size({"width": 1400, "height": 300})
    page = visit.go("/delays")
    figure = page.locator("#when .spread")
    copies = sum(n for _from_us, _low_us, _high_us, n in known["over_time"])
    expect(figure).to_have_attribute("aria-label", re.compile(f": {copies:,} copies$"))
    expect(figure.locator("canvas")).to_have_count(0)
    figure.scroll_into_view_if_needed()
    figure.locator("canvas").first.wait_for()
    assert visit.barriers() == []
    page.locator("#theme").click()
    figure.hover()
    with page.expect_download() as picture:
        page.locator("#when").get_by_role("button", name="PNG").click()
    assert picture.value.path().read_bytes().startswith(b"\x89PNG")
    with page.expect_download() as table:
        page.locator("#when").get_by_role("link", name="CSV").click()
    assert table.value.path().read_text().count("\n") == 1 + len(known["over_time"])


def test_packets_are_filtered_and_held_still(visit: Visit, story: str) -> None:
    known = ask(story, "/api/packets?limit=2000")["rows"]
    page = visit.go("/packets")
    expect(page.locator("#packets tbody tr")).to_have_count(40)
    page.get_by_role("button", name="Show all 150 rows").click()
    expect(page.locator("#packets tbody tr")).to_have_count(150)
    page.locator("#packets").get_by_label("Kind").select_option("want")
    page.locator("#packets").get_by_label("Verdict").select_option("duplicate")
    wanted = [row for row in known if row["packet"] == "want" and row["verdict"] == "duplicate"]
    expect(page.locator("#packets header p")).to_contain_text(f"{len(wanted)}")
    assert set(column(page, "#packets", 4)) == {"WANT"}
    assert "kind=want" in page.url
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#packets header p")).to_contain_text("paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#packets header p")).to_contain_text("as they are logged")


def test_new_packets_come_on_top_without_reload(browser: Browser, story: str) -> None:
    packet: dict[str, Any] = {
        "place": 1, "t_us": 1_770_000_000_000_000, "node": "0" * 16, "label": "ana", "direction": "tx", "face": "lora",
        "packet": "want", "verdict": "sent", "reason": "", "length": 20, "rssi_dbm": None, "snr_db": None,
        "airtime_us": 82_000, "feed": None, "feed_label": None, "seq": None, "chunk": None,
    }  # fmt: skip
    ready = {
        "v": 2,
        "state": "ready",
        "as_of_us": packet["t_us"],
        "committed_us": packet["t_us"],
        "changes": 1,
    }
    came: list[dict[str, Any]] = []
    with Visit(browser, story) as visit:
        page = visit.page
        page.route(
            "**/api/packets*",
            lambda route: route.fulfill(
                json={**ready, "rows": came if "after=1" in route.request.url else [packet]}
            ),
        )
        visit.go("/packets")
        expect(page.locator("#packets tbody tr")).to_have_count(1)
        page.locator("#packets tbody tr").evaluate("row => { row.dataset.mark = 'kept'; }")
        came.append({**packet, "place": 2, "label": "ben"})
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("#packets tbody tr")).to_have_count(2)
        assert column(page, "#packets", 2) == ["ben", "ana"]
        expect(page.locator("#packets tbody tr").nth(1)).to_have_attribute("data-mark", "kept")


def test_a_journey_shows_every_arrival_hop_and_who_lacks_it(visit: Visit, story: str) -> None:
    known = ask(story, f"/api/message/{message_of(story)}")
    page = visit.go(f"/message/{message_of(story)}")
    expect(page.locator("h1")).to_have_text(f"{known['entry']['label']} #{known['entry']['seq']}")
    expect(page.locator(".journey .came")).to_have_count(len(known["arrivals"]))
    expect(page.locator(".journey .hop")).to_have_count(
        sum(one["from"] is not None for one in known["arrivals"])
    )
    expect(page.locator(".journey .not-yet")).to_have_count(len(known["missing"]))
    expect(page.locator(".journey .sent")).to_have_count(len(known["transmissions"]))
    assert column(page, "#missing", 1) == [one["label"] for one in known["missing"]]
    page.get_by_role("button", name="Logarithmic").click()
    expect(page.locator("#way header p")).to_contain_text("logarithmic")
    assert "axis=log" in page.url


def test_gossip_tells_the_sums_and_every_node(visit: Visit, story: str) -> None:
    known = ask(story, "/api/gossip")
    page = visit.go("/gossip")
    rows = dict(zip(column(page, "#nodes", 1), column(page, "#nodes", 7), strict=True))
    assert rows == {row["label"]: f"{row['answers_sent']:,}" for row in known["nodes"]}
    expect(page.locator("#all")).to_contain_text(f"{known['all']['answers_sent']:,}")
    expect(page.locator("#all")).to_contain_text(f"{known['all']['spared']:,}")


def test_the_fault_wall_tells_alerts_incidents_and_what_was_not_counted(visit: Visit, story: str) -> None:
    known = ask(story, "/api/faults")
    page = visit.go("/faults")
    expect(page.locator(".spells li")).to_have_count(len(known["alerts"]))
    expect(page.locator(".spells li.open")).to_have_count(
        sum(one["until_us"] is None for one in known["alerts"])
    )
    for alert in known["alerts"]:
        expect(page.locator(".spells")).to_contain_text(alert["text"])
    for name in ("forks", "invalid", "flapping", "refused", "gaps", "oddities", "bad_lines"):
        expect(page.locator(f"#list-{name} tbody tr")).to_have_count(len(known[name]))
    page.locator("#incidents").get_by_label("Kind").select_option("clock")
    jumps = sum(one["kind"] == "clock" for one in known["incidents"])
    expect(page.locator("#incidents tbody tr")).to_have_count(jumps)
    assert "kind=clock" in page.url


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ("topology", "Nothing was heard in this period"),
        ("delays", "No copy came"),
        ("airtime", "No radio sent in this period"),
        ("faults", "No incident matches"),
    ],
)
def test_a_time_without_anything_says_so(visit: Visit, view: str, words: str) -> None:
    page = visit.go(f"/{view}?from=1000000&to=2000000")
    expect(page.locator("#view")).to_contain_text(words)
    assert visit.barriers() == []


@pytest.mark.parametrize("view", ["topology", "delays", "message"])
def test_drawings_are_saved_as_png(visit: Visit, story: str, view: str) -> None:
    page = visit.go(path_of(story, view))
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG").first.click()
    assert download.value.suggested_filename.endswith(".png")
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
