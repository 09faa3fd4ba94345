"""The layers of docs/ARCHITECTURE.md hold, and no module is outside them."""

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

from tests.architecture.sources import PACKAGES, ROOT, module_name, pyproject, python_files, tree

SHELL = (
    "tinyssb_node.cli",
    "tinyssb_node.tui",
    "tinyssb_node.web",
    "tinyssb_node.islands",
    "tinyssb_node.pzp",
    "tinyssb_node.shipping",
    "tinyssb_node.telemetry",
    "tinyssb_node.remote",
    "tinyssb_node.alerts",
    "tinyssb_node.screens",
    "tinyssb_node.daemon",
    "tinyssb_node.sim",
    "tinyssb_node.control",
    "tinyssb_node.catalog",
    "tinyssb_node.faces",
    "tinyssb_node.maps",
    "tinyssb_node.content.contacts",
    "tinyssb_node.store",
)
"""Rooms that may reach the world; everything else in the node is pure."""
SHARED = ("tinyssb_node.web.page_server", "tinyssb_node.maps")
"""Rooms that spark_sink uses, too."""
PURE_IN_SHELL = {
    "tinyssb_node.alerts.limits",
    "tinyssb_node.alerts.watch",
    "tinyssb_node.islands.feedsync",
    "tinyssb_node.islands.locator",
    "tinyssb_node.islands.relay",
    "tinyssb_node.pzp.messages",
    "tinyssb_node.pzp.sync",
    "tinyssb_node.remote.gate",
    "tinyssb_node.remote.limits",
    "tinyssb_node.remote.messages",
    "tinyssb_node.store.port",
    "tinyssb_node.store.memory",
}
"""Modules in them that are pure all the same."""


def within(module: str, parents: Collection[str]) -> bool:
    return any(module == parent or module.startswith(f"{parent}.") for parent in parents)


def contract_rows(name: str, key: str) -> list[str]:
    contracts = pyproject()["tool"]["importlinter"]["contracts"]
    (rows,) = [contract[key] for contract in contracts if contract["name"] == name]
    return list(rows)


def node_modules() -> list[str]:
    packages = {module_name(path) for path in python_files("tinyssb_node") if path.name == "__init__.py"}
    return [name for path in python_files("tinyssb_node") if (name := module_name(path)) not in packages]


def circle(imports: Mapping[str, Collection[str]]) -> tuple[str, ...] | None:
    """Return modules that import each other in a circle, None if there are none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return None


def test_import_linter_keeps_every_contract() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [command, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_module_of_the_node_has_a_layer() -> None:
    rows = contract_rows("Imports go down only", "layers")
    layers = [layer.strip(" ()") for row in rows for layer in row.replace(":", "|").split("|")]
    assert [module for module in node_modules() if not within(module, layers)] == []


def test_every_module_below_the_faces_is_held_to_be_pure() -> None:
    pure = contract_rows("The pure layers reach neither clock, entropy, disk nor network", "source_modules")
    assert [module for module in node_modules() if not within(module, [*pure, *SHELL])] == []
    assert set(pure) >= PURE_IN_SHELL


def test_the_modules_of_the_node_import_each_other_in_no_circle() -> None:
    # Imports inside functions and under TYPE_CHECKING count, too: all of them have to be read together.
    graph = grimp.build_graph("tinyssb_node", cache_dir=None)
    assert graph.modules >= set(node_modules())
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert circle(imports) is None


def test_a_circle_of_imports_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) is None
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": {"b"}}) in (("b", "c", "b"), ("c", "b", "c"))


def test_all_of_the_node_is_forbidden_to_spark_sink_but_the_parts_of_a_page_server() -> None:
    name = "Of the node, spark_sink imports the parts of a page's server and maps only, which import nothing else of it"
    modules = [module for module in node_modules() if not within(module, SHARED)]
    forbidden = contract_rows(name, "forbidden_modules")
    assert [module for module in modules if not within(module, forbidden)] == []
    assert [row for row in forbidden if not any(within(module, [row]) for module in modules)] == []
    assert [module for module in SHARED if within(module, forbidden)] == []


def test_spark_sink_loads_nothing_else_of_the_node() -> None:
    script = """
import sys
import spark_sink.page.server
print(*(name for name in sys.modules if name.startswith("tinyssb_node")))
"""
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split()) - {"tinyssb_node", "tinyssb_node.web"}
    assert loaded
    assert [name for name in loaded if not within(name, SHARED)] == []


def test_nothing_imports_by_name_at_run_time() -> None:
    # A module named in a string is one import-linter cannot see.
    hidden = [
        f"{module_name(path)}:{node.lineno}"
        for path in python_files(*PACKAGES)
        if module_name(path) != "tinyssb_node"  # the public names: a stub has their imports
        and not within(module_name(path), ("tinyssb_node.cli", "tinyssb_node.daemon.subjects"))
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.Name) and node.id == "__import__")
        or (isinstance(node, ast.Attribute) and node.attr == "import_module")
    ]
    assert hidden == []


def test_the_list_of_rooms_is_the_tree() -> None:
    page = (ROOT / "docs/ARCHITECTURE.md").read_text("utf-8")
    table = page.partition("This is the whole of `tinyssb_node`:")[2].partition("Beside them")[0]
    listed = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    folders = {path.relative_to(ROOT).parts[1] for path in python_files("tinyssb_node")}
    assert sorted(listed) == sorted(name for name in folders if not name.endswith(".py"))
    loose = {name.removesuffix(".py") for name in folders if name.endswith(".py")} - {"__init__"}
    assert [name for name in sorted(loose) if f"`{name}`" not in page.partition("Beside them")[2][:300]] == []
    layers = contract_rows("Imports go down only", "layers")
    assert len(layers) <= 11
    assert len(listed) + len(loose) <= 28
