"""Requests that the page rejects, and the headers of its responses."""

from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from tinyssb_node.screens.error_texts import translated
from tinyssb_node.web import limits
from tinyssb_node.web.errors import PhonesFileError
from tinyssb_node.web.page_server.access import TokenAuthenticator, is_foreign, security_headers
from tinyssb_node.web.phones import PhoneRegistry

GUEST_ENTRANCE: Final = "/api/guest/enter"
"""The address at which a phone shows the guests' token."""
GUEST_PATHS: Final = frozenset(
    {
        "/api/guest",
        "/api/guest/bind",
        "/api/guest/publish",
        "/api/guest/conversations",
        "/api/guest/messages",
        "/api/guest/thread",
        "/api/guest/file",
        "/api/guest/voice",
        "/api/guest/people",
        "/api/guest/sealed",
        "/api/guest/places",
        "/api/map",
        "/api/events",
    }
)
"""Addresses that a guest's phone may ask: none opens anything private, or does anything as the node."""
GUEST_FOLDER: Final = "/api/tile/"
"""Beginning of the addresses of tiles, which guests may ask for, too: a map has nothing of people."""
RECORD: Final = "/api/voice/record"
"""The address to which a browser sends what its microphone gave it."""
METRICS: Final = "/metrics"
"""Address that Prometheus scrapes. It gives the token in the header `Authorization: Bearer`."""
OPEN: Final = ("/api/session", "/api/login", GUEST_ENTRANCE)
"""Addresses that need no token: the question whether one is needed, and the login. The page itself has no data of the
node."""
HEADERS: Final = security_headers(
    more_policy=(
        "; manifest-src 'self'; media-src blob:; worker-src 'self'; require-trusted-types-for 'script'; "
        "trusted-types worker"
    ),
    geolocation="(self)",
    microphone="(self)",
)
"""The only trusted type is the address of the page's service worker, which is constant."""


def refusal(status: int, message: str, hint: str = "", *, code: str = "refused", **headers: str) -> Response:
    """Return an error response with sentences for people, in the language of the request."""
    content = {"code": code, "message": translated(message), "hint": translated(hint)}
    return JSONResponse(content, status, headers)


def refuse_request(gate: TokenAuthenticator, phones: PhoneRegistry | None, scope: Scope) -> Response | None:
    """Return why a request is rejected: it is of another site, too long, or without the token; None if it is not."""
    path = scope["path"]
    headers = Headers(scope=scope)
    if scope["method"] not in ("GET", "HEAD", "POST"):
        return refusal(405, "This server accepts GET and POST only.", allow="GET, HEAD, POST")
    if len(path) + len(scope["query_string"]) > limits.TARGET_MAX:
        return refusal(414, f"The address has more than {limits.TARGET_MAX} characters.")
    if "transfer-encoding" in headers:
        # Chunks would override a declared length, and have no bound.
        return refusal(411, "This server needs a Content-Length, and accepts no chunks.")
    if path.startswith("/api/") and is_foreign(headers):
        return refusal(403, "The request came from another site. Nothing was done.")
    if scope["method"] == "POST" and (answer := _refuse_post(path, headers)) is not None:
        return answer
    if path == METRICS and (is_foreign(headers) or not gate.admits(headers)):
        return refusal(
            401,
            "These figures need the page's token.",
            "Send it in the header `Authorization: Bearer`.",
            code="token",
            **{"www-authenticate": "Bearer"},
        )
    if path.startswith("/api/") and path not in OPEN and not gate.knows(headers):
        return _refuse_stranger(phones, path, headers)
    return None


def _refuse_stranger(phones: PhoneRegistry | None, path: str, headers: Headers) -> Response | None:
    """Return why a browser without the token is rejected; None for a guest's phone at an address for guests."""
    try:
        phone = None if phones is None else phones.find(headers)
    except PhonesFileError as error:
        return refusal(503, error.message, error.hint, code=error.code)
    if phone is None:
        return refusal(
            401,
            "This page needs its token.",
            "Open the link that `tinyssb web --link` shows, or enter the token.",
            code="token",
        )
    if path in GUEST_PATHS or path.startswith(GUEST_FOLDER):
        return None
    return refusal(403, "Guests cannot do this.", "Ask your host for it.", code="guest")


def _refuse_post(path: str, headers: Headers) -> Response | None:
    """Return why a request that would change something is rejected; None if it is not."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return refusal(415, "This server accepts JSON only.")
    size, most = (
        headers.get("content-length", ""),
        limits.VOICE_BODY_MAX if path == RECORD else limits.BODY_MAX,
    )
    if not (size.isascii() and size.isdigit()):
        return refusal(411, "This server needs a Content-Length.")
    if len(size) > 9 or int(size) > most:
        return refusal(413, f"The request has more than {most} bytes. Nothing was done.")
    return None
