"""Just these feeds, both ways: the sync of two gateways over the internet (docs/formats/feed-sync.md).

Pure: ``sync`` is one side of it, ``port`` what it needs of who holds feeds.
"""
