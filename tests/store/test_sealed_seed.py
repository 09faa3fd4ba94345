"""Seeds sealed with a passphrase."""

from pathlib import Path
from typing import Any

import pytest
from nacl.exceptions import RuntimeError as DerivationError
from nacl.pwhash import argon2id

from tinyssb_node.errors import ExitCode, LocalError
from tinyssb_node.store import limits
from tinyssb_node.store.sealed_seed import Passphrase, PassphraseUnusableError, SealedSeed, seal, unseal

SEED = bytes(range(32))
WHERE = Path("identity")
CHEAP = {"ops": 1, "memory": limits.SEAL_MEMORY_MIN}
RIGHT = Passphrase.of("correct horse")


def test_only_the_passphrase_opens_it() -> None:
    sealed = seal(SEED, RIGHT, **CHEAP)
    assert unseal(sealed, RIGHT, WHERE) == SEED
    assert SEED not in sealed.box
    with pytest.raises(LocalError, match=r"The passphrase does not open .* Nothing was changed") as caught:
        unseal(sealed, Passphrase.of("correct horsf"), WHERE)
    assert caught.value.exit_code is ExitCode.PERMISSION


def test_no_two_boxes_are_alike() -> None:
    first, second = seal(SEED, RIGHT, **CHEAP), seal(SEED, RIGHT, **CHEAP)
    assert first.salt != second.salt
    assert first.box != second.box


def test_any_change_is_noticed() -> None:
    sealed = seal(SEED, RIGHT, **CHEAP)
    for place in (0, 23, 24, 39, 40, 71):
        box = bytearray(sealed.box)
        box[place] ^= 1
        with pytest.raises(LocalError, match="The passphrase does not open") as caught:
            unseal(SealedSeed(**CHEAP, salt=sealed.salt, box=bytes(box)), RIGHT, WHERE)
        assert caught.value.exit_code is ExitCode.PERMISSION


def test_accents_may_be_typed_either_way() -> None:
    assert Passphrase.of("Ka\u0308se") == Passphrase.of("K\u00e4se")


@pytest.mark.parametrize("text", ["", "x" * (limits.PASSPHRASE_MAX + 1), "\ud800 horse"])
def test_what_cannot_be_a_passphrase_is_told(text: str) -> None:
    with pytest.raises(PassphraseUnusableError) as caught:
        Passphrase.of(text)
    assert "horse" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ops", 0),
        ("ops", limits.SEAL_OPS_MAX + 1),
        ("memory", limits.SEAL_MEMORY_MIN - 1),
        ("memory", limits.SEAL_MEMORY_MAX + 1),
        ("salt", bytes(15)),
        ("box", bytes(71)),
    ],
)
def test_what_would_take_for_ever_is_not_tried(field: str, value: object) -> None:
    good: dict[str, Any] = {**CHEAP, "salt": bytes(16), "box": bytes(72)}
    SealedSeed(**good)
    with pytest.raises(ValueError, match=field):
        SealedSeed(**{**good, field: value})


def test_too_little_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_kwargs: object) -> bytes:
        raise DerivationError

    monkeypatch.setattr(argon2id, "kdf", refuse)
    with pytest.raises(LocalError, match="64 MiB") as caught:
        seal(SEED, RIGHT)
    assert caught.value.exit_code is ExitCode.BUSY


def test_nothing_secret_is_shown() -> None:
    assert "horse" not in repr(RIGHT)
