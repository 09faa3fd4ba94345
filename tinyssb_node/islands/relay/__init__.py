"""Relays: gateways that join two others which cannot be reached. Pure."""
