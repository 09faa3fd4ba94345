"""When something may be sent."""
