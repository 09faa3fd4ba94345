"""Where logs lie decides what reads them."""

from pathlib import Path

from spark_sink.folders import Folders
from spark_sink.object_files import ObjectFiles
from spark_sink.places import open_files


def test_addresses_are_told_from_folders(tmp_path: Path) -> None:
    assert isinstance(open_files(str(tmp_path)), Folders)
    assert isinstance(open_files("s3://logs/mesh", "http://127.0.0.1:9"), ObjectFiles)
