"""The page's server: one document, replies as JSON, changes as server-sent events; nothing is loaded from elsewhere."""

import asyncio
import contextlib
import gzip
import hashlib
import mimetypes
import re
from base64 import b64decode
from collections.abc import AsyncIterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from tinyssb_node.catalog.rows import PUBLIC
from tinyssb_node.content.files import File, FileNameError, serialize_file
from tinyssb_node.content.limits import CIRCLE_MAX, FILE_NAME_MAX, FILE_TYPE_MAX
from tinyssb_node.content.voice_note import parse_voice
from tinyssb_node.errors import BadRequestError, LocalError
from tinyssb_node.faces.limits import TOKEN_MAX
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.limits import ERASE_DAYS_MAX, GROUP_NAMED_MAX, GROUP_TEXT_MAX
from tinyssb_node.screens.conversation_files import ConversationFileDraft
from tinyssb_node.screens.group_changes import DECISIONS, GroupAction, GroupChange
from tinyssb_node.screens.group_files import GroupFileDraft
from tinyssb_node.screens.languages import CATALOGUES, LANGUAGES, parse_catalogue
from tinyssb_node.web import access, limits, views
from tinyssb_node.web.access import refusal
from tinyssb_node.web.boards import board_routes
from tinyssb_node.web.guests import guest_routes
from tinyssb_node.web.page_server.access import (
    FixedHeaders,
    RequestFilter,
    TokenAuthenticator,
    wants_document,
)
from tinyssb_node.web.page_server.addresses import allowed_hosts
from tinyssb_node.web.page_server.event_streams import stream_response
from tinyssb_node.web.page_server.map_tiles import MapTiles
from tinyssb_node.web.page_service import PageService
from tinyssb_node.web.people import people_routes
from tinyssb_node.web.phones import PhoneRegistry
from tinyssb_node.web.places import map_shape, places
from tinyssb_node.web.position import position_routes
from tinyssb_node.web.recordings import voice_routes
from tinyssb_node.web.request_fields import (
    body_of,
    feed_of,
    message_id_of,
    number,
    once_of,
    order_of,
    text_of,
    voice_of,
)
from tinyssb_node.web.responses import file_response, json_route
from tinyssb_node.web.shapes import Shape
from tinyssb_node.web.spoken import SpokenLanguage
from tinyssb_node.web.views import OutgoingMessage
from tinyssb_node.web.voice_codec import VoiceCodec

STATIC: Final = Path(__file__).parent / "static"
PAGES: Final = (
    "/",
    "/c/{conversation}",
    "/with/{feeds}",
    "/people",
    "/map",
    "/node",
    "/g/{group}",
    "/t/{conversation}/{id}",
    "/new",
    "/write",
    "/boards",
    "/b/{board}",
    "/search",
    "/you",
)
"""Addresses of views. All are the same document, which reads its own address."""
_NAME: Final = re.compile(rf"{PUBLIC}|[0-9a-f]{{16}}|[0-9a-f]{{40}}")
_GROUP: Final = re.compile(r"[0-9a-f]{40}")
_FILE: Final = re.compile(r"[a-z]+(-[0-9]+)?\.[a-z]+")
_WORKER: Final = "worker.js"
_KINDS: Final = {
    ".js": "text/javascript",
    ".webmanifest": "application/manifest+json",
    ".po": "application/json",
}
_STATUS: Final = {
    "bad_request": 400, "unknown_entry": 404, "unknown_feed": 404, "unknown_group": 404, "group_refused": 409,
    "costly": 409, "too_long": 413, "set_full": 409, "feed_forked": 409, "busy": 503,
    "phone_refused": 409, "codec_missing": 501, "codec_failed": 422,
}  # fmt: skip
"""HTTP status by the code of an error; errors that are not here are no fault of the page's."""


