"""The repository as data, for tests that read it."""

import ast
import functools
import subprocess
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("tinyssb_node", "firmware_bridge", "spark_sink")


@functools.cache
def files() -> tuple[Path, ...]:
    """Every file that belongs to the repository, what is not yet committed included."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    return tuple(path for name in sorted(listed.split("\0")) if name and (path := ROOT / name).is_file())


def name_of(path: Path) -> str:
    """*path* as a reader of the repository would say it."""
    return path.relative_to(ROOT).as_posix()


def python_files(*folders: str) -> list[Path]:
    """Python files below *folders*, all of the repository's without any."""
    return [
        path
        for path in files()
        if path.suffix == ".py" and (not folders or path.relative_to(ROOT).parts[0] in folders)
    ]


def markdown_files() -> list[Path]:
    """Every page of text."""
    return [path for path in files() if path.suffix == ".md"]


@functools.cache
def tree(path: Path) -> ast.Module:
    """*path*, parsed."""
    return ast.parse(path.read_text("utf-8"), str(path))


@functools.cache
def pyproject() -> dict[str, Any]:
    """pyproject.toml, parsed."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def module_name(path: Path) -> str:
    """The dotted name *path* is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
