"""The language of a request: sentences in its answer are in that of the page that asks."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tinyssb_node.screens.languages import language_of, speak


class SpokenLanguage:
    """Middleware that sets the language of each request by its header `Accept-Language`, in the order given there."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, in a context of its own (PEP 567): uvicorn makes one for each."""
        if scope["type"] == "http":
            speak(language_of(Headers(scope=scope).get("accept-language", "").split(",")))
        await self._app(scope, receive, send)
