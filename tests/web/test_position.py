"""The user's own position, found by a phone: shown first, published once on the chosen grid, withdrawn from all."""

from typing import Any

import pytest

from tests.web.asking import ask, post
from tests.web.fake import GROUP, TOKEN, FakeNode, serving, with_group
from tinyssb_node.content.limits import VALID_MINUTES_MAX
from tinyssb_node.content.telemetry import PositionRecord, coarsened, withdrawal
from tinyssb_node.web import limits

PLACE: dict[str, Any] = {
    "latitude": 47.37694,
    "longitude": 8.54172,
    "accuracy_m": 11.2,
    "precision_m": 100,
    "valid_minutes": 240,
    "group": None,
}
EXACT = PositionRecord(valid_minutes=240, latitude=4_737_694, longitude=854_172, radius_m=12)


def published(node: FakeNode) -> list[tuple[PositionRecord, str | None]]:
    """The records that the node published, without their time, and to whom."""
    found = []
    for one in node.said:
        record = one["record"]
        assert record.said_s is not None
        found.append((PositionRecord(**{**fields_of(record), "said_s": None}), one["group"]))
    return found


def fields_of(record: PositionRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in PositionRecord.__dataclass_fields__}


def test_nothing_is_published_until_it_is_said_and_then_what_was_shown() -> None:
    node = FakeNode()
    with serving(node) as address:
        assert ask(address, "/api/position").json == {"groups": [], "shown": []}
        shown = post(address, "/api/position/cost", PLACE).json
        assert node.said == []
        coarse = coarsened(EXACT, 100)
        assert coarse.latitude is not None
        assert coarse.longitude is not None
        assert (shown["latitude"], shown["longitude"]) == (coarse.latitude / 1e5, coarse.longitude / 1e5)
        assert (shown["radius_m"], shown["packets"]) == (83, 1)
        assert shown["costs"][0]["air_us"] > 0
        for _ in range(2):  # the page sends again what got no answer
            assert post(address, "/api/position/share", {**PLACE, "once": "once-0001"}).json == {"packets": 1}
        assert published(node) == [(coarse, None)]
        assert ask(address, "/api/position").json["shown"] == [None]


def test_an_exact_place_and_one_for_a_group_alone() -> None:
    node = with_group(FakeNode())
    with serving(node) as address:
        groups = ask(address, "/api/position").json["groups"]
        assert groups == [{"name": GROUP, "title": "Hut crew 5a5a5a5a"}]
        exact = {**PLACE, "precision_m": 0, "group": GROUP}
        assert post(address, "/api/position/cost", exact).json["packets"] == 2
        assert post(address, "/api/position/share", {**exact, "once": "once-0001"}).json == {"packets": 2}
        assert published(node) == [(EXACT, GROUP)]
        assert ask(address, "/api/position").json["shown"] == [GROUP]


def test_to_stop_withdraws_it_from_all_to_whom_it_is_shown() -> None:
    node = with_group(FakeNode())
    with serving(node) as address:
        assert post(address, "/api/position/stop", {"once": "once-0000"}).json == {"packets": 0}
        for number, group in enumerate((None, GROUP)):
            post(address, "/api/position/share", {**PLACE, "group": group, "once": f"once-000{number + 1}"})
        assert post(address, "/api/position/stop", {"once": "once-0003"}).json == {"packets": 3}
        assert published(node)[2:] == [(withdrawal(), None), (withdrawal(), GROUP)]
        assert ask(address, "/api/position").json["shown"] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"latitude": 90.1},
        {"longitude": -180.1},
        {"latitude": float("nan")},
        {"latitude": float("inf")},
        {"latitude": "47"},
        {"latitude": True},
        {"latitude": None},
        {"accuracy_m": -1},
        {"precision_m": limits.PRECISION_M_MAX + 1},
        {"precision_m": 0.5},
        {"valid_minutes": VALID_MINUTES_MAX + 1},
        {"valid_minutes": -1},
        {"group": "Hut crew"},
        {"group": 7},
    ],
)
def test_what_is_no_place_is_refused(wrong: dict[str, Any]) -> None:
    node = FakeNode()
    with serving(node) as address:
        for path in ("cost", "share"):
            found = post(address, f"/api/position/{path}", {**PLACE, **wrong, "once": "once-0001"})
            assert (found.status, found.json["code"]) == (400, "bad_request")
    assert node.said == []


def test_nobody_without_the_token_sees_or_shares_it() -> None:
    node = FakeNode()
    with serving(node, token=TOKEN) as address:
        assert ask(address, "/api/position").status == 401
        for path in ("cost", "share", "stop"):
            assert post(address, f"/api/position/{path}", {**PLACE, "once": "once-0001"}).status == 401
    with serving(node) as address:
        other = post(
            address, "/api/position/share", {**PLACE, "once": "once-0001"}, origin="http://evil.example"
        )
        assert other.status == 403
    assert node.said == []


def test_only_the_page_itself_may_ask_the_browser_where_it_is() -> None:
    with serving(FakeNode()) as address:
        assert (
            ask(address, "/map").headers["permissions-policy"]
            == "camera=(), geolocation=(self), microphone=(self)"
        )