def make_app(
    service: PageService,
    *,
    host: str,
    gate: TokenAuthenticator,
    authority: bytes | None = None,
    tiles: MapTiles,
    phones: PhoneRegistry | None = None,
) -> Starlette:
    """Create the application, to be bound to *host*; *authority*: the certificate (DER) that a phone installs; *tiles*:
    the ground of the map; *phones*: those of guests, if they may come."""

    codec = VoiceCodec()

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        polling = asyncio.create_task(service.run())
        yield
        service.stop()
        await polling
        await service.close()
        await tiles.close()

    async def events(_request: Request) -> Response:
        return await stream_response(service.listen())

    async def metrics(_request: Request) -> Response:
        # Few scrape a node: its page does without the library's memory until one does.
        from tinyssb_node.web.metrics import MEDIA_TYPE, scrape

        return Response(scrape(await service.figures()), media_type=MEDIA_TYPE)

    return Starlette(
        routes=[
            *(Route(path, static) for path in (*PAGES, "/static/{name}")),
            *_authority_routes(authority),
            *_session_routes(gate, phones),
            *(guest_routes(service, phones, codec) if phones is not None else ()),
            *_node_routes(service),
            *_map_routes(service, tiles),
            *position_routes(service),
            *people_routes(service),
            *_group_routes(service),
            *board_routes(service),
            *_file_routes(service),
            *voice_routes(service, codec),
            Route("/api/events", events),
            Route(access.METRICS, metrics),
        ],
        middleware=[
            Middleware(FixedHeaders, fixed=access.HEADERS, cache_control="no-store"),
            Middleware(TrustedHostMiddleware, allowed_hosts=allowed_hosts(host), www_redirect=False),
            Middleware(SpokenLanguage),
            Middleware(RequestFilter, refuse=partial(access.refuse_request, gate, phones)),
        ],
        exception_handlers={404: not_found, LocalError: message_response},
        lifespan=lifespan,
    )


def _map_routes(service: PageService, tiles: MapTiles) -> list[Route]:
    async def ground(_request: Request) -> Shape:
        return map_shape(await tiles.served())

    return [
        json_route("/api/places", lambda _request: service.read(places)),
        json_route("/api/map", ground),
        tiles.route(),
    ]


def _authority_routes(authority: bytes | None) -> list[Route]:
    async def respond(_request: Request) -> Response:
        return Response(authority, media_type="application/x-x509-ca-cert")

    return [] if authority is None else [Route("/ca.crt", respond)]


def _session_routes(gate: TokenAuthenticator, phones: PhoneRegistry | None) -> list[Route]:
    async def session(request: Request) -> Response:
        known = gate.knows(request.headers)
        guest = not known and phones is not None and phones.find(request.headers) is not None
        return JSONResponse({"needed": gate.needed, "known": known, "guest": guest})

    async def login(request: Request) -> Response:
        token = text_of(await body_of(request), "token", TOKEN_MAX)
        if gate.needed and not gate.accepts(token.strip()):
            return refusal(
                403, "This is not the token of this page.", "Check it, and enter all of it.", code="token"
            )
        answer = JSONResponse({"known": True})
        if gate.needed:
            gate.let_in(answer)
        return answer

    async def logout(_request: Request) -> Response:
        answer = JSONResponse({"known": False})
        gate.let_out(answer)
        return answer

    return [
        Route("/api/session", session),
        Route("/api/login", login, methods=["POST"]),
        Route("/api/logout", logout, methods=["POST"]),
    ]


