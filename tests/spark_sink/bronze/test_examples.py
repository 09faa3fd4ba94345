"""The examples of docs/formats/bronze.md, run as they stand."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs import pages
from tests.spark_sink.bronze.landing import Landing
from tests.spark_sink.logs import mesh

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("place", range(4))
def test_an_example_runs(
    spark: Any,
    logs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: int,
) -> None:
    code = re.findall(r"```python\n(.*?)```", pages.read("docs/formats/bronze.md"), re.DOTALL)
    assert len(code) == 4
    if "duckdb" in code[place]:
        pytest.importorskip("duckdb", reason="needs DuckDB: bash .ci/setup.sh dev")
    mesh(logs, nodes=3, posts=9)
    Landing(logs, logs.parent / "bronze").round()
    monkeypatch.chdir(logs.parent)
    bronze = str(logs.parent / "bronze")
    # Java does not change its folder.
    text = code[place] if "spark" not in code[place] else code[place].replace('"bronze"', repr(bronze))
    exec(compile(text, f"example {place}", "exec"), {"spark": spark})
    assert capsys.readouterr().out.strip()
