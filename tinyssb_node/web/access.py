"""Access control of the page, and the headers that browsers get: cookies, names of this machine, security headers."""

import hashlib
import hmac
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tinyssb_node.web import limits
from tinyssb_node.web.tokens import is_local

LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "[::1]", "::1")
OPEN: Final = ("/api/session", "/api/login")
"""Addresses that need no token: the question whether one is needed, and the login. The page itself has no data of the
node."""
HEADERS: Final = {
    # Names and texts come from strangers. Even if one became markup, it could run nothing and send nothing.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def allowed_hosts(host: str) -> list[str]:
    """Return the host names that a server listening at *host* answers to, so that no other site can read it by DNS
    rebinding."""
    return [*LOCAL_NAMES, host] if is_local(host) else ["*"]


def refusal(status: int, message: str, hint: str = "", *, code: str = "refused", **headers: str) -> Response:
    """Return an error response with sentences for people."""
    return JSONResponse({"code": code, "message": message, "hint": hint}, status, headers)


class TokenAuthenticator:
    """Check of the token, and of the cookie that stands for it."""

    def __init__(self, token: str | None, port: int) -> None:
        """Create a check; *port* is part of the cookie's name, because browsers share cookies between the ports of a
        machine."""
        self._token = token
        self.cookie_name = f"tinyssb_{port}"
        # The token cannot be computed from the cookie.
        self._cookie = (
            "" if token is None else hmac.new(token.encode(), b"tinyssb web", hashlib.sha256).hexdigest()
        )

    @property
    def needed(self) -> bool:
        """True if there is a token to give."""
        return self._token is not None

    def accepts(self, token: str) -> bool:
        """Return whether this is the token."""
        return self._token is not None and _same(token, self._token)

    def knows(self, headers: Headers) -> bool:
        """Return whether a request comes from a browser that gave the token, or none is needed."""
        if self._token is None:
            return True
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return self.cookie_name in cookies and _same(cookies[self.cookie_name].value, self._cookie)

    def let_in(self, answer: Response) -> None:
        """Set the cookie in a browser."""
        answer.set_cookie(
            self.cookie_name, self._cookie, limits.COOKIE_AGE_S, httponly=True, samesite="strict"
        )

    def let_out(self, answer: Response) -> None:
        """Delete the cookie."""
        answer.delete_cookie(self.cookie_name, httponly=True, samesite="strict")


class FixedHeaders:
    """Middleware that sets headers on every response, and forbids caching unless the response allows it."""

    def __init__(self, app: ASGIApp, fixed: Mapping[str, str]) -> None:
        self._app = app
        self._fixed = fixed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                for name, value in self._fixed.items():
                    found[name] = value
                found.setdefault("cache-control", "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers)


class RequestGuard:
    """Middleware that rejects requests of other sites, requests that are too long, and those without the token."""

    def __init__(self, app: ASGIApp, gate: TokenAuthenticator) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        answer = self._refusal(scope, Headers(scope=scope)) if scope["type"] == "http" else None
        await (answer or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        path = scope["path"]
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return refusal(405, "This server accepts GET and POST only.", allow="GET, HEAD, POST")
        if len(path) + len(scope["query_string"]) > limits.TARGET_MAX:
            return refusal(414, f"The address has more than {limits.TARGET_MAX} characters.")
        if "transfer-encoding" in headers:
            # Chunks would override a declared length, and have no bound.
            return refusal(411, "This server needs a Content-Length, and accepts no chunks.")
        if scope["method"] == "POST" and (answer := _refuse_post(headers)) is not None:
            return answer
        if path.startswith("/api/") and path not in OPEN and not self._gate.knows(headers):
            return refusal(
                401,
                "This page needs its token.",
                "Open the link that `tinyssb web --link` shows, or enter the token.",
                code="token",
            )
        return None


def _refuse_post(headers: Headers) -> Response | None:
    """Return why a request that would change something is rejected; None if it is not."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
    # Browsers state the origin of a POST. Other programs need not: no site can make them send one.
    own = {f"{scheme}://{headers.get('host', '')}" for scheme in ("http", "https")}
    if (origin is not None and origin not in own) or site != "same-origin":
        return refusal(403, "The request came from another site. Nothing was done.")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return refusal(415, "This server accepts JSON only.")
    size = headers.get("content-length", "")
    if not (size.isascii() and size.isdigit()):
        return refusal(411, "This server needs a Content-Length.")
    if len(size) > 9 or int(size) > limits.BODY_MAX:
        return refusal(413, f"The request has more than {limits.BODY_MAX} bytes. Nothing was done.")
    return None


def _same(one: str, other: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())
