"""Web page of the serving database, read-only (docs/reference/dashboard.md)."""
