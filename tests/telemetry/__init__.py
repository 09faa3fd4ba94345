"""Tests of telemetry: its sources, its pace, its process and its commands."""
