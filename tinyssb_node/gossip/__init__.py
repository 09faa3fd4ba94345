"""Gossip: entries, the set of feeds, turn-taking, receipts, acknowledgements, admission, retirement, forks."""
