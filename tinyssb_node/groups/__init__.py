"""Private groups, whose content only members can open. Pure."""
