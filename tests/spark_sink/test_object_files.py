"""Logs in an object store: the same listing and the same bytes as from a folder."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.fs
import pytest

from spark_sink import limits, log_files
from spark_sink.errors import NoLogsFolderError
from spark_sink.log_files import LocalLogFiles, ObjectStoreLogFiles
from spark_sink.settings import Settings
from tests.spark_sink import contents, engines
from tests.spark_sink.logs import NodeLog, mesh, node_name
from tests.spark_sink.memory_files import MemoryFiles
from tests.spark_sink.partials import oracle
from tests.spark_sink.test_planner import Reader


def local(logs: Path) -> ObjectStoreLogFiles:
    return ObjectStoreLogFiles(pa.fs.LocalFileSystem(), str(logs), "")


@pytest.mark.parametrize("below", ["", "events", "home/ana/.tinyssb/events", "networks/village/events"])
def test_the_listing_is_that_of_folders(logs: Path, below: str) -> None:
    log = NodeLog(logs / below, node_name(1))
    log.raw(b"0123456789")
    (log.path.parent / "notes.txt").write_text("no segment")
    (logs / log.path.name).write_text("in no node's folder")
    assert local(logs).listing() == LocalLogFiles(str(logs)).listing()
    assert local(log.path.parent).listing() == LocalLogFiles(str(log.path.parent)).listing()
    assert local(logs).read(str(log.path), 2, 5) == b"234"
    assert local(logs).read(str(log.path), 8, 50) == b"89"
    assert local(logs).read(str(log.path), 20, 50) == b""


def test_what_is_not_there_is_said(logs: Path) -> None:
    with pytest.raises(NoLogsFolderError):
        local(logs / "nowhere").listing()
    with pytest.raises(FileNotFoundError):
        local(logs).read(str(logs / "nowhere"), 0, 1)


def test_a_listing_is_used_for_a_while(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = NodeLog(logs, node_name(1))
    files = local(logs)
    before = files.listing()
    log.raw(b"x")
    assert files.listing() is before
    monkeypatch.setattr(limits, "LISTING_AGE_S", 0.0)
    monkeypatch.setattr(limits, "LISTING_SHARE", 0)
    again = local(logs)
    first = again.listing()
    assert again.listing()[log.node] is first[log.node]
    log.raw(b"x")
    assert again.listing()[log.node][0].size == 2


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a store that speaks S3, with a bucket named "logs"."""
    server = pytest.importorskip("moto.server", reason="needs moto[server]")
    for name, value in {"ACCESS_KEY_ID": "k", "SECRET_ACCESS_KEY": "s", "REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    try:
        host, port = running.get_host_and_port()
        # What is stored outlives its server, in this process.
        urllib.request.urlopen(f"http://{host}:{port}/moto-api/reset", data=b"").close()
        yield f"http://{host}:{port}"
    finally:
        running.stop()


def upload(endpoint: str, logs: Path) -> None:
    target = pa.fs.S3FileSystem(
        endpoint_override=endpoint.removeprefix("http://"), scheme="http", allow_bucket_creation=True
    )
    target.create_dir("logs")
    for path in logs.rglob("*.jsonl"):
        with target.open_output_stream(f"logs/mesh/{path.relative_to(logs)}") as file:
            file.write(path.read_bytes())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_store_is_read_as_folders_are(store: str, logs: Path) -> None:
    written = mesh(logs, nodes=2, posts=4)
    upload(store, logs)
    files = log_files.open_files("s3://logs/mesh", store)
    reader = Reader(MemoryFiles())
    reader.files = files  # type: ignore[assignment] # a fake store
    reader.restart()
    reader.all()
    rows = sorted((row["node"], row["boot"], row["offset"]) for row in reader.rows)
    assert rows == sorted((r["node"], r["boot"], r["offset"]) for log in written for r in log.records)
    with pytest.raises(FileNotFoundError):
        files.read("s3://logs/mesh/none", 0, 1)
    with pytest.raises(NoLogsFolderError, match="s3://logs/none"):
        log_files.connect("s3://logs/none", store).listing()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tables_are_filled_from_a_store_without_spark(
    store: str, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SMALL_BATCH", 3_000)
    written = mesh(logs, nodes=2, posts=8)
    upload(store, logs)
    database = str(logs.parent / "db")
    engines.read_locally(Settings(logs="s3://logs/mesh", endpoint=store, database=database))
    facts, _ = contents.read(database)
    assert facts == oracle.facts([record for log in written for record in log.records])
