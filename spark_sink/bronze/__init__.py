"""Bronze: the records of all logs as Parquet files that never change, each record once (docs/formats/bronze.md)."""
