"""Arguments of a control request, checked one by one (docs/formats/control.md)."""

from collections.abc import Mapping

from tinyssb_node import limits
from tinyssb_node.ids import FeedId
from tinyssb_node.problems import BadRequestError


class Arguments:
    """Hands out a request's arguments by name; ``end`` refuses those nobody asked for."""

    def __init__(self, command: str, values: Mapping[str, object]) -> None:
        self._command = command
        self._values = dict(values)

    def text(self, name: str) -> str:
        """A text that must be there. Raises BadRequestError."""
        value = self._values.pop(name, None)
        if not isinstance(value, str) or any("\ud800" <= char <= "\udfff" for char in value):
            # JSON can say half of a surrogate pair, which is no character.
            raise self._wrong(name, "takes text")
        return value

    def flag(self, name: str) -> bool:
        """True or false; false unless said. Raises BadRequestError."""
        value = self._values.pop(name, False)
        if not isinstance(value, bool):
            raise self._wrong(name, "takes true or false")
        return value

    def number(self, name: str, default: int | None = None) -> int:
        """A sequence number or count, from 1 on. Raises BadRequestError."""
        value = self._values.pop(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= limits.SEQ_MAX:
            raise self._wrong(name, f"takes a whole number from 1 to {limits.SEQ_MAX}")
        return value

    def has(self, name: str) -> bool:
        """Whether *name* was given."""
        return name in self._values

    def octets(self, name: str) -> bytes:
        """Bytes in hexadecimal. Raises BadRequestError."""
        return self._octets(name, self._values.pop(name, None))

    def packets(self, name: str) -> list[bytes]:
        """A list of packets in hexadecimal. Raises BadRequestError."""
        values = self._values.pop(name, None)
        if not isinstance(values, list) or len(values) > limits.IMPORT_PACKETS_MAX:
            raise self._wrong(name, f"takes a list of at most {limits.IMPORT_PACKETS_MAX} packets")
        packets = [self._octets(name, value) for value in values]
        if any(len(packet) != limits.PACKET_SIZE for packet in packets):
            raise self._wrong(name, f"takes packets of {limits.PACKET_SIZE} bytes")
        return packets

    def feed_id(self, name: str) -> FeedId:
        """A whole feed id. Raises BadRequestError."""
        return self._feed_id(name, self._values.pop(name, None))

    def feed_ids(
        self, name: str, *, least: int = 1, most: int = limits.GROUP_NAMED_MAX
    ) -> tuple[FeedId, ...]:
        """A list of *least* to *most* whole feed ids, each once in what is returned. Raises BadRequestError."""
        values = self._values.pop(name, None)
        if not isinstance(values, list) or not least <= len(values) <= most:
            raise self._wrong(name, f"takes a list of {least} to {most} feed ids")
        return tuple(dict.fromkeys(self._feed_id(name, value) for value in values))

    def end(self) -> None:
        """Raise BadRequestError if anything is left."""
        for name in self._values:
            raise self._wrong(name[: limits.CONTROL_ID_MAX], "is not among its arguments")

    def _feed_id(self, name: str, given: object) -> FeedId:
        if not isinstance(given, str) or len(given) != 2 * limits.FEED_ID_SIZE:
            raise self._wrong(name, f"takes all {2 * limits.FEED_ID_SIZE} digits of a feed id")
        value = self._octets(name, given)
        if len(value) != limits.FEED_ID_SIZE:  # There was space between digits.
            raise self._wrong(name, "takes hexadecimal digits, two a byte")
        if not any(value):
            raise self._wrong(name, "takes a feed id, and that of zeros is nobody's")
        return FeedId(value)

    def _octets(self, name: str, value: object) -> bytes:
        try:
            if isinstance(value, str):
                return bytes.fromhex(value)
        except ValueError:
            pass
        raise self._wrong(name, "takes hexadecimal digits, two a byte")

    def _wrong(self, name: str, rule: str) -> BadRequestError:
        return BadRequestError(
            f"`{self._command}` cannot be done: `{name}` {rule}.",
            "docs/formats/control.md lists its arguments.",
        )
