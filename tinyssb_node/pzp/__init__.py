"""Optional: PZP messages, their database, their form on the air, their synchronization, and their commands."""
