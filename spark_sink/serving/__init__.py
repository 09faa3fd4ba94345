"""The serving database: what the analytics have found, in SQLite or PostgreSQL (docs/formats/serving.md)."""
