"""From where logs are said to lie to what reads them."""

from spark_sink import object_files
from spark_sink.folders import Folders
from spark_sink.log_files import LogFiles


def open_files(path: str, endpoint: str = "") -> LogFiles:
    """The logs below a folder, or below ``s3://bucket/prefix`` of the store at *endpoint*. Looks at nothing yet."""
    if path.startswith(object_files.SCHEME):
        return object_files.connect(path, endpoint)
    return Folders(path)
