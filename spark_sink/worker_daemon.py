"""Daemon that forks Spark's Python workers, with everything a worker needs already imported.

Spark starts a process for each task and each plan of a stream. Importing Arrow and this package again in each of them
costs more than a small batch does.
"""

from pyspark import daemon
from pyspark.sql.streaming import python_streaming_source_runner as _runner
from pyspark.sql.worker import plan_data_source_read as _planner

from spark_sink import derived_hours as _hours
from spark_sink import segment_reader as _blocks
from spark_sink import source as _source

WARM = (_runner, _planner, _hours, _blocks, _source)
"""Modules that stay imported."""

if __name__ == "__main__":
    daemon.manager()
