"""Voice messages over the page's server, with the real programs of Codec 2."""

import io
import math
import struct
import wave
from base64 import b64decode, b64encode
from pathlib import Path

import pytest

from tests.catalog.fake import PRIVATE, ZOE, message_id
from tests.web.asking import ask, post
from tests.web.fake import TOKEN, FakeNode, serving, with_group
from tests.web.test_guests import enter
from tinyssb_node.catalog.rows import PUBLIC
from tinyssb_node.web import limits
from tinyssb_node.web.tokens import make_token

HUM = b"".join(
    struct.pack(
        "<h",
        round(sum(6_000 / tone * math.sin(math.tau * 120 * tone * at / 8_000) for tone in range(1, 20))),
    )
    for at in range(8_000)
)
"""A second of a hum with overtones, as of a voice."""
NOTE = bytes.fromhex("c0dec201000400") + bytes(7 * 25)
"""A second as the phone app sends it."""


def text_of(data: bytes) -> str:
    return b64encode(data).decode()


@pytest.mark.codec2
def test_a_recording_is_made_small_and_sounds_as_long_as_before() -> None:
    with serving(FakeNode()) as address:
        answer = post(address, "/api/voice/record", {"voice": text_of(HUM)})
        assert answer.status == 200, answer.body
        voice = b64decode(answer.json["voice"])
        assert len(voice) == 7 + 7 * 25
        heard = post(address, "/api/voice/play", {"voice": text_of(voice)})
    assert heard.headers["content-type"] == "audio/wav"
    with wave.open(io.BytesIO(heard.body)) as file:
        assert (file.getframerate(), file.getsampwidth(), file.getnchannels()) == (8_000, 2, 1)
        samples = struct.unpack("<8000h", file.readframes(8_000))
    assert max(map(abs, samples)) > 2_000, "it is not silence"


@pytest.mark.codec2
def test_what_a_phone_sent_is_played_to_who_may_read_it(tmp_path: Path) -> None:
    node = with_group(FakeNode())
    public, private = (node.say("", where, voice=NOTE).id for where in (PUBLIC, PRIVATE))
    with serving(node, token=TOKEN, folder=tmp_path) as address:
        ours, guest = (
            {"cookie": log_in(address)},
            {"cookie": enter(address, make_token(tmp_path / "web.guest"))},
        )
        for id_ in (public, private):
            assert len(ask(address, f"/api/voice?id={id_}", headers=ours).body) == 44 + 16_000
        saved = ask(address, f"/api/file?id={public}", headers=ours)
        assert saved.body == NOTE
        assert saved.headers["content-type"] == "application/octet-stream"
        assert ".c2" in saved.headers["content-disposition"]
        assert ask(address, f"/api/guest/voice?id={public}", headers=guest).status == 200
        assert ask(address, f"/api/guest/voice?id={private}", headers=guest).status == 404
        assert ask(address, f"/api/voice?id={public}", headers=guest).status == 403


def log_in(address: str) -> str:
    answer = post(address, "/api/login", {"token": TOKEN})
    return answer.headers["set-cookie"].partition(";")[0]


def test_a_voice_message_is_sent_without_a_text() -> None:
    node = FakeNode()
    with serving(node) as address:
        request = {"conversation": PUBLIC, "text": "", "voice": text_of(NOTE), "once": "once-0001"}
        cost = post(address, "/api/cost", request).json
        assert cost["packets"] > 2
        said = post(address, "/api/say", request)
        assert said.status == 200, said.body
        assert post(address, "/api/say", request).json == said.json, "sent again for a lost answer"
        post(
            address, "/api/say", {"text": "", "voice": text_of(NOTE), "once": "once-0002", "to": [ZOE.hex()]}
        )
        row = ask(address, "/api/messages").json["rows"][-1]
    assert row["voice"] == {
        "href": f"/api/voice?id={said.json['id']}",
        "save": f"/api/file?id={said.json['id']}",
    }
    assert [one["voice"] for one in node.said] == [NOTE, NOTE]


@pytest.mark.parametrize(
    ("path", "voice", "status"),
    [
        ("/api/say", "bm8gdm9pY2U=", 400),
        ("/api/say", "%", 400),
        ("/api/voice/play", "bm8gdm9pY2U=", 404),
        ("/api/voice/play", text_of(NOTE[:7] + bytes(limits.VOICE_SIZE_MAX)), 400),
        ("/api/voice/record", text_of(bytes(limits.VOICE_S_MAX * 16_000 + 3)), 400),
        ("/api/voice/record", text_of(bytes(limits.VOICE_BODY_MAX)), 413),
        ("/api/voice/record", "", 422),
    ],
)
@pytest.mark.codec2
def test_what_is_no_voice_is_refused_in_a_sentence(path: str, voice: str, status: int) -> None:
    with serving(FakeNode()) as address:
        answer = post(
            address, path, {"conversation": PUBLIC, "text": "", "voice": voice, "once": "once-0001"}
        )
        assert answer.status == status, answer.body
        assert answer.json["message"].endswith(".")


def test_without_the_programs_the_page_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    node = FakeNode()
    id_ = node.say("", voice=NOTE).id
    monkeypatch.setenv("PATH", "/nonexistent")
    with serving(node) as address:
        answer = ask(address, f"/api/voice?id={id_}")
        assert (answer.status, answer.json["code"]) == (501, "codec_missing")
        assert "apt install codec2" in answer.json["hint"]
        assert ask(address, f"/api/file?id={id_}").body == NOTE


@pytest.mark.codec2
def test_a_program_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow = tmp_path / "c2dec"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(limits, "CODEC_S", 0.2)
    with serving(FakeNode()) as address:
        answer = post(address, "/api/voice/play", {"voice": text_of(NOTE)})
        assert (answer.status, answer.json["code"]) == (422, "codec_failed")


def test_a_message_without_voice_has_none() -> None:
    with serving(FakeNode()) as address:
        assert ask(address, f"/api/voice?id={message_id('hello').hex()}").status == 404
