"""One module for each board that is known, with a ``BOARD``. Its text says where each number is written.

Numbers are GPIO numbers as MicroPython counts them. Nobody has tried these maps on the boards themselves yet unless
the module says so.
"""
