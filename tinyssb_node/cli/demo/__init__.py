"""A demonstration in one command: real daemons on a modelled channel, a Spark job on their logs, and a page."""
