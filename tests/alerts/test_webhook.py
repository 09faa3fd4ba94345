"""Addresses of webhooks, and posts over real sockets."""

import json
import ssl
from pathlib import Path

import pytest

from tests.alerts.receiver import receiving
from tests.certificates import Authority
from tinyssb_node.alerts import limits
from tinyssb_node.alerts.watch import Announcement
from tinyssb_node.alerts.webhook import Webhook, WebhookError, read_webhook, serialize_alert, serialize_test
from tinyssb_node.faces.errors import SecretExposedError, SecretUnusableError
from tinyssb_node.screens.check_result import CheckResult

SECRET = "T0/B0/secretsecret"


@pytest.mark.parametrize(
    ("text", "host", "port", "target", "tls"),
    [
        ("https://ntfy.example.org/hut", "ntfy.example.org", None, "/hut", True),
        (
            "https://hooks.example.org:8443/a/b?wait=true",
            "hooks.example.org",
            8443,
            "/a/b?wait=true",
            True,
        ),
        ("https://[2001:db8::1]", "2001:db8::1", None, "/", True),
        ("http://127.0.0.1:8123/api/webhook/hut", "127.0.0.1", 8123, "/api/webhook/hut", False),
        ("http://localhost/x", "localhost", None, "/x", False),
    ],
)
def test_addresses(text: str, host: str, port: int | None, target: str, tls: bool) -> None:
    assert Webhook.parse(text) == Webhook(host, port, target, tls)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ntfy.example.org/hut",
        "http://ntfy.example.org/hut",
        "http://127.0.0.1.example.org/",
        "ftp://localhost/x",
        "https:///x",
        f"https://user:{SECRET}@example.org/",
        "https://example.org:99999/",
        "https://example.org/a b",
        "https://example.org/a\r\nX: y",
        "https://exämple.org/",
        "https://example.org/#part",
        "https://example.org/" + "x" * limits.ADDRESS_MAX,
        "https://[::1/",
    ],
)
def test_what_is_no_address_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(ValueError, match="it takes an address") as refused:
        Webhook.parse(text)
    assert SECRET not in str(refused.value)


def test_an_address_in_a_file_is_read_if_only_its_owner_can(tmp_path: Path) -> None:
    file = tmp_path / "webhook"
    with pytest.raises(SecretUnusableError, match="is not there"):
        read_webhook(str(file))
    file.write_text(f"https://hooks.example.org/{SECRET}\n")
    file.chmod(0o644)
    with pytest.raises(SecretExposedError):
        read_webhook(str(file))
    file.chmod(0o600)
    found = read_webhook(str(file))
    assert found.target == f"/{SECRET}"
    assert SECRET not in repr(found)
    file.write_text("nothing of the kind " + SECRET)
    with pytest.raises(SecretUnusableError) as refused:
        read_webhook(str(file))
    assert SECRET not in str(refused.value)


def test_an_alert_arrives_as_documented() -> None:
    problem = CheckResult("daemon", ok=False, found="it is off", advice="Plug it in.", about="face lora:hut")
    with receiving() as receiver:
        webhook = Webhook.parse(f"{receiver.address}/hook?a=b")
        webhook.post(serialize_alert("hut", "ab" * 32, Announcement(problem, is_over=False, since_us=7)))
        webhook.post(serialize_alert("hut", "ab" * 32, Announcement(problem, is_over=True, since_us=7)))
        webhook.post(serialize_test("hut", "ab" * 32))
        begun, over, test = receiver.next(), receiver.next(), receiver.next()
    assert begun == {
        "v": 1,
        "node": "hut",
        "feed": "ab" * 32,
        "state": "begun",
        "check": "daemon",
        "about": "face lora:hut",
        "since_us": 7,
        "found": "it is off",
        "advice": "Plug it in.",
        "text": "hut: it is off",
    }
    assert (over["state"], over["text"]) == ("over", "hut: It is over: it is off")
    assert (test["state"], "since_us" in test) == ("test", False)
    assert receiver.targets == ["/hook?a=b"] * 3


@pytest.mark.parametrize("status", [301, 307, 404, 500])
def test_another_answer_is_a_failure_and_no_redirect_is_followed(status: int) -> None:
    with receiving() as receiver:
        receiver.status = status
        with pytest.raises(WebhookError, match=f"127.0.0.1 answered with the status {status}") as failed:
            Webhook.parse(f"{receiver.address}/{SECRET}").post(b"{}")
        assert receiver.targets == [f"/{SECRET}"]
    assert SECRET not in failed.value.message + failed.value.hint


def test_nobody_there_is_a_failure() -> None:
    with receiving() as receiver:
        webhook = Webhook.parse(f"{receiver.address}/{SECRET}")
    with pytest.raises(WebhookError, match=r"cannot be reached: .*refused") as failed:
        webhook.post(b"{}")
    assert SECRET not in failed.value.message


def test_the_receiver_has_to_prove_who_it_is(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.issue("server")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair.certificate, pair.key)
    with receiving(tls) as receiver:
        webhook = Webhook.parse(receiver.address)
        with pytest.raises(WebhookError, match="certificate verify failed"):
            webhook.post(b"{}")
        webhook.post(
            json.dumps({"x": 1}).encode(),
            trust=ssl.create_default_context(cafile=str(authority.certificate)),
        )
        assert receiver.next() == {"x": 1}
