"""Register logic of LoRa chips: the same files run in CPython and MicroPython and know of no operating system.

So they use neither dataclasses nor enumerations, and take the pins and the bus they work on as an object
(``port.ChipPort``).
"""
