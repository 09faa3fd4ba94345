"""Spec strings of LoRa boards."""

import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.boards import board_names
from firmware_bridge.lora import LoraSettings
from firmware_bridge.regions import Antenna, Region
from tests.architecture.sources import ROOT
from tests.faces.spec_writer import serialize_spec
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.faces.lora_spec import LoraSpec
from tinyssb_node.faces.radio import RadioChoice
from tinyssb_node.faces.radio_options import RADIO_OPTIONS
from tinyssb_node.faces.spec import parse_spec

SPECS = st.builds(
    LoraSpec,
    board=st.sampled_from(board_names()),
    radio=st.sampled_from(
        [
            RadioChoice(region=Region.EU868, plan="EU868.a"),
            RadioChoice(region=Region.EU868, plan="EU868.a", pongs=True),
            RadioChoice(region=Region.US915, plan="US915.c", power_dbm=20, antenna=Antenna(gain_cdbi=0)),
            RadioChoice(region=Region.EU868, lora=LoraSettings(frequency_hz=869_525_000, sync_word=0x12)),
        ]
    ),
    crc=st.booleans(),
    emulated=st.booleans(),
    name=st.none() | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", fullmatch=True),
)


@given(SPECS)
def test_what_is_written_is_read_as_the_same(spec: LoraSpec) -> None:
    assert parse_spec(serialize_spec(spec)) == spec


def test_a_plain_one() -> None:
    spec = parse_spec("lora:meshadv-pi?region=EU868&plan=EU868.a")
    assert spec == LoraSpec(board="meshadv-pi", radio=RadioChoice(region=Region.EU868, plan="EU868.a"))
    assert spec.face_name == "lora"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lora:meshadv-pi", "it names no region"),
        ("lora:meshadv-pi?region=EU868", "it has no settings for the radio"),
        (
            "lora:nonsense?region=EU868&plan=EU868.a",
            "there is no such profile. Possible: There are: adafruit",
        ),
        ("lora:?region=EU868&plan=EU868.a", "'' is no address"),
        ("lora:../x?region=EU868&plan=EU868.a", "'../x' is no address"),
        ("lora:/nowhere/x.toml?region=EU868&plan=EU868.a", "its file cannot be read"),
        ("lora:meshadv-pi?region=US915&plan=US915.a", "is not legal in US915"),
        ("lora:meshadv-pi?region=EU868&plan=EU868.a&colour=red", "there is no option 'colour'"),
        ("lora:meshadv-pi?region=EU868&plan=EU868.a&crc=perhaps", "crc is 'perhaps'"),
    ],
)
def test_what_cannot_be_opened_is_told_with_what_could(text: str, words: str) -> None:
    with pytest.raises(FaceSpecError) as caught:
        parse_spec(text)
    assert words in str(caught.value)


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("title = 7")
    with pytest.raises(FaceSpecError, match="in title, expected `str`, got `int`"):
        parse_spec(f"lora:{path}?region=EU868&plan=EU868.a")


def test_the_page_of_faces_has_every_option_and_true_examples() -> None:
    page = (ROOT / "docs/reference/faces.md").read_text("utf-8")
    rows = " ".join(re.findall(r"^\| `lora` \|([^|]*)\|", page, re.MULTILINE))
    fields = {field.name for field in dataclasses.fields(LoraSpec)} - {"board", "radio", "name"}
    assert set(re.findall(r"`(\w+)`", rows)) == fields | set(RADIO_OPTIONS.split(", "))
    examples = re.findall(r"^lora:[a-z]\S*$", page, re.MULTILINE)
    assert len(examples) == 2
    assert [serialize_spec(parse_spec(example)) for example in examples] == examples
