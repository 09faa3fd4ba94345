"""Radios that hang on this computer, for asyncio."""
