"""Requests about recorded voice: to play that of a message, and to make a recording what a message carries."""

from base64 import b64encode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tinyssb_node.content.voice_note import VoiceNote, parse_voice, serialize_voice
from tinyssb_node.web import access, limits
from tinyssb_node.web.errors import PageNotFoundError
from tinyssb_node.web.page_service import PageService
from tinyssb_node.web.request_fields import body_of, message_id_of, voice_of
from tinyssb_node.web.responses import json_route
from tinyssb_node.web.shapes import Shape
from tinyssb_node.web.voice_codec import VoiceCodec


def voice_routes(service: PageService, codec: VoiceCodec) -> list[Route]:
    """Return the routes for the node's user."""

    async def play(request: Request) -> Response:
        """Return the voice of a message as sound."""
        id_ = message_id_of(request.query_params.get("id"))
        file, _ = await service.conversation_file(id_)
        return await sound_response(codec, file.data)

    async def play_again(request: Request) -> Response:
        """Return a recording that is not sent yet as it will sound."""
        return await sound_response(codec, voice_of(await body_of(request), limits.VOICE_SIZE_MAX))

    async def record(request: Request) -> Shape:
        samples = voice_of(await body_of(request, limits.VOICE_BODY_MAX), limits.VOICE_S_MAX * 16_000)
        return {"voice": b64encode(serialize_voice(await codec.record(samples))).decode()}

    return [
        Route("/api/voice", play),
        Route("/api/voice/play", play_again, methods=["POST"]),
        json_route(access.RECORD, record, "POST"),
    ]


async def sound_response(codec: VoiceCodec, voice: bytes) -> Response:
    """Return recorded voice as sound. Raises PageNotFoundError, CodecMissingError, CodecFailedError."""
    return Response(await codec.play(_note_in(voice)), media_type="audio/wav")


def _note_in(voice: bytes) -> VoiceNote:
    """Parse voice that is short enough to be played. Raises PageNotFoundError."""
    note = parse_voice(voice) if len(voice) <= limits.VOICE_SIZE_MAX else None
    if note is None:
        raise PageNotFoundError("This recording cannot be played here.", "Save it, and try another program.")
    return note
