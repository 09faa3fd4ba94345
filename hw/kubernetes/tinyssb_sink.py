"""The entry point for `spark-submit`, which needs a file instead of a command."""

import sys

from spark_sink.cli import main

if __name__ == "__main__":
    sys.exit(main())
