"""The stage of the Raspberry Pi image: pi-gen finds its scripts, and they do what the page says."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.architecture.sources import ROOT

IMAGE = ROOT / "hw/image"
STAGE = IMAGE / "stage-tinyssb"
PACKAGE = "tinyssb-node_1.0+py3.13_arm64.deb"
OTHER_PACKAGES = ("tinyssb-node_1.0+py3.11_arm64.deb", "tinyssb-node_1.0+py3.13_amd64.deb")


def run_stage(tree: Path, config_txt: str) -> subprocess.CompletedProcess[str]:
    """Run the stage's script on a system below *tree*; what it types there is printed."""
    shutil.copytree(IMAGE, tree / "hw/image")
    for folder in ("dist", "rootfs/boot/firmware"):
        (tree / folder).mkdir(parents=True)
    for name in (PACKAGE, *OTHER_PACKAGES):
        (tree / "dist" / name).write_text(name)
    (tree / "rootfs/boot/firmware/config.txt").write_text(config_txt)
    chroot = 'on_chroot() { cat; cat "$ROOTFS_DIR"/*.deb; }; export -f on_chroot; ./00-run.sh'
    return subprocess.run(
        ["bash", "-c", chroot],
        cwd=tree / "hw/image/stage-tinyssb/00-node",
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "ROOTFS_DIR": str(tree / "rootfs")},
    )


def test_the_scripts_can_be_executed() -> None:
    """pi-gen passes over others, and ends as if all were well."""
    scripts = list(STAGE.rglob("*.sh"))
    assert len(scripts) == 2
    assert [path.name for path in scripts if not os.access(path, os.X_OK)] == []


def test_the_stage_installs_the_package_and_switches_spi_on(tmp_path: Path) -> None:
    ran = run_stage(tmp_path, "#dtparam=i2s=on\n#dtparam=spi=on\n")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"apt-get .*install -y /tinyssb-node\.deb\n", ran.stdout)
    assert ran.stdout.endswith(PACKAGE)
    assert list((tmp_path / "rootfs").glob("*.deb")) == []
    config = (tmp_path / "rootfs/boot/firmware/config.txt").read_text()
    assert config == "#dtparam=i2s=on\ndtparam=spi=on\n"


def test_a_base_without_the_line_for_spi_is_refused(tmp_path: Path) -> None:
    ran = run_stage(tmp_path, "dtparam=audio=on\n")
    assert ran.returncode == 1
    assert "config.txt" in ran.stderr


def test_the_package_is_for_the_python_of_the_release() -> None:
    (release,) = re.findall(r"^RELEASE=(\w+)$", (IMAGE / "config").read_text("utf-8"), re.MULTILINE)
    (python,) = re.findall(rf"\b{release}=([\d.]+)", (ROOT / "hw/release/build.sh").read_text("utf-8"))
    assert f"+py{python}_arm64.deb" in (STAGE / "00-node/00-run.sh").read_text("utf-8")
