"""The command line: quick, in sentences, with exit codes."""

import argparse
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.daemon.processes import PROGRAM, make_home, tinyssb
from tinyssb_node import version
from tinyssb_node.cli import commands
from tinyssb_node.cli.main import build_parser, main
from tinyssb_node.errors import ExitCode
from tinyssb_node.screens.options import CommandParsers

HEAVY = ("asyncio", "nacl", "msgspec", "websockets", "structlog", "sqlite3", "socket", "shtab")
"""Modules that `--help` does not need."""


def test_help_imports_nothing_it_does_not_need() -> None:
    code = (
        "import sys; from tinyssb_node.cli import main;"
        "main.build_parser(['--help']).format_help(); print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    ).stdout.split()
    assert [name for name in HEAVY if name in loaded] == []


@pytest.mark.realtime
def test_help_answers_at_once() -> None:
    taken_s = []
    for _ in range(5):
        process = subprocess.Popen([*PROGRAM, "--help"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        taken_s.append(usage.ru_utime + usage.ru_stime)
    # The quickest of five, and by what it took of a core: how long it takes, not how busy the machine is.
    assert min(taken_s) < 0.2


def test_every_command_has_help_that_names_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    parser = build_parser()
    (action,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    assert len(action.choices) >= 24
    for name in action.choices:
        with pytest.raises(SystemExit, match="0"):
            main([name, "--help"])
        assert f"tinyssb {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["dance"], "dance"),
        (["publish"], "TEXT"),
        (["publish", "a", "--file", "b"], "not allowed with"),
        (["show", "me", "0"], "'0' is not a whole number"),
        (["log", "me", "--limit", "-3"], "--limit"),
        (["ether", "--loss", "2"], "'2' is not a number from 0 to 1"),
        (["ether", "--port", "70000"], "'70000' is not a port"),
        (["completion", "tcsh"], "choose from bash, zsh, fish"),
        (["staus"], "Did you mean 'status'?"),
        (["group", "exlude"], "Did you mean 'exclude'?"),
    ],
)
def test_what_was_typed_wrong_ends_with_64_and_a_way_to_help(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == ExitCode.USAGE
    told = capsys.readouterr().err
    assert words in told
    assert "--help" in told


def test_the_quick_list_of_commands_is_the_whole_one() -> None:
    assert build_parser(["--help"]).format_help() == build_parser().format_help()


def test_each_command_is_where_the_table_says() -> None:
    for module, summaries in commands.MODULES.items():
        subparsers = argparse.ArgumentParser().add_subparsers()
        import_module(module).add(CommandParsers(subparsers, summaries))
        assert list(subparsers.choices) == list(summaries)
    here = {f"{commands.__name__}.{path.stem}" for path in Path(commands.__file__).parent.glob("[!_]*.py")}
    assert here <= set(commands.MODULES)


@pytest.mark.parametrize(
    ("arguments", "some"),
    [
        (["chat", "--last", "5"], True),
        (["--home", "chat", "search", "x"], True),
        (["--home=x", "id"], True),
        (["chta"], False),
        (["--help"], False),
        ([], False),
        (["--home"], False),
    ],
)
def test_what_is_typed_is_all_that_is_described(arguments: list[str], some: bool) -> None:
    (action,) = [
        one for one in build_parser(arguments)._actions if isinstance(one, argparse._SubParsersAction)
    ]
    assert (len(action.choices) < 24) == some


def test_home_may_stand_before_or_behind_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    feed = make_home(tmp_path / "a")
    for arguments in (["--home", str(tmp_path / "a"), "id"], ["id", "--home", str(tmp_path / "a")]):
        assert main(arguments) == 0
        assert capsys.readouterr().out == feed.hex() + "\n"


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    make_home(tmp_path / "a")
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [*PROGRAM, "--home", str(tmp_path / "a"), "id"]
    process = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert (process.returncode, process.stderr) == (0, b"")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert main(["completion", shell]) == 0
    assert "unfollow" in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_takes_its_script(capsys: pytest.CaptureFixture[str], shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"needs {shell}")
    main(["completion", shell])
    (tmp_path / "script").write_text(capsys.readouterr().out)
    subprocess.run([program, "-n", "script"], cwd=tmp_path, check=True)


def test_bash_completes_commands_and_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["completion", "bash"])
    (tmp_path / "script").write_text(capsys.readouterr().out)
    (tmp_path / "map.webp").touch()

    def completed(*words: str) -> list[str]:
        typed = (
            f"source ./script; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _shtab_tinyssb"
        )
        script = f'{typed}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        run = subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True, capture_output=True, text=True)
        return run.stdout.split()

    assert completed("tinyssb", "unf") == ["unfollow"]
    assert completed("tinyssb", "identity", "unse") == ["unseal"]
    assert completed("tinyssb", "attach", "ma") == ["map.webp"]
    assert completed("tinyssb", "verify", "--rep") == ["--repair"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"tinyssb {version()}\n"


@pytest.mark.parametrize(
    "command", [["status"], ["feeds"], ["publish", "x"], ["log", "me"], ["goset"], ["faces"]]
)
def test_without_a_daemon_it_says_how_to_start_one(tmp_path: Path, command: list[str]) -> None:
    make_home(tmp_path / "a")
    ended = tinyssb(tmp_path / "a", *command)
    assert ended.returncode == ExitCode.UNAVAILABLE
    assert "tinyssb run" in ended.stderr.decode()


@pytest.mark.parametrize(
    "words", [["x.json", "--format", "json"], ["--format", "json", "x.json"], ["--format=json", "x.json"]]
)
def test_a_file_may_stand_behind_options(words: list[str]) -> None:
    arguments = build_parser().parse_args(["thread", "export", "public", *words])
    assert (arguments.id, arguments.file, arguments.format) == ("public", "x.json", "json")


def test_a_file_may_be_left_out_before_options() -> None:
    arguments = build_parser().parse_args(["thread", "export", "public", "--format", "json"])
    assert (arguments.id, arguments.file, arguments.format) == ("public", "-", "json")


def test_a_word_too_many_is_refused_wherever_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        build_parser().parse_args(["thread", "export", "public", "a", "--format", "json", "b"])
    assert end.value.code == ExitCode.USAGE
    assert "b" in capsys.readouterr().err
