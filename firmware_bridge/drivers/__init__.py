"""Drivers, for asyncio, of radios that are wired to this computer."""
