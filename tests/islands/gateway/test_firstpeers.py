"""Signed lists of first peers: made, checked, used."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.daemon.processes import make_home
from tinyssb_node.cli.main import main
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.errors import ExitCode
from tinyssb_node.islands.gateway.firstpeers import (
    FIRST_PEERS_FILE,
    PEERS_MAX,
    FirstPeersError,
    parse_first_peers,
    read_first_peers,
    sign_first_peers,
)

VECTOR = (Path(__file__).parents[2] / "vectors/gateway/first_peers_v1.txt").read_bytes()
KEY = SigningKey(b"\7" * 32)
PEERS = (("2001:db8::7", 8_789), ("gate.example.org", 8_789))
WRITTEN, UNTIL = date(2026, 11, 29), date(2027, 11, 29)


def test_the_vector() -> None:
    assert sign_first_peers(KEY, PEERS, WRITTEN, UNTIL) == VECTOR
    found = parse_first_peers(VECTOR)
    assert (found.signer, found.written, found.until, found.peers) == (KEY.feed_id, WRITTEN, UNTIL, PEERS)


@given(st.integers(0, len(VECTOR) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(at: int, mask: int) -> None:
    changed = VECTOR[:at] + bytes((VECTOR[at] ^ mask,)) + VECTOR[at + 1 :]
    try:
        parse_first_peers(changed)
    except FirstPeersError:
        return
    # Hexadecimal digits may be large or small; that is all that may differ.
    assert changed.lower() == VECTOR


@given(st.binary(max_size=300))
def test_any_bytes_are_a_list_or_an_error(data: bytes) -> None:
    for each in (data, b"tinyssb-first-peers 1\n" + data):
        with pytest.raises(FirstPeersError):
            parse_first_peers(each)


def signed(body: str) -> bytes:
    data = body.encode()
    return data + f"signed {KEY.feed_id.hex()} {KEY.sign(data).hex()}\n".encode()


HEAD = "tinyssb-first-peers 1\nwritten 2026-11-29\nuntil 2027-11-29\n"


@pytest.mark.parametrize(
    "body",
    [
        HEAD,
        HEAD + "peer 192.0.2.1\n",
        HEAD + "peer 192.0.2.1:1\npeer 192.0.2.1:1\n",
        HEAD + "other 192.0.2.1:1\n",
        HEAD + "".join(f"peer 192.0.2.1:{port}\n" for port in range(1, PEERS_MAX + 2)),
        HEAD.replace("1\n", "2\n", 1) + "peer 192.0.2.1:1\n",
        HEAD.replace("2027-11-29", "later") + "peer 192.0.2.1:1\n",
        HEAD + "peer 192.0.2.1:1\n" + 1_000 * "peer some-name.example.org:1\n",
    ],
)
def test_a_signature_makes_no_rule_void(body: str) -> None:
    with pytest.raises(FirstPeersError):
        parse_first_peers(signed(body))


def test_who_signs_shows_and_uses_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ana, bob, file = tmp_path / "ana", tmp_path / "bob", tmp_path / "list"
    signer = make_home(ana).hex()
    make_home(bob)
    home = ("--home", str(bob), "gateway")
    assert (
        main(["--home", str(ana), "gateway", "sign-peers", str(file), "192.0.2.7:8789", "[2001:db8::7]:1"])
        == 0
    )
    assert signer in capsys.readouterr().out
    assert main([*home, "show-peers", str(file)]) == 0
    shown = capsys.readouterr().out
    assert signer in shown
    assert "[2001:db8::7]:1" in shown
    used = bob / FIRST_PEERS_FILE
    assert main([*home, "use-peers", str(file)]) == ExitCode.DATA
    assert main([*home, "use-peers", str(file), "--signer", "00" * 32]) == ExitCode.DATA
    assert not used.exists()
    assert main([*home, "use-peers", str(file), "--signer", signer.upper()]) == 0
    found = read_first_peers(used)
    assert found is not None
    assert found.peers == (("192.0.2.7", 8_789), ("2001:db8::7", 1))
    assert main([*home, "use-peers", str(file)]) == 0, "the same signer, as new"
    older = tmp_path / "older"
    older.write_bytes(VECTOR)
    assert main([*home, "use-peers", str(older)]) == ExitCode.DATA
    assert read_first_peers(used) == found


def test_an_older_list_of_the_same_signer_is_refused(tmp_path: Path) -> None:
    make_home(tmp_path / "bob")
    use = ["--home", str(tmp_path / "bob"), "gateway", "use-peers"]
    new, old = tmp_path / "new", tmp_path / "old"
    new.write_bytes(VECTOR)
    old.write_bytes(sign_first_peers(KEY, PEERS, date(2026, 1, 1), UNTIL))
    assert main([*use, str(new), "--signer", KEY.feed_id.hex()]) == 0
    assert main([*use, str(old), "--signer", KEY.feed_id.hex()]) == ExitCode.DATA
    assert (tmp_path / "bob" / FIRST_PEERS_FILE).read_bytes() == VECTOR


def test_files_that_are_none(tmp_path: Path) -> None:
    make_home(tmp_path / "bob")
    command = ["--home", str(tmp_path / "bob"), "gateway"]
    (tmp_path / "list").write_bytes(VECTOR[:-3])
    assert main([*command, "show-peers", str(tmp_path / "list")]) == ExitCode.DATA
    assert main([*command, "show-peers", str(tmp_path / "none")]) == ExitCode.MISSING
    assert main([*command, "show-peers", str(tmp_path)]) == ExitCode.MISSING
    assert main([*command, "sign-peers", str(tmp_path / "new"), "no port"]) == ExitCode.USAGE
    assert not (tmp_path / "new").exists()
