"""Access control and security headers of the page: host names, the token, headers of every answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import Scope

from spark_sink.errors import ConfigurationError
from spark_sink.page import limits
from tinyssb_node.web.page_server.access import TokenAuthenticator, is_foreign, security_headers


def refusal(status: int, message: str, **headers: str) -> Response:
    """Refuse a request; *message* is a sentence for people."""
    return JSONResponse({"v": limits.API_VERSION, "message": message}, status, headers)


TOKEN_VARIABLE: Final = "TINYSSB_PAGE_TOKEN"  # noqa: S105 - its name
COOKIE: Final = "tinyssb_page"
GUARDED: Final = ("/api/", "/metrics")
"""Paths that need a token, and are for no page of another site. The page itself holds no figures, and asks for the
token."""


def headers(tiles: str | None = None) -> Mapping[str, str]:
    """Return the headers of every answer; *tiles* is the origin of the map's tiles, if there are any.

    Tile servers want to know which page asks; they receive its origin, without path and query.
    """
    pictures = "'self' data: blob:"
    if tiles is None:
        return security_headers(pictures=pictures)
    return security_headers(pictures=f"{pictures} {tiles}", referrer="strict-origin")


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


def refuse_request(scope: Scope) -> Response | None:
    """Refuse other methods than GET and HEAD, addresses that are too long, and figures for pages of other sites; None:
    the request is none of these."""
    if scope["method"] not in ("GET", "HEAD"):
        return refusal(405, "This server is read-only: it answers GET and HEAD.", allow="GET, HEAD")
    if len(scope["path"]) + len(scope["query_string"]) > limits.TARGET_SIZE_MAX:
        return refusal(414, f"The address has more than {limits.TARGET_SIZE_MAX} characters.")
    if scope["path"].startswith(GUARDED) and is_foreign(Headers(scope=scope)):
        return refusal(403, "The request came from another site.")
    return None


def require_token(gate: TokenAuthenticator, scope: Scope) -> Response | None:
    """Refuse a request without the token, as a header or as the cookie that a page gets for it once; None: it has
    one."""
    path = scope["path"]
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    given = [value for name, value in query if name == "token"]
    if given and not path.startswith(("/static/", *GUARDED)):
        return _trade(gate, path, given[-1], [pair for pair in query if pair[0] != "token"])
    if not path.startswith(GUARDED) or gate.admits(Headers(scope=scope)):
        return None
    return refusal(
        401,
        "This page needs a token. Open it with ?token=… once, or send the header: Authorization: Bearer …",
        **{"www-authenticate": "Bearer"},
    )


def _trade(gate: TokenAuthenticator, path: str, token: str, rest: list[tuple[str, str]]) -> Response:
    """Return the cookie for a token, and the same page without the token in its address."""
    if not gate.accepts(token):
        return PlainTextResponse("That is not the token of this page. Go back and try again.\n", 401)
    # A path that begins with two slashes would lead to another server.
    place = "/" + path.lstrip("/\\")
    answer = RedirectResponse(f"{place}?{urlencode(rest)}" if rest else place, 303)
    gate.let_in(answer)
    return answer
