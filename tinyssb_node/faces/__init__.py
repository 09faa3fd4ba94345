"""Frames to and from the world."""
