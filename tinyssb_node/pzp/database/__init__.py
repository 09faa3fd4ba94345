"""PZP messages, kept: a database in a file of its own, beside the store (docs/formats/pzp-store.md)."""
