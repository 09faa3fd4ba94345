"""Other settings for a radio: never beyond what the daemon would take at its start."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.faces.spec import endpoint_name, parse_spec
from tinyssb_node.faces.tuning import TUNABLE, TuningError, merged, tuned_spec

LORA = "lora:meshadv-mini?region=EU868&frequency=869.525&bandwidth=250&power=14&gain=2.15&name=mast"
PLAN = "kiss:/dev/ttyUSB0?region=EU868&plan=EU868.a"


@pytest.mark.parametrize(
    ("spec", "changes", "tuned"),
    [
        (LORA, {"power": "10"}, LORA.replace("power=14", "power=10")),
        (LORA, {"sf": "9"}, f"{LORA}&sf=9"),
        (
            LORA,
            {"plan": "EU868.b"},
            "lora:meshadv-mini?region=EU868&power=14&gain=2.15&name=mast&plan=EU868.b",
        ),
        (PLAN, {"frequency": "869.525"}, "kiss:/dev/ttyUSB0?region=EU868&frequency=869.525"),
        (PLAN, {}, PLAN),
    ],
)
def test_settings_are_replaced(spec: str, changes: dict[str, str], tuned: str) -> None:
    assert tuned_spec(spec, changes) == tuned


@pytest.mark.parametrize(
    ("spec", "changes", "reason"),
    [
        (LORA, {"power": "28"}, "not legal in EU868"),
        (LORA, {"frequency": "868.65"}, "not legal in EU868"),
        (LORA, {"region": "US915"}, "'region' cannot be changed"),
        (LORA, {"gain": "-20"}, "'gain' cannot be changed"),
        (LORA, {"loss": "30"}, "'loss' cannot be changed"),
        (LORA, {"firmware": "fw2023"}, "'firmware' cannot be changed"),
        (LORA, {"name": "other"}, "'name' cannot be changed"),
        (LORA, {"power": ""}, "power is ''"),
        (LORA, {"power": "10&region=US915"}, "power is '10&region=US915'"),
        (LORA, {"power": "10%26gain%3D-20"}, "power is '10%26gain%3D-20'"),
        (LORA, {"sf": "13"}, "sf is '13'"),
        (PLAN, {"sf": "9"}, "gives no frequency"),
        (LORA, {"plan": "EU868.a", "sf": "9"}, "gives no frequency"),
        ("udp:239.5.5.8:1558", {"power": "10"}, "no radio that the node sets up"),
        ("meshtastic:/dev/ttyUSB0?region=EU868", {"power": "10"}, "no radio that the node sets up"),
    ],
)
def test_what_is_not_legal_or_not_a_setting_is_refused(
    spec: str, changes: dict[str, str], reason: str
) -> None:
    with pytest.raises(TuningError, match="The radio was left as it is: ") as refused:
        tuned_spec(spec, changes)
    assert reason in refused.value.message
    assert refused.value.hint


CHANGES = st.dictionaries(
    st.sampled_from([*TUNABLE, "region", "gain"]),
    st.sampled_from(["10", "14", "27", "30", "9", "869.525", "868.3", "125", "EU868.a", "0x34", "-9", "x"]),
    max_size=4,
)


@given(st.sampled_from([LORA, PLAN]), CHANGES, CHANGES)
def test_whatever_is_tuned_keeps_name_region_and_antenna(
    spec: str, first: dict[str, str], second: dict[str, str]
) -> None:
    try:
        tuned = tuned_spec(tuned_spec(spec, first), second)
    except TuningError:
        return
    before, after = parse_spec(spec), parse_spec(tuned)
    assert endpoint_name(before) == endpoint_name(after)
    for fact in ("region", "antenna"):
        assert getattr(before.radio, fact) == getattr(after.radio, fact)  # type: ignore[union-attr]  # both are radios
    # After a restart the changes are made at once.
    assert parse_spec(tuned_spec(spec, merged(first, second))) == after
