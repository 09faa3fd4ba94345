"""Bluetooth Low Energy as tinySSB phones and boards use it: one packet per value, no CRC, no fragmentation."""
