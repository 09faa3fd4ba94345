"""The bridge firmware: a KISS modem on the USB port of a microcontroller with a LoRa chip (docs/formats/kiss.md).

MicroPython and CPython read the same files, and those of ``firmware_bridge.chips``. Only ``device`` needs real
hardware; ``bridge``, ``radio``, ``dutycycle`` and ``kiss`` need none, and ``wiring`` and ``program`` get it as an
argument.
"""
