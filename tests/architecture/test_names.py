"""One word has one meaning: class names are unique in a package, and words the glossary rules out name nothing."""

import ast
from collections import defaultdict

import pytest

from tests.architecture.sources import PACKAGES, ROOT, module_name, python_files, tree


def public_classes(package: str) -> dict[str, list[str]]:
    """The modules that define each public class of *package*."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in python_files(package):
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module_name(path))
    return found


def ruled_out() -> set[str]:
    """The single words in the glossary's column *not*."""
    words: set[str] = set()
    for line in (ROOT / "docs/glossary.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| **") and len(cells) == 4:
            words.update(word.strip() for word in cells[3].split(",") if word.strip().isalpha())
    return words


@pytest.mark.parametrize("package", PACKAGES)
def test_no_two_public_classes_of_a_package_share_a_name(package: str) -> None:
    shared = {name: modules for name, modules in public_classes(package).items() if len(modules) > 1}
    assert shared == {}


def test_no_public_name_is_a_word_the_glossary_rules_out() -> None:
    words = ruled_out()
    assert len(words) > 30, "the glossary has its column *not*"
    modules = {module_name(path).rpartition(".")[2] for path in python_files("tinyssb_node")}
    classes = {name for name in public_classes("tinyssb_node") if name.lower() in words}
    assert (classes, modules & words) == (set(), set())
