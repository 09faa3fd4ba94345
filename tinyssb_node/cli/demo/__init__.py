"""The demonstration: real daemons on a modelled channel, a Spark job on their logs, and a page, in one command."""
