"""Radios: modulation, law, chips, boards, drivers, Bluetooth, serial cables, and firmware for microcontrollers."""
