"""Changes of a radio's settings in a spec string, within the law of its region (docs/decisions/0121)."""

from collections.abc import Mapping
from typing import Final

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.faces.lora_spec import LoraSpec
from tinyssb_node.faces.serial_spec import KissSpec, RnodeSpec
from tinyssb_node.faces.spec import parse_spec

_MODEM: Final = ("frequency", "bandwidth", "sf", "cr", "sync")
TUNABLE: Final = ("plan", *_MODEM, "power")
"""Options that can be changed. Region, gain and loss are facts of the place, which only its owner states."""
_PLAIN: Final = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-_")


class TuningError(ProblemError):
    """A change of settings that is not possible, or not legal."""

    exit_code = ExitCode.USAGE

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(f"The radio was left as it is: {reason}.", hint, code="not_tunable")


def merged(before: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """Return the changes of *before* with *changes* after them: a plan replaces settings of the modem, and these a
    plan."""
    replaced = _MODEM if "plan" in changes else ("plan", "firmware") if {*changes} & {*_MODEM} else ()
    return {key: value for key, value in before.items() if key not in replaced} | {**changes}


def tuned_spec(spec: str, changes: Mapping[str, str]) -> str:
    """Return the radio's *spec* with other settings, checked as at the start of the daemon. Raises TuningError."""
    if not isinstance(parse_spec(spec), LoraSpec | KissSpec | RnodeSpec):
        raise TuningError("this face has no radio that the node sets up", "Radios: lora, kiss, rnode.")
    for key, value in changes.items():
        if key not in TUNABLE:
            raise TuningError(f"'{key[:20]}' cannot be changed", f"There are {', '.join(TUNABLE)}.")
        if not value or not _PLAIN.issuperset(value):
            raise TuningError(f"{key} is '{value[:20]}'", "A value has letters, digits, '.' and '-'.")
    address, _, options = spec.partition("?")
    given = merged(dict(option.split("=", 1) for option in options.split("&")), changes)
    tuned = f"{address}?{'&'.join(f'{key}={value}' for key, value in given.items())}"
    try:
        parse_spec(tuned)
    except FaceSpecError as error:
        raise TuningError(error.what, f"Possible: {error.allowed}") from error
    return tuned
