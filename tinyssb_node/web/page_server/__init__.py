"""The parts that every page's server needs, here and in ``spark_sink``. They import nothing else of this package."""
