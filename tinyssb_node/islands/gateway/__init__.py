"""The gateway to other islands: a process beside the daemon (docs/howto/gateways.md, decision 0054)."""
