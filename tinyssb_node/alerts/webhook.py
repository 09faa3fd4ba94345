"""A webhook: an address to which alerts are posted as JSON (docs/formats/alerts.md).

The address of many services is a secret by itself. So no message and no log shows more of it than the host.
"""

import http.client
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

import msgspec

from tinyssb_node.alerts import limits
from tinyssb_node.alerts.watch import Announcement
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.faces.access import is_local
from tinyssb_node.faces.errors import SecretUnusableError
from tinyssb_node.faces.secretfiles import read_secret

ALERT_VERSION: Final = 1
"""Version of what is posted."""
RULE: Final = (
    'it takes an address such as "https://ntfy.example.org/hut", http:// for this machine only, '
    "or the absolute path of a file whose only line it is"
)


class WebhookError(ProblemError):
    """A post that was not accepted; the message names no more of the address than its host."""

    exit_code = ExitCode.UNAVAILABLE


@dataclass(frozen=True, slots=True, repr=False)
class Webhook:
    """An address to post to."""

    host: str
    port: int | None
    target: str
    """Path and query."""
    tls: bool

    @classmethod
    def parse(cls, text: str) -> "Webhook":
        """Parse an address. Raises ValueError, which does not show it."""
        if len(text) > limits.ADDRESS_MAX or not text.isascii() or not text.isprintable() or " " in text:
            raise ValueError(RULE)
        found: SplitResult | None
        try:
            found, port = (split := urlsplit(text)), split.port
        except ValueError:
            found, port = None, None
        if found is None or not found.hostname or found.username is not None or found.fragment:
            raise ValueError(RULE) from None
        if found.scheme != "https" and not (found.scheme == "http" and is_local(found.hostname)):
            raise ValueError(RULE)
        target = f"{found.path or '/'}{f'?{found.query}' if found.query else ''}"
        return cls(found.hostname, port, target, found.scheme == "https")

    def post(self, body: bytes, *, trust: ssl.SSLContext | None = None) -> None:
        """Post *body*, which is JSON. *trust*: other authorities than the system's. Redirects are not followed.

        Raises WebhookError.
        """
        if self.tls:
            context = trust or ssl.create_default_context()
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                self.host, self.port, timeout=limits.POST_S, context=context
            )
        else:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=limits.POST_S)
        headers = {"Content-Type": "application/json", "User-Agent": "tinyssb"}
        try:
            connection.request("POST", self.target, body, headers)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise WebhookError(
                f"The webhook at {self.host} cannot be reached: {reason}.",
                "Check the address in config.toml (`alerts.webhook`), and that the node is online.",
            ) from None
        finally:
            connection.close()
        if not 200 <= status < 300:
            raise WebhookError(
                f"The webhook at {self.host} answered with the status {status}.",
                "Check the address in config.toml (`alerts.webhook`); redirects are not followed.",
            )


def read_webhook(setting: str) -> Webhook:
    """Return the webhook that `alerts.webhook` names, by its address or by a file.

    Raises SecretExposedError, SecretUnusableError.
    """
    if not setting.startswith("/"):
        return Webhook.parse(setting)
    file = Path(setting)
    try:
        return Webhook.parse(read_secret(file, limits.ADDRESS_MAX).decode("ascii").strip())
    except FileNotFoundError:
        raise SecretUnusableError(file, "is not there") from None
    except ValueError:
        raise SecretUnusableError(file, f"has no address of a webhook: {RULE}") from None


def serialize_alert(name: str, feed: str, announcement: Announcement) -> bytes:
    """Return what is posted for the node called *name* with this *feed*: 64 hexadecimal digits."""
    problem = announcement.problem
    said = "It is over: " if announcement.is_over else ""
    return msgspec.json.encode(
        {
            "v": ALERT_VERSION,
            "node": name,
            "feed": feed,
            "state": "over" if announcement.is_over else "begun",
            "check": problem.check,
            "about": problem.about,
            "since_us": announcement.since_us,
            "found": problem.found,
            "advice": problem.advice,
            "text": f"{name}: {said}{problem.found}",
        }
    )


def serialize_test(name: str, feed: str) -> bytes:
    """Return the body that `tinyssb alerts test` posts."""
    text = f"{name}: this is a test. Alerts of this node arrive here."
    return msgspec.json.encode(
        {"v": ALERT_VERSION, "node": name, "feed": feed, "state": "test", "text": text}
    )
