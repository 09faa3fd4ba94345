"""Privacy: tests use public names, so that what is behind them can change."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import PACKAGES, name_of, python_files, tree

OWN = {"self", "cls"}
OF_LIBRARIES = {"_replace", "_bus"}
"""Names of libraries: public in named tuples; in bleak, which closes its bus too late."""


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_names(module: ast.Module) -> Iterator[str]:
    """Yield the private names that a module defines, in it or in its classes and their instances."""
    for node in ast.walk(module):
        name = None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_own(node):
            name = node.attr
        if name is not None and _is_private(name):
            yield name


def _is_own(attribute: ast.Attribute) -> bool:
    return isinstance(attribute.value, ast.Name) and attribute.value.id in OWN


def reaches(path: Path, private: set[str]) -> Iterator[str]:
    """Yield the private names, of *private*, that a test module takes from elsewhere."""
    module = tree(path)
    elsewhere = private - set(private_names(module)) - OF_LIBRARIES
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and node.attr in elsewhere and not _is_own(node):
            yield f"{name_of(path)}:{node.lineno} {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if _is_private(alias.name):
                    yield f"{name_of(path)}:{node.lineno} {alias.name}"


def test_tests_use_no_private_name_of_another_module() -> None:
    private = {name for path in python_files(*PACKAGES, "tests") for name in private_names(tree(path))}
    assert [reach for path in python_files("tests") for reach in reaches(path, private)] == []
