"""Optional: shipping the event log to its collector, as a process beside the daemon."""