def _node_routes(service: PageService) -> list[Route]:
    async def messages(request: Request) -> Shape:
        name = _conversation_of(request)
        before = order_of(request)
        limit = min(number(request, "limit") or limits.ROWS, 200)
        return await service.read(lambda node: views.messages(node, name, before=before, limit=limit))

    async def thread(request: Request) -> Shape:
        name, message = _conversation_of(request), message_id_of(request.query_params.get("id"))
        return await service.read(lambda node: views.thread(node, name, message))

    async def circle(request: Request) -> Shape:
        feeds = _readers_of(request.query_params.get("feed", ""))
        return await service.read(lambda node: views.find_conversation(node, feeds))

    async def say(request: Request) -> Shape:
        return await service.say(message_of(await body_of(request)))

    async def cost(request: Request) -> Shape:
        return await service.cost(message_of(await body_of(request)))

    async def receipt(request: Request) -> Shape:
        return await service.receipt(_message_of(request.query_params.get("id")))

    async def search(request: Request) -> Shape:
        words = text_of(await body_of(request), "words", limits.WORDS_MAX)
        return await service.read(lambda node: views.search(node, words))

    async def mark(request: Request) -> Shape:
        name, placed = _mark_of(await body_of(request))
        return await service.read(lambda node: views.mark_read(node, name, placed))

    return [
        json_route("/api/conversations", lambda _request: service.read(views.conversations)),
        json_route("/api/people", lambda _request: service.read(views.people)),
        json_route("/api/readings", lambda _request: service.read(views.readings)),
        json_route("/api/subjects", lambda _request: service.read(views.subjects)),
        json_route("/api/messages", messages),
        json_route("/api/thread", thread),
        json_route("/api/circle", circle),
        json_route("/api/node", lambda _request: service.node()),
        json_route("/api/alerts", lambda _request: service.alerts()),
        json_route("/api/history", lambda _request: service.history()),
        json_route("/api/receipts", lambda _request: service.receipts()),
        json_route("/api/receipt", receipt),
        json_route("/api/search", search, "POST"),
        json_route("/api/say", say, "POST"),
        json_route("/api/read", mark, "POST"),
        json_route("/api/cost", cost, "POST"),
    ]


def _group_routes(service: PageService) -> list[Route]:
    async def group(request: Request) -> Shape:
        root = _group_of(request.query_params.get("group"))
        return await service.read(lambda node: views.group(node, root))

    async def preview_group(request: Request) -> Shape:
        return await service.preview_group(change_of(await body_of(request)))

    async def change_group(request: Request) -> Shape:
        body = await body_of(request)
        return await service.change_group(change_of(body), once_of(body))

    return [
        json_route("/api/group", group),
        json_route("/api/group/preview", preview_group, "POST"),
        json_route("/api/group/change", change_group, "POST"),
    ]


def _file_routes(service: PageService) -> list[Route]:
    async def file(request: Request) -> Response:
        """Return a file of a group. Only pictures have a type; a browser saves everything that is opened itself."""
        parameters = request.query_params
        root, message = _group_of(parameters.get("group")), _message_of(parameters.get("id"))
        return file_response(*await service.group_file(root, message))

    async def conversation_file(request: Request) -> Response:
        """Return a public file, or one of a private conversation, in the same way."""
        message = message_id_of(request.query_params.get("id"))
        return file_response(*await service.conversation_file(message))

    async def cost(request: Request) -> Shape:
        return await service.file_cost(_file_draft_of(await body_of(request)))

    async def publish(request: Request) -> Shape:
        body = await body_of(request)
        return await service.publish_file(
            _file_draft_of(body), once_of(body), agreed=body.get("agreed") is True
        )

    async def attach_cost(request: Request) -> Shape:
        return await service.attach_cost(file_of(await body_of(request)))

    async def attach(request: Request) -> Shape:
        body = await body_of(request)
        return await service.attach(file_of(body), once_of(body), agreed=body.get("agreed") is True)

    return [
        Route("/api/group/file", file),
        json_route("/api/group/attach/cost", attach_cost, "POST"),
        json_route("/api/group/attach", attach, "POST"),
        Route("/api/file", conversation_file),
        json_route("/api/attach/cost", cost, "POST"),
        json_route("/api/attach", publish, "POST"),
    ]


async def static(request: Request) -> Response:
    """Return a file of the page, the document if the address names none, or 304 if the browser has it already."""
    name = request.path_params.get("name", "index.html")
    path = _path_of(name)
    if not _FILE.fullmatch(name) or not path.is_file():
        return await not_found(request, None)
    tag = f'"{_version() if name == _WORKER else _tag_of(path)}"'
    headers = {"etag": tag, "cache-control": "no-cache", "vary": "accept-encoding"}
    if name == _WORKER:
        headers["service-worker-allowed"] = "/"
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    packed = "gzip" in request.headers.get("accept-encoding", "") and path.suffix != ".png"
    if packed:
        headers["content-encoding"] = "gzip"
    return Response(_bytes_of(path, tag, packed), media_type=_kind_of(path), headers=headers)


