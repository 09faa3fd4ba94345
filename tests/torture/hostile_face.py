"""A face of a daemon that a hostile peer can reach: what has to run around it, and the attack."""

import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import ClassVar, Final

from tests.daemon.processes import PATIENCE_S, PROGRAM
from tests.torture.hostile_peer import Stage
from tests.torture.hostile_traffic import Traffic

HOST: Final = "127.0.0.1"


class HostileFace(ABC):
    """One kind of face. The object goes to the process of the hostile peer, too."""

    name: ClassVar[str]
    specs: Sequence[str] = ()
    """Faces of the daemon."""
    config: str = ""
    """Further lines of config.toml."""
    program: Sequence[str] = PROGRAM
    environ: Mapping[str, str] | None = None
    """Added to the daemon's environment."""
    tcp: tuple[str, int] | None = None
    """Where a companion process listens, once it is ready."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"

    def surroundings(self) -> AbstractContextManager[object]:
        """Run whatever the daemon needs, before it starts."""
        return nullcontext()

    def wait_until_open(self) -> None:
        """Return when the daemon can be attacked."""
        end_s = time.monotonic() + PATIENCE_S
        while self.tcp is not None:
            with suppress(OSError), socket.create_connection(self.tcp, timeout=1.0):
                return
            assert time.monotonic() < end_s, f"nothing listens at {self.tcp}"
            time.sleep(0.05)

    def traffic(self, stage: Stage, who: str = "") -> Traffic:
        """Return the packets of a peer."""
        return Traffic(self.home, f"{stage.seed} {self.name} {who}")

    @abstractmethod
    async def attack(self, stage: Stage) -> None:
        """Attack from the beginning to the end. Runs in a process of its own."""
