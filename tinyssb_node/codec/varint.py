"""Unsigned varints (LEB128): seven bits a byte, low bits first, the high bit set on all but the last byte."""


def encode_varint(number: int) -> bytes:
    """Return *number*, which is not negative, in the fewest bytes."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data: bytes, offset: int, end: int, size_max: int) -> tuple[int, int] | None:
    """Return the number at *offset* and the offset behind it; None if it ends neither by *end* nor within *size_max*
    bytes.

    More bytes than needed are accepted: deployed nodes accept them too.
    """
    number = 0
    for index in range(offset, min(end, offset + size_max)):
        byte = data[index]
        number |= (byte & 0x7F) << 7 * (index - offset)
        if byte < 0x80:
            return number, index + 1
    return None
