"""Alerts of one node, posted to a webhook: what `doctor` finds, once it has lasted
(docs/decisions/0080-alerts-of-a-node.md)."""
