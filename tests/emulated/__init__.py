"""Emulated radios on serial cables, and emulated microcontrollers, for tests of every package."""
