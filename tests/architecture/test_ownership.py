"""Who may change an object: its own methods, and the module that defines its class. Nobody else."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import name_of, python_files, tree

OWN = {"self", "cls"}
OF_LIBRARIES = {
    # ssl
    "check_hostname", "minimum_version", "sslobject_class", "sslsocket_class", "verify_mode",
    # aiomqtt and paho
    "MaximumPacketSize", "ReceiveMaximum", "SessionExpiryInterval", "pending_calls_threshold", "properties", "timeout",
    # logging, OSError, Textual, uvicorn
    "propagate", "filename", "current", "read_only", "should_exit",
}  # fmt: skip
"""Attributes by which libraries are set up."""
KNOWN = {
    "tinyssb_node/cli/carry_folder.py": ["early", "early"],
    "tinyssb_node/cli/commands/chat.py": ["names", "names"],
    "tinyssb_node/islands/shelf.py": ["chunks", "dropped", "entries", "held", "held", "refused"],
    "tinyssb_node/shipping/shipper.py": ["acked_us", "connected", "connected", "problem", "refused"],
    "tinyssb_node/sim/ether.py": ["default_loss"],
    "tinyssb_node/sim/world.py": [
        "boot", "boot_us", "brown_out_us", "brown_out_us", "down_us", "down_us", "hung_until_us", "node", "position_m",
        "up", "up", "wall_offset_us", "woken_for_us", "woken_for_us", "woken_for_us",
    ],
}  # fmt: skip
"""What is still to be mended, by module: this list only gets shorter."""


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """What a statement gives a value, or deletes; tuples taken apart."""
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
    """The attributes of the classes of a module."""
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
    """The attributes that a module sets or deletes of objects whose class another module defines."""
    module = tree(path)
    declared = _declared(module)
    return sorted(
        target.attr
        for node in ast.walk(module)
        for target in _targets(node)
        if isinstance(target, ast.Attribute) and not _is_own(target) and target.attr not in declared
    )


def test_objects_are_changed_by_their_own_module_only() -> None:
    found = {}
    for path in python_files("tinyssb_node"):
        writes = Counter(attr for attr in foreign_writes(path) if attr not in OF_LIBRARIES)
        if new := writes - Counter(KNOWN.get(name_of(path), ())):
            found[name_of(path)] = new
    assert found == {}
