"""Requests of guests: they read what is public, and hand over entries that their phones signed."""

import re
from base64 import b64decode
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tinyssb_node.catalog.rows import PUBLIC
from tinyssb_node.content.files import File
from tinyssb_node.control.client import DaemonError
from tinyssb_node.control.rows import ImportedRow
from tinyssb_node.errors import BadRequestError, LocalError
from tinyssb_node.faces.limits import TOKEN_MAX
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.limits import PACKET_SIZE
from tinyssb_node.screens.conversation_files import read_file_of
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.store.words import word_list
from tinyssb_node.web import limits, views
from tinyssb_node.web.access import GUEST_ENTRANCE
from tinyssb_node.web.errors import PageNotFoundError, PhoneRefusedError
from tinyssb_node.web.page_service import PageService
from tinyssb_node.web.phones import Phone, PhoneRegistry
from tinyssb_node.web.places import public_places
from tinyssb_node.web.recordings import sound_response
from tinyssb_node.web.request_fields import body_of, feed_of, message_id_of, number, order_of, text_of
from tinyssb_node.web.responses import file_response
from tinyssb_node.web.shapes import Shape
from tinyssb_node.web.voice_codec import VoiceCodec


def guest_routes(service: PageService, phones: PhoneRegistry, codec: VoiceCodec) -> list[Route]:
    """Return the routes of guests."""

    async def enter(request: Request) -> Response:
        _, cookie = phones.enter(text_of(await body_of(request), "token", TOKEN_MAX).strip())
        answer = JSONResponse({"guest": True})
        phones.let_in(answer, cookie)
        return answer

    async def words(_request: Request) -> Response:
        return Response("\n".join(word_list()), media_type="text/plain")

    return [
        Route(GUEST_ENTRANCE, enter, methods=["POST"]),
        Route("/words.txt", words),
        *_reading_routes(service, phones, codec),
        *_writing_routes(service, phones),
    ]


def _json_route(
    phones: PhoneRegistry, path: str, work: Callable[[Request, Phone], Awaitable[Shape]], method: str = "GET"
) -> Route:
    """Return a route for phones, whose response is *work*'s as JSON."""

    async def respond(request: Request) -> Response:
        return JSONResponse(await work(request, _phone(phones, request)))

    return Route(path, respond, methods=[method])


def _reading_routes(service: PageService, phones: PhoneRegistry, codec: VoiceCodec) -> list[Route]:
    async def conversations(_request: Request, phone: Phone) -> Shape:
        return await service.read(lambda node: views.public_conversation(node, phone.feed))

    async def messages(request: Request, phone: Phone) -> Shape:
        before, limit = order_of(request), min(number(request, "limit") or limits.ROWS, 200)
        return await service.read(
            lambda node: views.public_messages(node, phone.feed, before=before, limit=limit)
        )

    async def thread(request: Request, phone: Phone) -> Shape:
        message = message_id_of(request.query_params.get("id"))
        return await service.read(lambda node: views.public_thread(node, phone.feed, message))

    async def file(request: Request) -> Response:
        _phone(phones, request)
        message = message_id_of(request.query_params.get("id"))
        return file_response(*await service.with_reader(lambda node: _public_file(node, message)))

    async def voice(request: Request) -> Response:
        _phone(phones, request)
        message = message_id_of(request.query_params.get("id"))
        found, _ = await service.with_reader(lambda node: _public_file(node, message))
        return await sound_response(codec, found.data)

    async def people(_request: Request, phone: Phone) -> Shape:
        return await service.read(lambda node: views.people_for_guests(node, phone.feed))

    async def places(_request: Request, phone: Phone) -> Shape:
        return await service.read(lambda node: public_places(node, phone.feed))

    async def sealed(request: Request, _phone: Phone) -> Shape:
        after, again = number(request, "after") or 0, _numbers(request.query_params.get("again", ""))
        return await service.read(lambda node: views.sealed(node, after, again))

    return [
        _json_route(phones, "/api/guest/people", people),
        _json_route(phones, "/api/guest/places", places),
        _json_route(phones, "/api/guest/sealed", sealed),
        _json_route(phones, "/api/guest/conversations", conversations),
        _json_route(phones, "/api/guest/messages", messages),
        _json_route(phones, "/api/guest/thread", thread),
        Route("/api/guest/file", file),
        Route("/api/guest/voice", voice),
    ]


