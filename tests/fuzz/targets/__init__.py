"""One target a module: ``run`` reads bytes, ``seeds`` are what to begin with."""
