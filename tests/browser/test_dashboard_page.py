"""The page in a real browser: what a reader sees is what the database holds."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.spark_sink.dashboard_server import serving
from tests.spark_sink.serving_data import T0_US, Mesh, feed_of, node_of, partition, read_cells

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1400, "height": 900}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mesh.sqlite"


@pytest.fixture
def mesh(path: Path) -> Path:
    """The database of a partition."""
    partition(path)
    return path


@pytest.fixture
def address(path: Path) -> Iterator[str]:
    with serving(path) as address:
        yield address


class Visit:
    """A page opened in a browser, with everything it complained about and asked for."""

    def __init__(self, browser: Browser, address: str, *, width: int = 1400, scheme: str = "light") -> None:
        size = PHONE if width < 600 else DESK
        self.context = browser.new_context(
            viewport={"width": width, "height": size["height"]},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
        )
        self.complaints: list[str] = []
        self.places: set[str] = set()
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.places.add(urlsplit(request.url).netloc))
        self.page.goto(address)

    def wide(self) -> bool:
        """Whether the page as a whole has to be scrolled sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


@pytest.fixture
def visit(browser: Browser, mesh: Path, address: str) -> Iterator[Visit]:
    visit = Visit(browser, address)
    expect(visit.page.locator("#headline")).not_to_be_empty()
    yield visit
    visit.context.close()


def test_the_page_loads_without_complaint_and_asks_nobody_else(visit: Visit, address: str) -> None:
    expect(visit.page.locator("#connection")).to_contain_text("No news for")
    assert visit.complaints == []
    assert visit.places == {urlsplit(address).netloc}


def test_headline_tells_who_is_behind(visit: Visit, mesh: Path) -> None:
    behind = sum(read_cells(mesh).values())
    expect(visit.page.locator("#headline")).to_have_text(f"{behind} entries behind on 5 nodes")
    expect(visit.page.locator("#counts")).to_contain_text("5 nodes")
    expect(visit.page).to_have_title(f"{behind} behind · tinySSB mesh")


def test_heat_map_cells_are_those_of_the_database(visit: Visit, mesh: Path) -> None:
    cells = visit.page.locator("#heat td[data-feed]").evaluate_all(
        "all => all.map(one => [one.dataset.feed, one.dataset.node, Number(one.textContent)])"
    )
    assert {(feed, node): behind for feed, node, behind in cells} == read_cells(mesh)
    heads = visit.page.locator("#heat thead th[scope=col] span").all_text_contents()
    assert heads == ["ana", "ben", "chloé", "dora", "emil"]


def test_a_change_in_the_database_appears_without_reload(visit: Visit, mesh: Path) -> None:
    visit.page.evaluate("window.untouched = true")
    with Mesh(mesh) as told:
        told.publish("ana", 1_000, T0_US)
    cell = visit.page.locator(f"#heat td[data-feed='{feed_of('ana')}'][data-node='{node_of('emil')}']")
    expect(cell).to_have_text(str(read_cells(mesh)[feed_of("ana"), node_of("emil")]))
    assert visit.page.evaluate("window.untouched") is True


def test_everybody_having_everything_is_said(browser: Browser, path: Path, address: str) -> None:
    with Mesh(path) as told:
        told.node("ana")
        told.node("ben")
        told.publish("ana", 1, T0_US)
        told.arrive("ben", "ana", 1, T0_US)
    visit = Visit(browser, address)
    expect(visit.page.locator("#headline")).to_have_text("Everybody has everything")
    expect(visit.page.locator("#counts")).to_have_text("2 nodes1 feed1 entry2 of 2 copies in place")
    visit.context.close()


def test_names_are_text_and_never_markup(browser: Browser, path: Path, address: str) -> None:
    name = "<img src=x onerror=alert(1)>"
    with Mesh(path) as told:
        told.node(name)
        told.node("ben")
        told.publish(name, 1, T0_US)
        told.link(name, "ben", 3, T0_US)
    visit = Visit(browser, address)
    expect(visit.page.locator("#heat thead")).to_contain_text(name)
    assert visit.page.locator("img").count() == 0
    assert visit.complaints == []
    visit.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_until_it_is_chosen(
    browser: Browser, mesh: Path, address: str, scheme: str
) -> None:
    visit = Visit(browser, address, scheme=scheme)
    root = visit.page.locator("html")
    other = "light" if scheme == "dark" else "dark"
    expect(root).to_have_attribute("data-theme", scheme)
    ground = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    visit.page.locator("#theme").click()
    expect(root).to_have_attribute("data-theme", other)
    assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") != ground
    visit.page.reload()
    expect(root).to_have_attribute("data-theme", other)
    visit.context.close()


@pytest.mark.parametrize("width", [320, 390, 820])
def test_nothing_is_wider_than_the_screen(browser: Browser, mesh: Path, address: str, width: int) -> None:
    visit = Visit(browser, address, width=width)
    expect(visit.page.locator("#recent tbody tr").first).to_be_visible()
    assert not visit.wide()
    visit.context.close()


