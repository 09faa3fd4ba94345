"""Limits of fork proofs as files."""

from typing import Final

FORK_FILE_MAX: Final = 1_024
"""Most bytes of such a file (docs/formats/fork-proof.md): the longest has 698, line ends of other systems included."""
