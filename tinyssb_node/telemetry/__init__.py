"""Optional: positions and values of sensors, shared by hand or at intervals, as a process beside the daemon."""
