"""Small files of the page that only its user may read, replaced as a whole."""

import os
from pathlib import Path


def replace_file(file: Path, text: str) -> None:
    """Replace the content of *file*, mode 0600; durable on return, and never half of it. Raises OSError."""
    fresh = file.with_suffix(".new")
    with os.fdopen(
        os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
    ) as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    fresh.replace(file)