def test_fifty_nodes_scroll_inside_their_card(browser: Browser, path: Path, address: str) -> None:
    with Mesh(path) as told:
        for number in range(50):
            told.node(f"node-{number:02}")
            told.publish(f"node-{number:02}", 1, T0_US)
    visit = Visit(browser, address)
    expect(visit.page.locator("#heat tbody tr")).to_have_count(50)
    expect(visit.page.locator("#heat-card")).to_have_class("card wide")
    assert not visit.wide()
    visit.context.close()


def test_words_and_numbers_stand_out_from_their_ground(browser: Browser, mesh: Path, address: str) -> None:
    """Contrast of at least 4.5 to 1 in both themes (WCAG 2.2, 1.4.3), also on every colour of the heat map."""
    for scheme in ("light", "dark"):
        visit = Visit(browser, address, scheme=scheme)
        expect(visit.page.locator("#heat tbody tr")).to_have_count(5)
        poor = visit.page.evaluate(CONTRAST)
        assert poor == [], scheme
        visit.context.close()


CONTRAST = """() => {
  const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color.length === 3) return color;
    }
    return [255, 255, 255];
  };
  const row = document.querySelector("#heat tbody tr");
  for (const name of ["b0", "b1", "b2", "b3", "b4", "b5"]) {
    const cell = document.createElement("td");
    cell.className = name;
    cell.textContent = name;
    row.append(cell);
  }
  const speaks = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const texts = [...document.querySelectorAll("main *, .bar *, .foot *")].filter((one) =>
    one.checkVisibility() && !(one instanceof SVGElement) && speaks(one));
  return texts.flatMap((one) => {
    const [a, b] = [light(rgb(getComputedStyle(one).color).slice(0, 3)), light(ground(one))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    return ratio < 4.5 ? [`${one.textContent} (${one.className}): ${ratio.toFixed(2)}`] : [];
  });
}"""


def test_links_can_be_read_as_a_table(visit: Visit, mesh: Path) -> None:
    expect(visit.page.locator("#links svg .edge")).to_have_count(20)
    visit.page.locator("#links-table").click()
    rows = visit.page.locator("#links tbody tr")
    expect(rows).to_have_count(20)
    db = sqlite3.connect(mesh)
    packets = [
        count for (count,) in db.execute("SELECT packets FROM links ORDER BY packets DESC, sender, receiver")
    ]
    db.close()
    assert [int(text) for text in rows.locator("td:nth-child(3)").all_text_contents()] == packets
    expect(visit.page.locator("#links-table")).to_have_attribute("aria-pressed", "true")


def test_links_tell_more_when_a_node_has_the_focus(visit: Visit) -> None:
    visit.page.locator("#links [data-vertex]").first.focus()
    expect(visit.page.locator("#tip")).to_have_text("ana hears 4 nodes")
    expect(visit.page.locator("#links .edge.lit")).to_have_count(8)


def test_the_convergence_line_can_be_read_with_the_keyboard(visit: Visit, mesh: Path) -> None:
    visit.page.locator("#convergence").focus()
    visit.page.keyboard.press("ArrowRight")
    expect(visit.page.locator("#tip")).to_contain_text(f"{sum(read_cells(mesh).values())} copies missing")
    visit.page.locator("#theme").focus()
    expect(visit.page.locator("#tip")).to_be_hidden()


def test_a_missing_database_says_what_to_do_and_gives_way_to_the_figures(
    browser: Browser, path: Path, address: str
) -> None:
    visit = Visit(browser, address)
    expect(visit.page.locator("#empty-title")).to_have_text("No database yet")
    expect(visit.page.locator("#empty")).to_contain_text("make demo")
    expect(visit.page.locator("#cards")).to_be_hidden()
    partition(path)
    expect(visit.page.locator("#cards")).to_be_visible()
    expect(visit.page.locator("#empty")).to_be_hidden()
    assert visit.complaints == []
    visit.context.close()


def test_a_lost_connection_is_said_and_mended(browser: Browser, mesh: Path) -> None:
    with serving(mesh) as address:
        visit = Visit(browser, address)
        expect(visit.page.locator("#connection")).to_have_attribute("data-state", "quiet")
    expect(visit.page.locator("#connection-text")).to_have_text("Connection lost, trying again…")
    with serving(mesh, port=urlsplit(address).port or 0):
        expect(visit.page.locator("#connection")).to_have_attribute("data-state", "quiet", timeout=10_000)
        visit.context.close()


def test_kinds_of_packets_stand_in_order_and_unknown_ones_last(
    browser: Browser, path: Path, address: str
) -> None:
    with Mesh(path) as told:
        told.node("ana")
        for packet in ("whatever", "ask", "sketch", "want", "entry", "feeds"):
            told.packets("ana", T0_US, packet, "sent", 3)
    visit = Visit(browser, address)
    rows = visit.page.get_by_role("table", name="Packets by kind").get_by_role("rowheader")
    expect(rows).to_have_text(["entries", "WANT", "SKETCH", "ASK", "FEEDS", "whatever"])
    visit.context.close()
