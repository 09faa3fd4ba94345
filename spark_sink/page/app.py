"""The page's server: one document, figures as JSON, changes as server-sent events; nothing is loaded from elsewhere."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from spark_sink.errors import BadQuestionError, NotKnownError, OverloadedError
from spark_sink.page import access, answers, limits, metrics
from spark_sink.page.access import refusal
from spark_sink.page.answers import AnswerService, Payload
from spark_sink.page.scope import Question
from spark_sink.page.static_files import StaticFiles
from spark_sink.page.tiles import Tiles, asked_tiles, served_tiles
from tinyssb_node.web.page_server.access import (
    FixedHeaders,
    RequestFilter,
    TokenAuthenticator,
    wants_document,
)
from tinyssb_node.web.page_server.addresses import allowed_hosts
from tinyssb_node.web.page_server.event_streams import stream_response
from tinyssb_node.web.page_server.map_tiles import MapTiles

_SHARED: Final = ("topology", "airtime", "delays", "packets", "gossip", "faults", "job")
TABS: Final = {"": "mesh", "messages": "messages", "airtime": "airtime", "nodes": "nodes", "job": "job"}
"""First words of addresses, and the scripts of their views."""
MOVED: Final = {"feeds": "messages", "delays": "messages", "topology": "mesh", "map": "mesh", "gossip": "airtime",
                "packets": "airtime", "faults": "nodes"}  # fmt: skip
"""Addresses of earlier versions, and the tab that the page changes them to."""
PAGES: Final = (
    *(f"/{word}" for word in (*TABS, *MOVED)),
    "/node/{node}",
    "/feed/{feed}",
    "/message/{feed}/{seq}",
)
"""Addresses of views. All are the same document, which reads its own address."""
_WHOLE_VIEWS: Final = ("overview", "heatmap", *_SHARED)
"""Views that are of no single node, feed or message."""
WITH_LINES: Final = ("mesh", "airtime", "job")
"""Views that draw lines over time, for which they need a library."""
UPLOT: Final = "/static/vendor/uplot-1.6.32/uplot"
"""Address of its script and its style, without the suffix."""
NAMED: Final = {"node": re.compile("[0-9a-f]{16}"), "feed": re.compile("[0-9a-f]{64}")}
_NUMBER: Final = re.compile(r"[0-9]{1,16}")
_WORD: Final = re.compile(r"[a-z_]{1,32}")

Handler = Callable[[Request], Awaitable[Response]]


def make_app(
    answers: AnswerService,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    tls: bool = False,
    tiles: Tiles | None = None,
    map_file: Path | None = None,
) -> Starlette:
    """Make the application over one database, to be bound to ``host``; figures need the *token*, and the map takes its
    tiles from the server *tiles*, or from *map_file*."""
    ground = MapTiles(map_file)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(answers.run())
        yield
        await answers.close()
        await ground.close()
        await looking

    files = StaticFiles()

    async def page(request: Request) -> Response:
        return file_response(request, files, "index.html", {"link": ahead(request.url.path)})

    async def not_found(request: Request, _error: Exception) -> Response:
        if wants_document(request.headers):  # it says itself that there is no such page, and leads back
            answer = await page(request)
            answer.status_code = 404
            return answer
        return refusal(404, f"There is nothing at {request.url.path}.")

    async def static(request: Request) -> Response:
        return file_response(request, files, request.path_params["name"])

    async def events(_request: Request) -> Response:
        return await stream_response(answers.listen())

    async def page_settings(_request: Request) -> Response:
        known = served_tiles(served) if (served := await ground.served()) else asked_tiles(tiles)
        return JSONResponse({"v": limits.API_VERSION, "state": "ready", "tiles": known})

    async def health(_request: Request) -> Response:
        state = (await answers.look()).state
        return JSONResponse({"database": state}, 200 if state == "ready" else 503)

    async def measure(_request: Request) -> Response:
        found = await answers.read(metrics.figures)
        return Response(metrics.scrape(found, answers.listeners), media_type=metrics.MEDIA_TYPE)

    return Starlette(
        routes=[
            *(Route(path, page) for path in PAGES),
            *(Route(f"/api/{view}", answering(answers, view)) for view in _WHOLE_VIEWS),
            Route("/api/node/{node}", answering(answers, "node")),
            Route("/api/feed/{feed}", answering(answers, "feed")),
            Route("/api/message/{feed}/{seq}", answering(answers, "message")),
            Route("/api/events", events),
            Route("/api/page", page_settings),
            ground.route(),
            Route("/metrics", measure),
            Route("/healthz", health),
            Route("/static/{name:path}", static),
        ],
        middleware=_guards(host, token, tiles, tls=tls),
        exception_handlers={404: not_found, OverloadedError: overloaded},
        lifespan=lifespan,
    )


def _guards(host: str, token: str | None, tiles: Tiles | None, *, tls: bool) -> list[Middleware]:
    """Return the checks that every request has to pass."""
    guards = [
        Middleware(
            FixedHeaders,
            fixed=access.headers(tiles.origin if tiles else None),
            cache_control="no-cache",  # browsers must revalidate
        ),
        Middleware(RequestFilter, refuse=access.refuse_request),
        Middleware(TrustedHostMiddleware, allowed_hosts=allowed_hosts(host), www_redirect=False),
    ]
    if token is not None:
        gate = TokenAuthenticator(
            token,
            cookie=access.COOKIE,
            label=b"tinyssb page",
            age_s=30 * 86_400,  # a page on a wall survives the restarts of its browser
            secure=tls,
        )
        guards.append(Middleware(RequestFilter, refuse=partial(access.require_token, gate)))
    return guards


async def overloaded(_request: Request, error: Exception) -> Response:
    """Refuse a request that is too much for now."""
    assert isinstance(error, OverloadedError)
    return refusal(503, str(error), **{"retry-after": str(error.retry_after_s)})


def answering(answers: AnswerService, view: str) -> Handler:
    """Make the handler for one view."""

    async def handle(request: Request) -> Response:
        try:
            asked = parse_request(view, request.query_params, request.path_params)
            payload = await answers.answer(asked)
        except BadQuestionError as error:
            return refusal(400, str(error))
        except NotKnownError as error:
            return refusal(404, str(error))
        if payload.csv:
            name = f'attachment; filename="{asked.table or view}.csv"'
            return reply(request, payload, "text/csv; charset=utf-8", {"content-disposition": name})
        return reply(request, payload, "application/json", {})

    return handle


def parse_request(view: str, query: Mapping[str, str], path: Mapping[str, str]) -> answers.ViewRequest:
    """Parse the address of a request. Raises BadQuestionError, NotKnownError."""
    named = next((kind for kind in NAMED if kind in path), None)
    if named and not NAMED[named].fullmatch(path[named]):
        digits = {"node": 16, "feed": 64}[named]
        raise NotKnownError(f"A {named} is named by {digits} hexadecimal digits in lower case.")
    if "seq" in path and not _NUMBER.fullmatch(path["seq"]):
        raise NotKnownError("An entry is named by its number.")
    for word in ("scope", "table"):
        if query.get(word) and not _WORD.fullmatch(query[word]):
            raise BadQuestionError(f"`{word}` is a word in lower case.")
    if len(query.get("find", "")) > limits.FIND_SIZE_MAX:
        raise BadQuestionError(f"`find` has at most {limits.FIND_SIZE_MAX} characters.")
    if query.get("format", "json") not in ("json", "csv"):
        raise BadQuestionError("`format` is json or csv.")
    question = Question(
        from_us=number(query, "from"),
        to_us=number(query, "to"),
        at_us=number(query, "at"),
        after=number(query, "after"),
        limit=number(query, "limit"),
        scope=query.get("scope") or None,
        name=path[named] if named else "",
        seq=int(path.get("seq", "0")),
        find=query.get("find", ""),
    )
    return answers.ViewRequest(
        view, question, csv=query.get("format") == "csv", table=query.get("table") or None
    )


def number(query: Mapping[str, str], name: str) -> int | None:
    """Return a parameter that is a whole number; None where it is not given. Raises BadQuestionError."""
    text = query.get(name)
    if not text:
        return None
    if not _NUMBER.fullmatch(text) or int(text) > limits.TIME_MAX_US:
        raise BadQuestionError(f"`{name}` is a whole number from 0 to {limits.TIME_MAX_US}.")
    return int(text)


def file_response(
    request: Request, files: StaticFiles, name: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a file of the page, with these headers."""
    file = files.get(name)
    if file is None:
        return refusal(404, f"There is nothing at {request.url.path}.")
    return reply(
        request, file.payload, file.media_type, {"cache-control": file.cache_control, **(headers or {})}
    )


