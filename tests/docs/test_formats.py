"""The pages on formats and configuration name everything there is."""

import dataclasses
import re
from pathlib import Path
from typing import get_args

import pytest

from tests.docs import pages
from tinyssb_node.codec import events
from tinyssb_node.codec.event_records import KINDS
from tinyssb_node.daemon.config import parse_config
from tinyssb_node.errors import ConfigError
from tinyssb_node.ids import PacketKind
from tinyssb_node.store.home import Home


def rows(page: str) -> dict[str, str]:
    """Rows of a page's tables by the first cell's first code word."""
    found = re.findall(r"^\| `([\w.]+)`(.*)$", pages.read(page), re.MULTILINE)
    return dict(found)


def test_every_kind_of_event_and_field_is_in_the_format() -> None:
    described = rows("docs/formats/events.md")
    missing = []
    for event in get_args(events.Event):
        kind = KINDS[event]
        row = described.get(kind, "")
        missing += [
            f"{kind}.{field.name}"
            for field in dataclasses.fields(event)
            if not re.search(rf"`{field.name}`", row)
        ]
    assert missing == []


def test_every_kind_of_packet_is_in_the_format() -> None:
    (sentence,) = re.findall(
        r"^`packet` is one of `([^`]+)`", pages.read("docs/formats/events.md"), re.MULTILINE
    )
    assert sentence.split() == [kind.value for kind in PacketKind]


def test_every_kind_of_packet_has_a_code_in_packed_rows() -> None:
    codes = re.findall(r"(\d+) (\w+)", rows("docs/formats/serving.md")["packet"].partition("| u8 |")[2])
    assert codes.pop() == ("255", "other")
    assert [int(code) for code, _ in codes] == list(range(len(codes)))
    assert {kind for _, kind in codes} == set(PacketKind) - {PacketKind.UNKNOWN}


def test_every_key_of_the_configuration_is_described(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_config(Home(tmp_path), {"qqqqqqqq": 1})
    keys = refused.value.allowed.partition("there are ")[2].split(", ")
    assert "faces" in keys
    described = pages.read("docs/reference/config.md")
    assert [key for key in keys if f"`{key}`" not in described] == []
