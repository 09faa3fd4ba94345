"""Tests of the sources of telemetry, against the bytes and files that they read."""
