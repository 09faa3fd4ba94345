"""Pin maps: one module for each known board, with a ``BOARD``. Its text names the source of each number.

Numbers are GPIO numbers as MicroPython counts them. These maps have not been tried on the boards themselves yet, unless
the module says so.
"""
