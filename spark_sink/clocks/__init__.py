"""How wrong the nodes' clocks are, from packets that several of them saw (docs/reference/analytics.md)."""
