"""Offsets and drifts of the nodes' clocks, from packets that several of them saw (docs/reference/analytics.md)."""
