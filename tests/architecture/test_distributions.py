"""Two distributions come from this tree: a node without Spark, and the sink."""

import re
import subprocess
import tomllib
from itertools import chain
from typing import Any

import pytest

from tests.architecture.sources import ROOT, pyproject

SINK: dict[str, Any] = tomllib.loads((ROOT / "spark_sink/pyproject.toml").read_text("utf-8"))
SCRIPTS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("hw/*/*.sh"))


def test_the_wheel_of_the_node_has_neither_spark_nor_the_sink() -> None:
    node = pyproject()
    assert node["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [
        "tinyssb_node",
        "firmware_bridge",
    ]
    extras = {name: rows for name, rows in node["project"]["optional-dependencies"].items() if name != "dev"}
    libraries = " ".join(chain(node["project"]["dependencies"], *extras.values()))
    assert re.findall(r"pyspark|pyarrow|pandas|psycopg", libraries) == []
    assert node["project"]["scripts"].keys() == {"tinyssb"}
    assert SINK["project"]["scripts"] == {"tinyssb-sink": "spark_sink.cli:main"}


def test_both_are_built_alike() -> None:
    node = pyproject()
    assert node["build-system"] == SINK["build-system"]
    assert node["project"]["dynamic"] == ["version"]
    assert SINK["project"]["dynamic"] == ["version", "dependencies"]
    for project, folder in ((node, ROOT), (SINK, ROOT / "spark_sink")):
        hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
        assert (folder / hook["path"]).resolve() == ROOT / "hw/release/command_files.py"


def test_the_debian_package_names_extras_that_there_are() -> None:
    (row,) = re.findall(r"^EXTRAS=(.+)$", (ROOT / "hw/deb/build.sh").read_text("utf-8"), re.MULTILINE)
    assert set(row.split(",")) <= set(pyproject()["project"]["optional-dependencies"])


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_can_be_parsed(script: str) -> None:
    subprocess.run(["bash", "-n", script], cwd=ROOT, check=True)


def test_the_howto_names_the_suites_of_the_repository() -> None:
    script = (ROOT / "hw/release/build.sh").read_text("utf-8")
    (suites,) = re.findall(r"APT_SUITES:-([^}]+)}", script)
    page = (ROOT / "docs/howto/release.md").read_text("utf-8")
    assert [suite for suite in suites.split() if f"`{suite.partition('=')[0]}`" not in page] == []
