"""Responses that several groups of requests give."""

from urllib.parse import quote

from starlette.responses import Response

from tinyssb_node.content.files import File
from tinyssb_node.web.shapes import PICTURES


def file_response(file: File, name: str) -> Response:
    """Return a file of a message. Only pictures have a type; a browser saves everything that is opened itself."""
    kind = file.type if file.type in PICTURES else "application/octet-stream"
    saving = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    return Response(file.data, media_type=kind, headers={"content-disposition": saving})