def ahead(path: str) -> str:
    """Return a ``Link`` header (RFC 8288) with the files of the view at a path: the browser loads them while it parses
    the page, and not after the page has found out which view to show.
    """
    word = path.split("/")[1]
    view = MOVED.get(word) or TABS.get(word, word)
    links = [f"</static/views/{view}.js>; rel=modulepreload"]
    if view in WITH_LINES:
        links += [f"<{UPLOT}.js>; rel=modulepreload", f"<{UPLOT}.css>; rel=preload; as=style"]
    return ", ".join(links)


def reply(request: Request, payload: Payload, media_type: str, headers: Mapping[str, str]) -> Response:
    """Make an answer: compressed if the browser accepts that; only the tag if the browser has the content already."""
    tags = {"etag": payload.etag, "vary": "accept-encoding", **headers}
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if payload.etag in known:
        return Response(status_code=304, headers=tags)
    if payload.packed is not None and takes_gzip(request.headers.get("accept-encoding", "")):
        return Response(payload.packed, media_type=media_type, headers={**tags, "content-encoding": "gzip"})
    return Response(payload.body, media_type=media_type, headers=tags)


def takes_gzip(accepted: str) -> bool:
    """Return whether a list of encodings has gzip (RFC 9110, 12.5.3)."""
    for one in accepted.split(","):
        name, _, weight = one.partition(";")
        if name.strip().casefold() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