def _writing_routes(service: PageService, phones: PhoneRegistry) -> list[Route]:
    async def about(_request: Request, phone: Phone) -> Shape:
        return {
            **await service.change(lambda node: _feed_shape(node, phone.feed)),
            "id": phone.id,
            "challenge": phone.challenge.hex(),
            "left": phones.packets_left(phone),
            "prefix": service.network_prefix().hex(),
        }

    async def bind(request: Request, phone: Phone) -> Shape:
        body = await body_of(request)
        signature = _bytes_of(text_of(body, "signature", 128))
        bound = phones.bind(phone, feed_of(text_of(body, "feed", 2 * FeedId.SIZE)), signature)
        return {"id": bound.id}

    async def publish(request: Request, phone: Phone) -> Shape:
        packets = packets_of(await body_of(request))
        if phone.feed is None:
            raise BadRequestError("This phone has not shown yet whose key it has.")
        charge = phones.charge(phone, len(packets))
        try:
            row = await service.carry(phone.feed, packets)
        except LocalError:
            phones.give_back(phone, charge, len(packets))
            raise
        phones.give_back(phone, charge, row.held)  # a phone that lost the answer sends all again
        if problem := refused_in_words(row):
            raise problem
        return {"entries": row.entries, "chunks": row.chunks, "held": row.held}

    return [
        _json_route(phones, "/api/guest", about),
        _json_route(phones, "/api/guest/bind", bind, "POST"),
        _json_route(phones, "/api/guest/publish", publish, "POST"),
    ]


def _phone(phones: PhoneRegistry, request: Request) -> Phone:
    phone = phones.find(request.headers)
    if phone is None:
        raise PageNotFoundError("This phone is not a guest here.", "Scan the code for guests.")
    return phone


def _feed_shape(node: NodeSession, feed: FeedId | None) -> Shape:
    """Return how far the node has a feed, and in which dialect it is, or would be."""
    dialect = node.client.status().dialect
    shape: Shape = {"feed": None if feed is None else feed.hex(), "seq": 0, "entry": None, "dialect": dialect}
    if feed is None:
        return shape
    try:
        rows = list(node.client.log(feed.hex(), last=1))  # all of it: the next reply stands behind
    except DaemonError as error:
        if error.code != "unknown_feed":
            raise
        rows = []
    known = node.catalog.dialect(feed)
    if rows:
        shape |= {"seq": rows[0].seq, "entry": rows[0].id}
    return {**shape, "dialect": dialect if known is None else known.value}


def refused_in_words(row: ImportedRow) -> PhoneRefusedError | None:
    """Return why the node did not take all packets; None if it did."""
    if row.refused is None:
        return None
    if row.refused.reason == "blocked":
        return PhoneRefusedError("The host of this node blocks this feed.", "Ask them.")
    return PhoneRefusedError(
        "The node did not take the message: it does not follow what the node has of this feed.",
        "Look at the page “You”.",
    )


def packets_of(body: dict[str, object]) -> list[bytes]:
    """Parse an entry and its side chain in a request. Raises BadRequestError."""
    found = body.get("packets")
    if not isinstance(found, list) or not 1 <= len(found) <= limits.PUBLISH_PACKETS_MAX:
        raise BadRequestError(f"`packets` must be a list of 1 to {limits.PUBLISH_PACKETS_MAX}.")
    packets = []
    for text in found:
        try:
            packet = b64decode(text if isinstance(text, str) else "", validate=True)
        except ValueError as error:
            raise BadRequestError("A packet is in base64.") from error
        if len(packet) != PACKET_SIZE:
            raise BadRequestError(f"A packet has {PACKET_SIZE} bytes.")
        packets.append(packet)
    return packets


def _public_file(node: NodeSession, message: MessageId) -> tuple[File, str]:
    """Return a file that everybody may read. Raises ProblemError."""
    row = node.catalog.message(message)
    if row is None or row.conversation != PUBLIC or row.private:
        raise PageNotFoundError("This file does not exist here, or is not public.", "Go back to the chat.")
    return read_file_of(node, message)


def _numbers(text: str) -> list[int]:
    """Parse the numbers of messages that are asked for again. Raises BadRequestError."""
    parts = text.split(",") if text else []
    if len(parts) > limits.AGAIN_MAX or not all(re.fullmatch("[0-9]{1,16}", one) for one in parts):
        raise BadRequestError(f"`again` has at most {limits.AGAIN_MAX} numbers.")
    return [int(one) for one in parts]


def _bytes_of(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise BadRequestError("A signature has 128 hexadecimal digits.") from error
