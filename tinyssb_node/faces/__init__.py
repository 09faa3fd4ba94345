"""Faces: links to the outside, and the framing of packets on them."""
