"""LoRa chips that are not there: they behave as their data sheets say, on an ether that they share.

A driver meets them behind the very bus and lines that it uses for real ones (``drivers.hardware``). Nothing here is
needed to run a radio.
"""
