"""Radios on serial cables: framings, messages, and the host's session with each kind. Pure."""
