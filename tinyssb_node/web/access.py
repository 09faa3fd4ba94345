"""Who may use the page, and what browsers are told: cookies, names of this machine, headers of every answer."""

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
"""What needs no token: whether one is needed, and giving it. The page itself holds nothing of the node."""
HEADERS: Final = {
    # Names and texts come from strangers. One that became markup would still run nothing and send nothing anywhere.
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
    """The names that a server listening at *host* answers to: a page elsewhere cannot read it by a name of its own."""
    return [*LOCAL_NAMES, host] if is_local(host) else ["*"]


def refusal(status: int, message: str, hint: str = "", *, code: str = "refused", **headers: str) -> Response:
    """A request that is not answered, and why, in sentences for people."""
    return JSONResponse({"code": code, "message": message, "hint": hint}, status, headers)


class TokenAuthenticator:
    """Knows who has the token."""

    def __init__(self, token: str | None, port: int) -> None:
        """*port* is part of the cookie's name: browsers do not tell two nodes of one machine apart by it."""
        self._token = token
        self.cookie_name = f"tinyssb_{port}"
        # Whoever reads the cookie off a browser cannot get the token out of it.
        self._cookie = (
            "" if token is None else hmac.new(token.encode(), b"tinyssb web", hashlib.sha256).hexdigest()
        )

    @property
    def needed(self) -> bool:
        """Whether there is a token to give."""
        return self._token is not None

    def accepts(self, token: str) -> bool:
        """Whether this is the token."""
        return self._token is not None and _same(token, self._token)

    def knows(self, headers: Headers) -> bool:
        """Whether a request comes from a browser that gave the token, or none is needed."""
        if self._token is None:
            return True
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return self.cookie_name in cookies and _same(cookies[self.cookie_name].value, self._cookie)

    def let_in(self, answer: Response) -> None:
        """Give a browser the cookie."""
        answer.set_cookie(
            self.cookie_name, self._cookie, limits.COOKIE_AGE_S, httponly=True, samesite="strict"
        )

    def let_out(self, answer: Response) -> None:
        """Take the cookie back."""
        answer.delete_cookie(self.cookie_name, httponly=True, samesite="strict")


class FixedHeaders:
    """Puts headers on every answer; what is not said to be kept is asked for anew each time."""

    def __init__(self, app: ASGIApp, fixed: Mapping[str, str]) -> None:
        self._app = app
        self._fixed = fixed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                for name, value in self._fixed.items():
                    found[name] = value
                found.setdefault("cache-control", "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers)


class RequestGuard:
    """Turns away what is no question of our own page, is too long, or comes from somebody without the token."""

    def __init__(self, app: ASGIApp, gate: TokenAuthenticator) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        answer = self._refusal(scope, Headers(scope=scope)) if scope["type"] == "http" else None
        await (answer or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        path = scope["path"]
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return refusal(405, "This server answers GET and POST.", allow="GET, HEAD, POST")
        if len(path) + len(scope["query_string"]) > limits.TARGET_MAX:
            return refusal(414, f"The address has more than {limits.TARGET_MAX} characters.")
        if "transfer-encoding" in headers:
            # Where both are there, chunks go before the length that is said, and may be any number.
            return refusal(411, "This server takes requests whose length is said, and no chunks.")
        if scope["method"] == "POST" and (answer := _refuse_post(headers)) is not None:
            return answer
        if path.startswith("/api/") and path not in OPEN and not self._gate.knows(headers):
            return refusal(
                401,
                "This page needs its token.",
                "Open the link that `tinyssb web --link` shows, or type the token.",
                code="token",
            )
        return None


def _refuse_post(headers: Headers) -> Response | None:
    """Why a request that would change something is not taken."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
    # Browsers say where a POST comes from. A program that is none, and says nothing, is nobody's to be misled.
    own = {f"{scheme}://{headers.get('host', '')}" for scheme in ("http", "https")}
    if (origin is not None and origin not in own) or site != "same-origin":
        return refusal(403, "This came from another page; nothing was done.")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return refusal(415, "This server takes JSON.")
    size = headers.get("content-length", "")
    if not (size.isascii() and size.isdigit()):
        return refusal(411, "This server takes requests whose length is said.")
    if len(size) > 9 or int(size) > limits.BODY_MAX:
        return refusal(413, f"The request has more than {limits.BODY_MAX} bytes; nothing was done.")
    return None


def _same(one: str, other: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())
