"""A gpsd at the level of its bytes: it greets, waits for ?WATCH, and sends the reports it was given."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Sequence

VERSION = {"class": "VERSION", "release": "3.25", "rev": "3.25", "proto_major": 3, "proto_minor": 15}
DEVICES = {
    "class": "DEVICES",
    "devices": [{"class": "DEVICE", "path": "/dev/ttyACM0", "activated": "2026-11-29T12:00:00Z"}],
}
WATCH = {"class": "WATCH", "enable": True, "json": True, "nmea": False, "raw": 0, "scaled": False}
SKY = {"class": "SKY", "device": "/dev/ttyACM0", "hdop": 0.9, "satellites": [{"PRN": 5, "used": True}]}
NO_FIX = {"class": "TPV", "device": "/dev/ttyACM0", "mode": 1}
FIX = {
    "class": "TPV", "device": "/dev/ttyACM0", "mode": 3, "time": "2026-11-29T12:00:01.000Z",
    "lat": 47.3769, "lon": 8.5417, "altHAE": 455.6, "altMSL": 408.2, "alt": 408.2,
    "epx": 3.1, "epy": 4.2, "epv": 9.9, "track": 90.4, "speed": 1.51, "eph": 11.9,
}  # fmt: skip
"""A report as gpsd 3.25 makes it."""


@contextlib.contextmanager
def gpsd(*reports: object, hold: bool = True) -> Iterator[tuple[str, int]]:
    """Serve *reports*, and yield the address; then wait for the client to go, unless *hold* is false."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_serve, args=(server, reports, hold), daemon=True)
        thread.start()
        yield server.getsockname()
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)
    assert not thread.is_alive()


def _serve(server: socket.socket, reports: Sequence[object], hold: bool) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = server.accept()
            with client, contextlib.suppress(OSError):
                client.sendall(_line(VERSION))
                asked = b""
                while not asked.endswith(b";\n"):
                    asked += client.recv(100)
                assert asked == b'?WATCH={"enable":true,"json":true};\n'
                sent = b"".join(map(_line, (DEVICES, WATCH, *reports)))
                client.sendall(sent[:700])  # lines are cut anywhere
                client.sendall(sent[700:])
                while hold and client.recv(100):
                    pass


def _line(report: object) -> bytes:
    return report if isinstance(report, bytes) else json.dumps(report).encode() + b"\r\n"
