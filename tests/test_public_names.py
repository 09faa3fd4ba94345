"""The public surface of the package: its names exist, their types are the same, and it costs commands nothing."""

import ast
import operator
import subprocess
import sys
from importlib import import_module

import pytest

import tinyssb_node
from tests.architecture.sources import ROOT
from tests.docs import pages

STUB = ast.parse((ROOT / "tinyssb_node/__init__.pyi").read_text("utf-8"))


def stub_names() -> dict[str, str]:
    """The names in the stub, with the module that each is imported from."""
    return {
        alias.name: node.module
        for node in STUB.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def test_the_stub_has_the_names_that_can_be_imported() -> None:
    functions = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef)}
    assert {*stub_names(), *functions} == {*tinyssb_node.__all__}


@pytest.mark.parametrize(("name", "module"), stub_names().items())
def test_a_name_is_what_its_type_says(name: str, module: str) -> None:
    expected = getattr(import_module(module), name, None) or import_module(f"{module}.{name}")
    assert getattr(tinyssb_node, name) is expected


def test_another_name_is_an_error_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        operator.attrgetter("nothing")(tinyssb_node)


def test_each_name_is_documented() -> None:
    table = pages.read("docs/reference/python.md").partition("## What stays the same")[0]
    assert [name for name in tinyssb_node.__all__ if f"`{name}" not in table] == []


def test_importing_the_package_loads_none_of_it() -> None:
    script = (
        "import sys, tinyssb_node; print([name for name in sys.modules if name.startswith('tinyssb_node.')])"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_type_checkers_may_read_the_package() -> None:
    assert (ROOT / "tinyssb_node/py.typed").exists()
