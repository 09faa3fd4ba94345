"""Emulated LoRa chips, which behave as their data sheets say, on an emulated radio channel that they share.

A driver reaches them through the same bus and lines as real ones (``drivers.hardware``). No radio needs this package.
"""
