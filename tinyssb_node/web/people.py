"""Requests about people: follow, name and block them, and the user's own name."""

from starlette.requests import Request
from starlette.routing import Route

from tinyssb_node.content.limits import PETNAME_MAX
from tinyssb_node.errors import BadRequestError
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.web.page_service import PageService
from tinyssb_node.web.request_fields import body_of, feed_of, once_of, text_of
from tinyssb_node.web.responses import json_route
from tinyssb_node.web.shapes import Shape


def people_routes(service: PageService) -> list[Route]:
    """Return the routes that change what the node knows of people."""

    async def follow(request: Request) -> Shape:
        feed = _feed_in(await body_of(request))
        return await service.change(lambda node: node.follow(feed).fields())

    async def unfollow(request: Request) -> Shape:
        feed = _feed_in(await body_of(request))
        return await service.change(lambda node: node.unfollow(feed).fields())

    async def name(request: Request) -> Shape:
        body = await body_of(request)
        feed, given = _feed_in(body), text_of(body, "name", PETNAME_MAX).strip()
        return await service.set(lambda node: name_person(node, feed, given))

    async def block(request: Request) -> Shape:
        body = await body_of(request)
        feed, blocked = _feed_in(body), body.get("blocked")
        if not isinstance(blocked, bool):
            raise BadRequestError("`blocked` must be true or false.")
        return await service.set(lambda node: block_person(node, feed, blocked=blocked))

    async def alias(request: Request) -> Shape:
        body = await body_of(request)
        said, once = text_of(body, "name", PETNAME_MAX).strip(), once_of(body)
        return await service.once(once, lambda node: call_us(node, said))

    return [
        json_route("/api/follow", follow, "POST"),
        json_route("/api/unfollow", unfollow, "POST"),
        json_route("/api/person/name", name, "POST"),
        json_route("/api/person/block", block, "POST"),
        json_route("/api/alias", alias, "POST"),
    ]


def name_person(node: NodeSession, feed: FeedId, name: str) -> Shape:
    """Give a person a name that only our user sees; empty: remove it. Raises ContactsError."""
    node.petname(feed, name or None)
    return {"feed": feed.hex(), "name": name or None}


def block_person(node: NodeSession, feed: FeedId, *, blocked: bool) -> Shape:
    """Hide a person and stop requesting their feed, or undo it. Raises BadRequestError, ContactsError."""
    if feed == node.own:
        raise BadRequestError("This is your own feed, which you cannot block. Nothing was changed.")
    if blocked:
        node.block(feed)
    else:
        node.unblock(feed)
    return {"feed": feed.hex(), "blocked": blocked}


def call_us(node: NodeSession, name: str) -> Shape:
    """Publish our user's name; empty: withdraw it. Raises as the client does."""
    row = node.call_me(name)
    return {"id": row.id, "packets": 1 + row.chunks}


def _feed_in(body: dict[str, object]) -> FeedId:
    return feed_of(text_of(body, "feed", 2 * FeedId.SIZE))
