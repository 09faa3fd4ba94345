"""Ownership: an object is changed by its own methods, or by the module that defines its class."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import name_of, python_files, tree

OWN = {"self", "cls"}
OF_LIBRARIES = {
    # ssl
    "check_hostname", "context", "minimum_version", "sni_callback", "sslobject_class", "sslsocket_class", "verify_mode",
    # aiomqtt and paho
    "MaximumPacketSize", "ReceiveMaximum", "SessionExpiryInterval", "pending_calls_threshold", "properties", "timeout",
    # logging, OSError, sqlite3, Textual, uvicorn
    "propagate", "filename", "text_factory", "current", "read_only", "should_exit",
}  # fmt: skip
"""Attributes by which libraries are set up."""


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the targets that a statement assigns or deletes, with tuples taken apart."""
    pending: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        pending += node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        pending.append(node.target)
    while pending:
        target = pending.pop()
        if isinstance(target, ast.Tuple | ast.List):
            pending += target.elts
        else:
            yield target


def _is_own(target: ast.Attribute) -> bool:
    return isinstance(target.value, ast.Name) and target.value.id in OWN


def _declared(module: ast.Module) -> set[str]:
    """Return the attributes of the classes of a module."""
    names = set()
    for node in ast.walk(module):
        for target in _targets(node):
            if isinstance(target, ast.Attribute) and _is_own(target):
                names.add(target.attr)
        if isinstance(node, ast.ClassDef):
            names |= {
                target.id
                for statement in node.body
                for target in _targets(statement)
                if isinstance(target, ast.Name)
            }
    return names


def foreign_writes(path: Path) -> list[str]:
    """Return the attributes that a module sets or deletes of objects whose class another module defines."""
    module = tree(path)
    declared = _declared(module)
    return sorted(
        target.attr
        for node in ast.walk(module)
        for target in _targets(node)
        if isinstance(target, ast.Attribute) and not _is_own(target) and target.attr not in declared
    )


def test_objects_are_changed_by_their_own_module_only() -> None:
    found = {
        name_of(path): writes
        for path in python_files("tinyssb_node")
        if (writes := [attr for attr in foreign_writes(path) if attr not in OF_LIBRARIES])
    }
    assert found == {}
