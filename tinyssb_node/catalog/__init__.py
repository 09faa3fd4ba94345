"""An index of what entries mean, derived from the store; may be deleted at any time (docs/formats/catalog.md)."""
