"""Finds where the internet has a feed: a distributed hash table after Tangle (docs/formats/locator.md), pure."""
