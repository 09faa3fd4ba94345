"""The way in which the deployed phone app reads an entry's content, step by step, for tests.

Sizes are taken on trust, and each step that would throw there raises CrashError here (docs/reference/interop.md).
"""

STRING, BYTES, INT, LIST, DICT, BOOL = 0, 1, 2, 4, 5, 6
DIGITS = 32

Node = tuple[int, object]


class CrashError(Exception):
    """The app ends here."""


def show(type_: int, field: bytes, content: bytes) -> None:
    """Read an entry when it comes: first the *field* of 48 bytes as if its length came first, then all its *content*.

    Raises CrashError.
    """
    _, size = varint(field, 0, 3)
    to_frontend(field[size:28])
    if type_ not in {0, 1}:
        raise CrashError("no content for this type")
    to_frontend(content)


def to_frontend(payload: bytes) -> None:
    body, _ = decode(payload, 0, len(payload))
    if body is None:
        return
    kind, value = body
    if kind == LIST:
        to_json(body)
    elif kind == BYTES:
        assert isinstance(value, bytes)
        if len(value) < 56:
            raise CrashError("sliceArray(24..55)")


def to_json(node: Node) -> None:
    items = node[1]
    assert isinstance(items, list)
    for kind, value in items:
        if kind == BOOL and isinstance(value, bool):
            raise CrashError("Boolean as Int")
        if kind == LIST:
            to_json((kind, value))


def signed(number: int) -> int:
    number &= 2**DIGITS - 1
    return number - 2**DIGITS if number >> (DIGITS - 1) else number


def varint(buffer: bytes, old: int, most: int) -> tuple[int, int]:
    number, shift, at = 0, 1, old
    while at < most:
        if at >= len(buffer):
            raise CrashError("index")
        number = signed(number | (buffer[at] & 0x7F) * shift)
        if not buffer[at] & 0x80:
            break
        shift = signed(shift * 128)
        at += 1
    return number, at - old + 1


def decode(buffer: bytes, at: int, most: int, depth: int = 0) -> tuple[Node | None, int]:
    if depth > 200:
        raise CrashError("stack")
    tag, size = varint(buffer, at, most)
    node, rest = body(tag, buffer, at + size, most, depth)
    return node, size + rest


def body(tag: int, buffer: bytes, at: int, most: int, depth: int) -> tuple[Node | None, int]:
    kind, size = tag & 7, tag >> 3
    if at + size > most:
        return None, -1
    if size < 0:
        raise CrashError("goes backwards: it may never end")
    if kind == BOOL:
        return (BOOL, None if size == 0 else buffer[at] != 0), size
    if kind in {STRING, BYTES, INT}:
        return (kind, buffer[at : at + size]), size
    if kind not in {LIST, DICT}:
        return None, -1
    nodes: list[Node] = []
    end, start = at + size, at
    while at < end:
        node, taken = decode(buffer, at, end, depth + 1)
        if node is None or (kind == DICT and len(nodes) % 2 == 0 and node[0] in {LIST, DICT}):
            return None, -1
        nodes.append(node)
        at += taken
    return (kind, nodes), at - start
