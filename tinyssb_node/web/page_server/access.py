"""Access control of a page: security headers, rejected requests, the token and the cookie that stands for it."""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


def security_headers(
    *,
    pictures: str = "'self'",
    referrer: str = "no-referrer",
    more_policy: str = "",
    geolocation: str = "()",
    microphone: str = "()",
) -> dict[str, str]:
    """Return the headers of every response; *pictures* are the sources of images, *geolocation* and
    *microphone* who may ask for them.

    Names and texts come from strangers. Even if one became markup, it could run nothing and send nothing anywhere.
    """
    return {
        "content-security-policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            f"img-src {pictures}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'{more_policy}"
        ),
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": f"camera=(), geolocation={geolocation}, microphone={microphone}",
        "referrer-policy": referrer,
        "x-content-type-options": "nosniff",
    }


def is_foreign(headers: Headers) -> bool:
    """Return whether a browser sent a request for a page that is not ours: of another site, or of another server on
    this machine, which browsers count as the same site, so that they send our cookie.

    Other programs state neither; no site can make them send a request.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    own = {f"{scheme}://{headers.get('host', '')}" for scheme in ("http", "https")}
    return (origin is not None and origin not in own) or site not in ("same-origin", "none")


def wants_document(headers: Headers) -> bool:
    """Return whether a request comes from a browser that opens a page, and not from a program or a script."""
    return "text/html" in headers.get("accept", "")


class FixedHeaders:
    """Middleware that sets headers on every response, and *cache_control* on those without one of their own."""

    def __init__(self, app: ASGIApp, fixed: Mapping[str, str], cache_control: str) -> None:
        self._app = app
        self._fixed = fixed
        self._cache_control = cache_control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self._fixed)
                headers.setdefault("cache-control", self._cache_control)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class RequestFilter:
    """Middleware that sends the response of *refuse* instead of the application's, if there is one."""

    def __init__(self, app: ASGIApp, refuse: Callable[[Scope], Response | None]) -> None:
        self._app = app
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        answer = self._refuse(scope) if scope["type"] == "http" else None
        await (answer or self._app)(scope, receive, send)


class TokenAuthenticator:
    """Check of a page's token, and of the cookie that stands for it."""

    def __init__(
        self, token: str | None, *, cookie: str, label: bytes, age_s: int, secure: bool = False
    ) -> None:
        """Create a check; without a token, everyone may read. *cookie* is the name, *age_s* the lifetime of the cookie.

        *label* keeps the cookies of programs with the same token apart; a *secure* cookie is sent over TLS only.
        """
        self._token = token
        self._name = cookie
        # The token cannot be computed from the cookie.
        self._cookie = "" if token is None else hmac.new(token.encode(), label, hashlib.sha256).hexdigest()
        self._age_s = age_s
        self._secure = secure

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
        return self._name in cookies and _same(cookies[self._name].value, self._cookie)

    def admits(self, headers: Headers) -> bool:
        """Return whether a program sends the token (``Authorization: Bearer``), or a browser has given it."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return self.accepts(token.strip()) if scheme.casefold() == "bearer" else self.knows(headers)

    def let_in(self, answer: Response) -> None:
        """Set the cookie in a browser."""
        answer.set_cookie(
            self._name, self._cookie, self._age_s, httponly=True, samesite="strict", secure=self._secure
        )

    def let_out(self, answer: Response) -> None:
        """Delete the cookie."""
        answer.delete_cookie(self._name, httponly=True, samesite="strict")


def _same(one: str, other: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())
