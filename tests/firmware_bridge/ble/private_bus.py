"""A D-Bus of one's own: dbus-daemon with a configuration made here, as the system's bus of this process."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
    {rules}
  </policy>
</busconfig>
"""


@contextmanager
def private_bus(folder: Path, rules: str = "") -> Iterator[str]:
    """Run a bus with its socket in *folder*; its address. *rules* are added to what is allowed."""
    configuration = folder / "bus.conf"
    configuration.write_text(CONFIGURATION.format(socket=folder / "bus", rules=rules))
    command = ["dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as daemon:
        try:
            assert daemon.stdout is not None
            address = daemon.stdout.readline().strip()
            assert address, "dbus-daemon did not start"
            yield address
        finally:
            daemon.terminate()
