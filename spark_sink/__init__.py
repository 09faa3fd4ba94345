"""spark_sink."""
