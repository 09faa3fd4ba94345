"""Without Bluetooth a daemon goes on with its other faces, and says what is missing."""

import asyncio
from pathlib import Path

import pytest
import structlog

from tests.faces.recording_sink import PATIENCE_S, RecordingSink
from tinyssb_node.daemon.face_manager import FaceManager

SPECS = ["ble:peripheral", "ble:central", "ws:listen:127.0.0.1:0?name=good"]


async def test_without_bluetooth_the_other_faces_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    said, told = dict[str, str](), asyncio.Event()

    def keep(_logger: object, _method: str, line: structlog.typing.EventDict) -> str:
        said[str(line["spec"])] = str(line["error"])
        if len(said) == 2:
            told.set()
        raise structlog.DropEvent

    links = FaceManager(SPECS, RecordingSink(), structlog.wrap_logger(None, processors=[keep]))
    running = asyncio.create_task(links.run())
    async with asyncio.timeout(PATIENCE_S):
        await told.wait()
    running.cancel()
    await asyncio.wait([running])
    for spec in SPECS[:2]:
        assert said[spec].startswith(
            f"The face '{spec}' cannot be opened: the system's message bus (D-Bus) cannot"
        )
        assert "sudo apt-get install dbus bluez" in said[spec]
    assert [row.problem for row in links.rows()] == [said["ble:peripheral"], said["ble:central"], None]
