"""Answers that are sentences."""

from starlette.responses import JSONResponse, Response

from spark_sink.page import limits


def refusal(status: int, message: str, **headers: str) -> Response:
    """A request that is not answered, and why; *message* is a sentence for people."""
    return JSONResponse({"v": limits.API_VERSION, "message": message}, status, headers)
