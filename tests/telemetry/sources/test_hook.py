"""A command of the user's, run for real."""

import json
import shlex
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.telemetry import limits
from tinyssb_node.telemetry.sources.hook import NAMES, parse_measured, read_hook
from tinyssb_node.telemetry.sources.measured import Measured, SourceError


def command(code: str) -> str:
    return f"{sys.executable} -c {shlex.quote(code)}"


def test_what_it_prints_is_measured() -> None:
    measured = read_hook(
        command("""print('{"temperature_c": -3.5, "status": "Iced up", "voltage_v": null}')""")
    )
    assert measured == Measured(temperature_c=-3.5, status="Iced up")


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        ("/no/such/program", "cannot be run"),
        ("'", "cannot be run"),
        (" ", "cannot be run"),
        (command("raise SystemExit('no sensor found')"), "exit code 1: no sensor found"),
        (command("print('21.5 C')"), "did not print JSON"),
        (command("print('[1]')"), "did not print a JSON object"),
        (command("""print('{"temp": 1}')"""), "unknown name 'temp'; known are latitude"),
        (command("""print('{"temperature_c": "warm"}')"""), "'warm' as temperature_c, which is out of range"),
        (command("""print('{"humidity_percent": NaN}')"""), "out of range"),
        (command("""print('{"battery_percent": true}')"""), "out of range"),
        (command(r"""print('{"status": "a\\u001b[2J"}')"""), "out of range"),
        (command("""print('{"latitude": 1}')"""), "only one of latitude and longitude"),
    ],
)
def test_a_hook_that_fails_says_why(hook: str, reason: str) -> None:
    with pytest.raises(SourceError) as failed:
        read_hook(hook)
    assert reason in str(failed.value)


def test_a_hook_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SOURCE_TIMEOUT_S", 0.2)
    with pytest.raises(SourceError, match="takes more than"):
        read_hook(command("import time; time.sleep(60)"))


@given(
    st.dictionaries(
        st.sampled_from(NAMES) | st.text(max_size=3), st.none() | st.floats() | st.text(max_size=45)
    )
)
def test_any_object_is_measured_or_refused(found: dict[str, object]) -> None:
    try:
        measured = parse_measured(json.dumps(found).encode())
    except SourceError:
        return
    assert measured == Measured(**found)  # type: ignore[arg-type]


@given(st.binary(max_size=50))
def test_any_bytes_are_refused_with_a_reason(printed: bytes) -> None:
    try:
        parse_measured(printed)
    except SourceError:
        return
