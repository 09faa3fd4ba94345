"""Measurements. Each module ``bench_*.py`` has ``run() -> list[Figure]``; ``python -m tests.bench`` runs them all."""
