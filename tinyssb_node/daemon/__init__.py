"""The running process of a node."""
