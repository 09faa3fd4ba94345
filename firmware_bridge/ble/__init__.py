"""Bluetooth Low Energy as tinySSB phones and boards use it: one packet a value, no CRC, no fragments."""
