"""Append-only chains: extend, refuse, detect forks."""
