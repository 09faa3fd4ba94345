"""What it takes for a new name in a folder to survive a power cut."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make the names in *folder* durable. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
