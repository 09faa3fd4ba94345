"""Lines over TCP, from unknown peers."""

import asyncio


async def read_line(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next whole line, line feed included. None if there is none: end, failure, or longer than allowed."""
    try:
        line = await reader.readline()
    except (OSError, ValueError):
        return None
    return line if line.endswith(b"\n") else None