def _path_of(name: str) -> Path:
    """Return the file from which a file of the page is made: messages in a language, such as `de.json`, are of its
    catalogue."""
    stem, _, suffix = name.partition(".")
    return CATALOGUES / stem / "page.po" if suffix == "json" and stem in LANGUAGES else STATIC / name


def _tag_of(path: Path) -> str:
    found = path.stat()
    return f"{found.st_mtime_ns:x}-{found.st_size:x}"


def _version() -> str:
    """Return what changes with any file of the page: the worker keeps all files of one version."""
    paths = (*STATIC.iterdir(), *CATALOGUES.glob("*/page.po"))
    tags = sorted(f"{path.parent.name}/{path.name} {_tag_of(path)}" for path in paths)
    return hashlib.sha256("\n".join(tags).encode()).hexdigest()[:16]


def _kind_of(path: Path) -> str:
    kind = _KINDS.get(path.suffix) or mimetypes.types_map.get(path.suffix, "text/plain")
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


@lru_cache(maxsize=64)  # more than there are files
def _bytes_of(path: Path, _tag: str, packed: bool) -> bytes:
    """Return a file of the page. It has no secrets, so its compressed size tells nobody anything (BREACH)."""
    data = parse_catalogue(path.read_text("utf-8")).as_json() if path.suffix == ".po" else path.read_bytes()
    if path.name == _WORKER:
        data = f'const VERSION = "{_version()}";\n'.encode() + data
    return gzip.compress(data, mtime=0) if packed else data


async def not_found(request: Request, _error: Exception | None) -> Response:
    """Handle an unknown address: people get the document, which tells them and leads back, programs JSON."""
    if wants_document(request.headers):
        return HTMLResponse((STATIC / "index.html").read_bytes(), 404)
    return refusal(404, "There is no page at this address.")


async def message_response(_request: Request, error: Exception) -> Response:
    """Turn an error into a message for people."""
    assert isinstance(error, LocalError)
    return refusal(_STATUS.get(error.code, 503), error.message, error.hint, code=error.code)


def _conversation_of(request: Request) -> str:
    """Return the conversation that a request names, by default the public one. Raises BadRequestError."""
    name = request.query_params.get("conversation", PUBLIC)
    if not _NAME.fullmatch(name):
        raise BadRequestError(
            "The name of a conversation is `public` or 16 hexadecimal digits, that of a group 40."
        )
    return name


def _mark_of(body: dict[str, object]) -> tuple[str, int]:
    """Return the conversation and the arrival up to which it was read. Raises BadRequestError."""
    name, placed = text_of(body, "conversation", 2 * MessageId.SIZE), body.get("placed")
    if not _NAME.fullmatch(name) or not isinstance(placed, int) or not 0 <= placed < 2**53:
        raise BadRequestError("`conversation` must be the name of one, and `placed` a whole number.")
    return name, placed


def _readers_of(text: str) -> tuple[FeedId, ...]:
    """Parse the people of a private conversation, our user left out. Raises BadRequestError."""
    feeds = text.split(",")
    if len(feeds) >= CIRCLE_MAX:
        raise BadRequestError(f"A private conversation has at most {CIRCLE_MAX - 1} people beside you.")
    return tuple(dict.fromkeys(feed_of(feed) for feed in feeds))


