"""The compose file's commands and settings are those of the programs, and the forge's jobs run what is here."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from spark_sink.cli import build_parser as sink_parser
from tests.architecture.sources import ROOT
from tinyssb_node.cli.main import build_parser
from tinyssb_node.daemon.config import parse_config
from tinyssb_node.store.home import Home

CONTAINERS = ROOT / "hw/containers"
COMPOSE: dict[str, Any] = yaml.safe_load((CONTAINERS / "compose.yaml").read_text("utf-8"))
FORGE: dict[str, Any] = yaml.safe_load((ROOT / ".ci/gitlab.yml").read_text("utf-8"))


@pytest.mark.parametrize("service", ["collector", "job", "page"])
def test_the_analytics_are_started_by_commands_there_are(service: str) -> None:
    program, *words = COMPOSE["services"][service]["command"]
    assert program == "tinyssb-sink"
    sink_parser().parse_args(words)


def test_the_node_is_made_with_options_there_are() -> None:
    program, *options = COMPOSE["services"]["node"]["command"]
    assert f"/opt/tinyssb/bin/{program}\n" in (CONTAINERS / "Containerfile.node").read_text("utf-8")
    assert build_parser().parse_args(["init", *options]).face == ["ws:listen:0.0.0.0:8080?open=on"]


def test_the_settings_of_the_node_ship_its_log(tmp_path: Path) -> None:
    settings = tomllib.loads(COMPOSE["configs"]["ship"]["content"])
    assert parse_config(Home(tmp_path), settings)
    assert settings["ship"]["broker"].startswith("mqtt:broker:")


def test_images_have_extras_that_there_are() -> None:
    for distribution, file in (("node", "pyproject.toml"), ("sink", "spark_sink/pyproject.toml")):
        text = (CONTAINERS / f"Containerfile.{distribution}").read_text("utf-8")
        (extras,) = re.findall(r"\.whl\)\[([\w,]+)\]", text)
        declared = tomllib.loads((ROOT / file).read_text("utf-8"))["project"]["optional-dependencies"]
        assert set(extras.split(",")) <= set(declared)


def test_all_volumes_secrets_and_settings_are_declared() -> None:
    for service in COMPOSE["services"].values():
        assert {volume.partition(":")[0] for volume in service.get("volumes", [])} <= set(COMPOSE["volumes"])
        assert {config["source"] for config in service.get("configs", [])} <= set(COMPOSE["configs"])
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])


def test_the_forge_runs_files_and_targets_there_are() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    lines = [line for job in FORGE.values() if isinstance(job, dict) for line in job.get("script", [])]
    assert {name for line in lines for name in re.findall(r"make ([a-z-]+)", line)} <= targets
    files = {name for line in lines for name in re.findall(r"(?:bash|sh) ([\w./]+)", line)}
    assert files == {".ci/run", "hw/release/first_steps.sh"}
    assert all((ROOT / file).is_file() for file in files)
