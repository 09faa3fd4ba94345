"""Where a node lives, and how it comes to be there."""

import stat
from contextlib import closing
from pathlib import Path

import pytest

from tinyssb_node.daemon.config import read_config
from tinyssb_node.daemon.setup import create_home, node_name, read_node_identity
from tinyssb_node.errors import (
    ConfigError,
    ExitCode,
    HomeInaccessibleError,
    IdentityExistsError,
    LocalError,
    ProblemError,
)
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.ids import Dialect
from tinyssb_node.store.home import Home
from tinyssb_node.store.sqlite import SqliteStore


def test_the_command_line_comes_before_the_environment_before_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/ana")
    assert Home.find("/x", {"TINYSSB_HOME": "/y"}).root == Path("/x")
    assert Home.find(None, {"TINYSSB_HOME": "~/y"}).root == Path("/home/ana/y")
    assert Home.find(None, {}).root == Path("/home/ana/.tinyssb")
    assert Home.find("here", {}).root.is_absolute()


def test_a_home_is_made_private_and_whole(tmp_path: Path) -> None:
    home = Home(tmp_path / "deep" / "home")
    feed = create_home(home, "ana", Dialect.DEPLOYED, ("ws:listen:127.0.0.1:0",))
    home.require()
    own = read_node_identity(home)
    assert (own.feed, own.dialect) == (feed, Dialect.DEPLOYED)
    assert read_config(home).faces == ("ws:listen:127.0.0.1:0",)
    for path in (home.root, home.identity, home.config):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    with closing(SqliteStore.open_readonly(home.store)) as store:
        assert store.feeds() == []
    assert node_name(feed) == feed.hex()[:16]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    home = Home(tmp_path)
    feed = create_home(home, "ana", Dialect.SPEC, ())
    with pytest.raises(IdentityExistsError):
        create_home(home, "ben", Dialect.SPEC, ())
    assert read_node_identity(home).feed == feed
    home.identity.unlink()
    with pytest.raises(ProblemError, match=r"config\.toml already exists") as caught:
        create_home(home, "ben", Dialect.SPEC, ())
    assert caught.value.exit_code is ExitCode.CREATE
    with pytest.raises(ProblemError, match=r"key of the node in .* is missing") as caught:
        home.require()
    assert caught.value.exit_code is ExitCode.MISSING


def test_a_folder_without_a_node_is_none(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="no node") as caught:
        Home(tmp_path).require()
    assert caught.value.exit_code is ExitCode.MISSING


def test_a_home_that_is_not_ours_to_look_into_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", refuse)
    with pytest.raises(HomeInaccessibleError, match="may not look into"):
        Home(tmp_path).require()


def test_settings_that_a_link_leads_to_are_kept(tmp_path: Path) -> None:
    """Those of the system's service are its administrator's."""
    settings = tmp_path / "etc.toml"
    settings.write_text('name = "roof"\nfaces = []\n')
    home = Home(tmp_path / "node")
    home.root.mkdir()
    home.config.symlink_to(settings)
    create_home(home, "ana", Dialect.SPEC, ())
    assert read_config(home).name == "roof"
    assert settings.read_text() == 'name = "roof"\nfaces = []\n'


@pytest.mark.parametrize(
    ("name", "faces", "error"), [("", (), ConfigError), ("ana", ("carrier:pigeon",), FaceSpecError)]
)
def test_what_could_not_run_is_not_made(
    tmp_path: Path, name: str, faces: tuple[str, ...], error: type[Exception]
) -> None:
    home = Home(tmp_path / "home")
    with pytest.raises(error):
        create_home(home, name, Dialect.SPEC, faces)
    assert not home.root.exists()


def test_what_the_system_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeInaccessibleError, match="cannot be used"):
        create_home(Home(tmp_path / "file" / "home"), "ana", Dialect.SPEC, ())


def test_an_exposed_identity_is_not_used(tmp_path: Path) -> None:
    home = Home(tmp_path)
    create_home(home, "ana", Dialect.SPEC, ())
    home.identity.chmod(0o644)
    with pytest.raises(LocalError, match="chmod 600") as caught:
        read_node_identity(home)
    assert caught.value.exit_code is ExitCode.PERMISSION
