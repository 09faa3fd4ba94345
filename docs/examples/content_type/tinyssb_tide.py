"""A content type of its own: ``["TIDE", centimetres]``, as a gauge publishes it, in words."""

from tinyssb_node import PeerError, bipf


def describe(content: bytes) -> str | None:
    """Return *content* in words; None: it is not a tide."""
    try:
        value, _ = bipf.decode_prefix(content)  # A short entry is filled up with zeros.
    except PeerError:
        return None
    match value:
        case ["TIDE", int(centimetres)]:
            return f"{centimetres} cm above chart datum"
    return None
