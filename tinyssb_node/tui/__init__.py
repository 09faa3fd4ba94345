"""`tinyssb tui`: conversations, people, links, feeds and events on a terminal of 80 × 24 (docs/decisions/0029)."""
