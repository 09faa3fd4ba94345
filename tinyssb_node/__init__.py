"""tinySSB node: signed append-only feeds, gossiped over thin air."""

__version__ = "0.1.0"
