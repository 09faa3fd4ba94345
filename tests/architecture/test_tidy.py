"""Rules of shape that no linter of ours knows (docs/STYLE.md)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import PACKAGES, ROOT, files, name_of, python_files, tree

FUNCTION_LINES_MAX = 70
TEXT_SUFFIXES = {
    ".py",
    ".md",
    ".toml",
    ".sh",
    ".service",
    ".conf",
    ".rules",
    ".js",
    ".css",
    ".html",
    ".yml",
    "",
}
TOP_LEVEL = {
    *PACKAGES, "tests", "hw", "docs", ".ci", ".gitignore", ".gitattributes",
    "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "NOTICE", "README.md", "pyproject.toml",
}  # fmt: skip


def text_files() -> Iterator[tuple[Path, str]]:
    """Every file people write, without vectors and what comes from elsewhere."""
    for path in files():
        parts = path.relative_to(ROOT).parts
        if path.suffix in TEXT_SUFFIXES and "vectors" not in parts and "vendor" not in parts:
            yield path, path.read_text("utf-8")


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method in *path*."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_functions_can_be_seen_at_once() -> None:
    too_long = [
        f"{name_of(path)}:{function.lineno} {function.name} has {lines} lines"
        for path in python_files()
        for function in functions(path)
        if (lines := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert too_long == []


def test_only_the_command_line_prints() -> None:
    printing = [
        f"{name_of(path)}:{node.lineno}"
        for path in python_files(*PACKAGES)
        if not {"cli", "commands", "command", "screens"} & {*path.parts, path.stem}
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert printing == []


def test_every_public_module_says_what_it_is() -> None:
    silent = [
        name_of(path)
        for path in python_files(*PACKAGES)
        if path.read_text("utf-8").strip() and not ast.get_docstring(tree(path))
    ]
    assert silent == []


def test_docstrings_begin_with_a_thing_or_a_verb() -> None:
    question = re.compile(r"(?:What|Whatever|Whether|Who|Whoever|Whom|Whose)\b")
    riddles = [
        f"{name_of(path)}:{node.lineno} {node.value.value.splitlines()[0]}"
        for path in python_files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and question.match(node.value.value)
    ]
    assert riddles == []


def names_set(statement: ast.stmt) -> list[str]:
    """Names that a statement at the top of a module gives a value."""
    if isinstance(statement, ast.AnnAssign):
        targets: list[ast.expr] = [statement.target]
    elif isinstance(statement, ast.Assign):
        targets = statement.targets
    else:
        targets = []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def is_sentence(statement: ast.stmt | None) -> bool:
    """True for a bare string, which is how a name is documented."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def test_every_number_has_its_source() -> None:
    unexplained = []
    for path in python_files(*PACKAGES):
        if path.name == "limits.py":
            body = tree(path).body
            unexplained += [
                f"{name_of(path)}:{statement.lineno} {name}"
                for statement, after in zip(body, [*body[1:], None], strict=True)
                for name in names_set(statement)
                if name.isupper() and not name.startswith("_") and not is_sentence(after)
            ]
    assert unexplained == []


def test_nothing_is_left_for_later() -> None:
    note = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b")  # in brackets, so as not to find this line
    notes = [
        f"{name_of(path)}:{number}"
        for path, text in text_files()
        for number, line in enumerate(text.splitlines(), 1)
        if note.search(line)
    ]
    assert notes == []


def test_no_path_of_somebodys_machine() -> None:
    private = re.compile(r"(?<![\w.$}])/(?:root|work|workspace|Users|mnt|home/(?!pi\b|ana\b|\$|<))(?=/|\b)")
    paths = [
        f"{name_of(path)}:{number}"
        for path, text in text_files()
        if path.name != Path(__file__).name
        for number, line in enumerate(text.splitlines(), 1)
        if private.search(line)
    ]
    assert paths == []


def test_lines_end_plainly() -> None:
    untidy = [
        f"{name_of(path)}:{number}"
        for path, text in text_files()
        for number, line in enumerate(text.split("\n"), 1)
        if line != line.rstrip() or "\t" in line.lstrip("\t") or line.endswith("\r")
    ]
    unended = [name_of(path) for path, text in text_files() if text and not text.endswith("\n")]
    assert (untidy, unended) == ([], [])


def test_the_top_level_holds_what_it_is_known_for() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in files()} <= TOP_LEVEL
