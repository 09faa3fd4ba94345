"""Sync of single feeds between two gateways over the internet, both ways (docs/formats/feed-sync.md).

Pure: ``sync`` is one side of it, ``port`` its interface to the feeds.
"""
