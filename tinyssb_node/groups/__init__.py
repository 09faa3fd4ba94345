"""Private groups: what only members can open. Pure."""
