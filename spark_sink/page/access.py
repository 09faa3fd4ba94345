"""Access control and security headers of the page: host names, the token, headers of every answer."""

import hashlib
import hmac
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spark_sink.errors import ConfigurationError
from spark_sink.page import limits


def refusal(status: int, message: str, **headers: str) -> Response:
    """Refuse a request; *message* is a sentence for people."""
    return JSONResponse({"v": limits.API_VERSION, "message": message}, status, headers)


TOKEN_VARIABLE: Final = "TINYSSB_PAGE_TOKEN"  # noqa: S105 - its name
COOKIE: Final = "tinyssb_page"
LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "[::1]", "::1")
GUARDED: Final = ("/api/", "/metrics")
"""Paths that need a token. The page itself holds no figures, and asks for the token."""


def headers(tiles: str | None = None) -> Mapping[str, str]:
    """Return the headers of every answer; *tiles* is the origin of the map's tiles, if there are any.

    Names of nodes come from strangers: even if one became markup, it could run nothing and send nothing anywhere. Tile
    servers want to know which page asks; they receive its origin, without path and query.
    """
    pictures = f"'self' data: blob: {tiles}" if tiles else "'self' data: blob:"
    return {
        "content-security-policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            f"img-src {pictures}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        ),
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        "referrer-policy": "strict-origin" if tiles else "no-referrer",
        "x-content-type-options": "nosniff",
    }


def is_local(host: str) -> bool:
    """Return whether an address to bind to can be reached from this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def allowed_hosts(host: str) -> list[str]:
    """Return the names a server bound to ``host`` answers to: a page elsewhere cannot read it by a name of its own."""
    return [*LOCAL_NAMES, host] if is_local(host) else ["*"]


def read_token(path: Path) -> str:
    """Return the token in a file: its first line. Raises ConfigurationError."""
    try:
        with path.open("rb") as file:
            text = file.read(limits.TOKEN_SIZE_MAX).decode("ascii").split("\n")[0].strip()
    except OSError as error:
        raise _bad_token(str(path), f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise _bad_token(str(path), "is not plain text") from error
    return check_token(text, str(path))


def find_token(path: Path | None, environment: Mapping[str, str]) -> str | None:
    """Find the token: in a file if one is named, else in the environment; None if none. Raises ConfigurationError."""
    if path is not None:
        return read_token(path)
    given = environment.get(TOKEN_VARIABLE)
    return check_token(given, TOKEN_VARIABLE) if given is not None else None


def _bad_token(where: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"The token in {where} {reason}; nothing was served. A good one comes from: openssl rand -hex 16"
    )


def check_token(token: str, where: str) -> str:
    """Return the token, if it can be used. Raises ConfigurationError."""
    if len(token) < limits.TOKEN_SIZE_MIN:
        raise _bad_token(where, f"has {len(token)} characters, fewer than {limits.TOKEN_SIZE_MIN}")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise _bad_token(where, "has characters that a header cannot carry")
    return token


def cookie_of(token: str) -> str:
    """Return the value of the cookie, from which the token cannot be recovered."""
    return hmac.new(token.encode(), b"tinyssb page", hashlib.sha256).hexdigest()


class FixedHeaders:
    """Adds headers to every answer; browsers must revalidate answers without a cache header of their own."""

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
                found.setdefault("cache-control", "no-cache")
            await send(message)

        await self._app(scope, receive, send_with_headers)


class RequestLimits:
    """Refuses what is no question of a page: other methods than GET and HEAD, and addresses that are too long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["method"] not in ("GET", "HEAD"):
            await refusal(405, "This server is read-only: it answers GET and HEAD.", allow="GET, HEAD")(
                scope, receive, send
            )
        elif len(scope["path"]) + len(scope["query_string"]) > limits.TARGET_SIZE_MAX:
            await refusal(414, f"The address has more than {limits.TARGET_SIZE_MAX} characters.")(
                scope, receive, send
            )
        else:
            await self._app(scope, receive, send)


class TokenGuard:
    """Lets only those ask who have the token: as a header, or as the cookie that a page gets for it once."""

    def __init__(self, app: ASGIApp, token: str, *, secure: bool) -> None:
        self._app = app
        self._token = token
        self._cookie = cookie_of(token)
        self._secure = secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        answer = self._refusal(scope) if scope["type"] == "http" else None
        await (answer or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        path = scope["path"]
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if given and not path.startswith(("/static/", *GUARDED)):
            return self._trade(path, given[-1], [pair for pair in query if pair[0] != "token"])
        if not path.startswith(GUARDED) or self._knows(Headers(scope=scope)):
            return None
        return refusal(
            401,
            "This page needs a token. Open it with ?token=… once, or send the header: Authorization: Bearer …",
            **{"www-authenticate": "Bearer"},
        )

    def _trade(self, path: str, token: str, rest: list[tuple[str, str]]) -> Response:
        """Return the cookie for a token, and the same page without the token in its address."""
        if not _same(token, self._token):
            return PlainTextResponse("That is not the token of this page. Go back and try again.\n", 401)
        # A path that begins with two slashes would lead to another server.
        place = "/" + path.lstrip("/\\")
        answer = RedirectResponse(f"{place}?{urlencode(rest)}" if rest else place, 303)
        answer.set_cookie(
            COOKIE, self._cookie, limits.COOKIE_AGE_S, httponly=True, samesite="strict", secure=self._secure
        )
        return answer

    def _knows(self, found: Headers) -> bool:
        scheme, _, token = found.get("authorization", "").partition(" ")
        if scheme.casefold() == "bearer":
            return _same(token.strip(), self._token)
        try:
            cookies = SimpleCookie(found.get("cookie", ""))
        except CookieError:
            return False
        return COOKIE in cookies and _same(cookies[COOKIE].value, self._cookie)


def _same(one: str, other: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())
