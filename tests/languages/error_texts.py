"""Messages of errors in the code: the texts with which errors of ours are made, with places for what is filled in."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import IO, Final

from tinyssb_node.screens.error_texts import SYSTEM_REASONS

ROOT: Final = Path(__file__).parents[2]
CALLS: Final = {"phrase", "refusal"}
"""Functions besides classes of errors, and functions that return one, whose arguments are texts of errors."""
ELSEWHERE: Final = {
    "ConfigError",
    "FileNameError",
    "ScenarioFileError",
    "SimulationFailedError",
    "SimulationOptionError",
    "bad_argument",
}
"""Errors of commands that are English in all languages."""
_SENTENCE: Final = re.compile(r"[A-Za-z`']{2,},? [a-z]|[a-z]{2,}\.$")
_PLACE: Final = re.compile(r"\{\w+\}")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def _makers() -> frozenset[str]:
    """Names of the classes of errors that people see, and of functions that return one."""
    nodes = [node for path in (ROOT / "tinyssb_node").rglob("*.py") for node in ast.walk(_tree(path))]
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for node in nodes
        if isinstance(node, ast.ClassDef)
    }
    classes = {"LocalError"}
    while more := {name for name, above in bases.items() if above & classes} - classes:
        classes |= more
    returning = {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and isinstance(node.returns, ast.Name)
        and node.returns.id in classes
    }
    return frozenset((classes | returning | CALLS) - ELSEWHERE)


def _name(node: ast.expr) -> str:
    """Name the place of an expression by what it is about: `{error.strerror}` is `{strerror}`."""
    match node:
        case ast.Name(id=name):
            return name.strip("_").lower()
        case ast.Attribute(attr=name):
            return name.strip("_").lower()
        case ast.Call(func=ast.Attribute(attr="join"), args=[about, *_]):
            return _name(about)
        case ast.Call(func=ast.Name(), args=[about, *_]):
            return _name(about)
        case ast.Call(func=ast.Attribute(value=about)):
            return _name(about)
        case ast.BoolOp(values=[about, *_]) | ast.BinOp(left=about) | ast.Subscript(value=about):
            return _name(about)
        case ast.GeneratorExp(generators=[about, *_]):
            return _name(about.iter)
        case ast.IfExp(body=about):
            return _name(about)
    return "value"


def texts(node: ast.expr) -> list[str]:
    """Return the texts that an expression may be, with places."""
    match node:
        case ast.Constant(value=str(text)):
            return [text.replace("{}", "")]
        case ast.JoinedStr(values=parts):
            return ["".join(one) for one in product(*map(texts, parts))]
        case ast.FormattedValue(value=inner):
            return [one for one in texts(inner) if one]
        case ast.IfExp(body=first, orelse=second):
            return texts(first) + texts(second)
        case ast.BoolOp(values=values):
            found = [text for value in values for text in texts(value)]
            return [text for text in found if text == found[0] or not _PLACE.fullmatch(text)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return ["".join(one) for one in product(texts(left), texts(right))]
    return [f"{{{_name(node)}}}"]


def _is_text(text: str) -> bool:
    return _SENTENCE.search(_PLACE.sub("x", text)) is not None


def _calls(tree: ast.AST, inside: str = "") -> Iterator[tuple[int, ast.expr]]:
    """Yield texts of errors in a part of a module, with their lines."""
    if isinstance(tree, ast.ClassDef):
        inside = tree.name
        for line in tree.body:
            if (
                isinstance(line, ast.Assign)
                and isinstance(line.targets[0], ast.Name)
                and line.targets[0].id == "hint"
            ):
                yield line.lineno, line.value
    if isinstance(tree, ast.Call):
        name = tree.func.id if isinstance(tree.func, ast.Name) else getattr(tree.func, "attr", "")
        if name in _makers() or (name == "__init__" and inside in _makers()):
            yield from ((tree.lineno, one) for one in tree.args)
    for child in ast.iter_child_nodes(tree):
        yield from _calls(child, inside)


def error_texts(file: IO[bytes], *_: object, **_options: object) -> Iterator[tuple[int, str, str, list[str]]]:
    """Yield the messages of errors in a module, as Babel wants them."""
    path = Path(file.name)
    for line, node in _calls(_tree(path)):
        for text in texts(node):
            if _is_text(text):
                yield line, "t", text, []
    if path.name == "error_texts.py":
        yield from ((0, "t", reason, []) for reason in SYSTEM_REASONS)
