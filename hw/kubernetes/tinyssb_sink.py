"""What `spark-submit` starts: it takes a file, not a command."""

import sys

from spark_sink.cli import main

if __name__ == "__main__":
    sys.exit(main())
