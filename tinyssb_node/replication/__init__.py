"""Replication: the entries and feed ids that each peer lacks, and the packets about them. Scheduling decides when to
send."""
