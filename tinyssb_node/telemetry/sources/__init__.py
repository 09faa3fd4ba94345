"""Sources of telemetry: programs and devices of this machine that know where it is, or measure something."""
