"""Responses that several groups of requests give."""

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tinyssb_node.content.files import File
from tinyssb_node.web.shapes import PICTURES, Shape


def json_route(path: str, content: Callable[[Request], Awaitable[Shape]], method: str = "GET") -> Route:
    """Return a route whose response is *content* as JSON."""

    async def respond(request: Request) -> Response:
        return JSONResponse(await content(request))

    return Route(path, respond, methods=[method])


def file_response(file: File, name: str) -> Response:
    """Return a file of a message. Only pictures have a type; a browser saves everything that is opened itself."""
    kind = file.type if file.type in PICTURES else "application/octet-stream"
    saving = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    return Response(file.data, media_type=kind, headers={"content-disposition": saving})
