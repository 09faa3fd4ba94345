"""Lines over TCP, from peers of whom nothing is known."""

import asyncio


async def read_line(reader: asyncio.StreamReader) -> bytes | None:
    """The next whole line, line feed included. None when there will be none: end, failure, or longer than allowed."""
    try:
        line = await reader.readline()
    except (OSError, ValueError):
        return None
    return line if line.endswith(b"\n") else None
