"""Content that fills an entry of type 0: its 48 bytes may end in zeros, which are no part of it."""

from tinyssb_node import limits
from tinyssb_node.codec import bipf


def decode(content: bytes) -> bipf.Value:
    """Return the BIPF value of all of *content*; in 48 bytes zeros may follow a list, or a dict that is not empty. None
    if there is none.

    Not other values: plain text of 48 bytes, padded with zeros, often looks like a shorter text in BIPF.
    """
    try:
        value, end = bipf.decode_prefix(content)
    except bipf.BipfError:
        return None
    if end == len(content):
        return value
    padded = len(content) == limits.CONTENT_SIZE and not any(content[end:])
    return value if padded and isinstance(value, list | dict) and _is_written(value) else None


def _is_written(value: bipf.Value) -> bool:
    """Return whether *value* has anything but empty texts, and no zeros in texts: these are of the padding."""
    if isinstance(value, list | dict):
        parts = [*value, *(value.values() if isinstance(value, dict) else ())]
        return any(map(_is_written, parts)) and not any(isinstance(one, str) and "\0" in one for one in parts)
    return value != ""
