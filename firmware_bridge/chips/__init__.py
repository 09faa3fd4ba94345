"""Register drivers of LoRa chips, for CPython and MicroPython alike, without an operating system.

Therefore they use neither dataclasses nor enumerations, and reach bus and pins through an object (``port.ChipPort``).
"""
