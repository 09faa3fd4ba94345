"""What runs on a microcontroller with a LoRa chip: a KISS modem on its USB port (docs/formats/kiss.md).

MicroPython and CPython read the same files, those of ``firmware_bridge.chips`` with them. ``device`` alone needs the
real thing; ``bridge``, ``radio``, ``account`` and ``kiss`` know of no machine at all, and ``wiring`` and ``program``
work on what they are given.
"""
