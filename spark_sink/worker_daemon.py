"""Daemon that forks Spark's Python workers, with everything a worker needs already imported.

Spark starts a process for each task that runs at a time. Importing Arrow and this package again in each of them
costs more than a small batch does.
"""

from pyspark import daemon

from spark_sink import derived_hours as _hours
from spark_sink import estimated_clocks as _clocks
from spark_sink import executors as _executors
from spark_sink import partial_tables as _tables
from spark_sink.bronze import stream as _bronze

WARM = (_hours, _clocks, _executors, _tables, _bronze)
"""Modules that stay imported."""

if __name__ == "__main__":
    daemon.manager()
