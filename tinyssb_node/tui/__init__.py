"""`tinyssb tui`: conversations, people, links and what happens, on a terminal of 80 × 24 (docs/decisions/0029)."""