def message_of(body: dict[str, object]) -> OutgoingMessage:
    """Parse the message in a request. Raises BadRequestError."""
    text = text_of(body, "text", limits.TEXT_MAX).strip()
    voice = voice_of(body, limits.VOICE_SIZE_MAX) if body.get("voice") else None
    if not text and voice is None:
        raise BadRequestError("The message is empty.")
    if voice is not None and parse_voice(voice) is None:
        raise BadRequestError("The recording cannot be read.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadRequestError("The text has incomplete characters (lone surrogates).") from error
    once = once_of(body)
    feeds = body.get("to", [])
    most = CIRCLE_MAX - 1
    if not isinstance(feeds, list) or len(feeds) > most:
        raise BadRequestError(f"`to` must be a list of at most {most} feed ids.")
    conversation = text_of(body, "conversation", 2 * MessageId.SIZE) if "conversation" in body else None
    if (conversation is None) != bool(feeds) or (conversation and not _NAME.fullmatch(conversation)):
        raise BadRequestError("A message needs either a `conversation` or `to`.")
    reply = text_of(body, "reply_to", 2 * MessageId.SIZE) if body.get("reply_to") else None
    return OutgoingMessage(
        text,
        conversation,
        tuple(feed_of(feed) for feed in feeds),
        None if reply is None else message_id_of(reply),
        once,
        body.get("agreed") is True,
        voice,
    )


def _file_in(body: dict[str, object]) -> File:
    """Parse the file in a request. Raises BadRequestError."""
    try:
        data = b64decode(text_of(body, "data", limits.BODY_MAX), validate=True)
        name, type_ = text_of(body, "name", FILE_NAME_MAX), text_of(body, "type", FILE_TYPE_MAX)
        file = File(name, type_, data)
        serialize_file(file)
    except (ValueError, FileNameError) as error:
        raise BadRequestError("This is no file: its name, type or bytes cannot be read.") from error
    return file


def _file_draft_of(body: dict[str, object]) -> ConversationFileDraft:
    """Parse the file for a conversation, by default the public one, in a request. Raises BadRequestError."""
    conversation = text_of(body, "conversation", 2 * MessageId.SIZE) if "conversation" in body else PUBLIC
    return ConversationFileDraft(_file_in(body), conversation)


def file_of(body: dict[str, object]) -> GroupFileDraft:
    """Parse the file for a group in a request. Raises BadRequestError."""
    file = _file_in(body)
    reply = _message_of(body["reply_to"]) if body.get("reply_to") else None
    return GroupFileDraft(_group_of(body.get("group")), file, reply)


def change_of(body: dict[str, object]) -> GroupChange:
    """Parse the change of a group in a request. Raises BadRequestError."""
    try:
        action = GroupAction(text_of(body, "action", 16))
    except ValueError as error:
        words = ", ".join(GroupAction)
        raise BadRequestError(f"`action` must be one of {words}.") from error
    feeds = body.get("people", [])
    if not isinstance(feeds, list) or len(feeds) > GROUP_NAMED_MAX:
        raise BadRequestError(f"`people` must be a list of at most {GROUP_NAMED_MAX} feed ids.")
    if action in {GroupAction.ADD, GroupAction.EXCLUDE} and not feeds:
        raise BadRequestError("Choose people first.")
    creating = action is GroupAction.CREATE
    naming = action in {GroupAction.CREATE, GroupAction.RENAME}
    name = text_of(body, "name", GROUP_TEXT_MAX).strip() if naming else ""
    if naming and not name:
        raise BadRequestError("The group needs a name.")
    return GroupChange(
        action=action,
        group="" if creating else _group_of(body.get("group")),
        name=name,
        people=tuple(feed_of(feed) for feed in feeds),
        erase_days=_days_of(body.get("erase_days")) if creating else None,
        fork=_fork_of(body.get("fork")) if action in DECISIONS else "",
    )


def _days_of(days: object) -> int | None:
    if days is None:
        return None
    if not isinstance(days, int) or isinstance(days, bool) or not 1 <= days <= ERASE_DAYS_MAX:
        raise BadRequestError(f"Texts are erased after 1 to {ERASE_DAYS_MAX} days, or never.")
    return days


def _fork_of(text: object) -> str:
    if not isinstance(text, str) or not _GROUP.fullmatch(text):
        raise BadRequestError("The id of a fork has 40 hexadecimal digits.")
    return text


def _group_of(text: object) -> str:
    if not isinstance(text, str) or not _GROUP.fullmatch(text):
        raise BadRequestError("The id of a group has 40 hexadecimal digits.")
    return text


def _message_of(text: object) -> str:
    if not isinstance(text, str) or not _GROUP.fullmatch(text):
        raise BadRequestError("The id of a message has 40 hexadecimal digits.")
    return text
