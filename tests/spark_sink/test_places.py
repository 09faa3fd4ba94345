"""Where logs lie decides what reads them."""

from pathlib import Path

from spark_sink.log_files import LocalLogFiles, ObjectStoreLogFiles, open_files


def test_addresses_are_told_from_folders(tmp_path: Path) -> None:
    assert isinstance(open_files(str(tmp_path)), LocalLogFiles)
    assert isinstance(open_files("s3://logs/mesh", "http://127.0.0.1:9"), ObjectStoreLogFiles)
