"""Bytes that a fuzzer makes, into everything that reads bytes (docs/reference/fuzzing.md)."""
