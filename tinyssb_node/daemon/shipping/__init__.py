"""The shipper of event logs: a process beside the daemon (docs/howto/ship-logs.md, decision 0051)."""
