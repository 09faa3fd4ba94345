"""The collector's side of a broker, a real one: what it makes of faults. How it lands logs from nodes that ship them is
tested in tests/shipping/test_over_a_broker.py."""

import errno
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Self

import pytest
from paho.mqtt import client as mqtt
from paho.mqtt import publish

from spark_sink import limits
from spark_sink.collect.landing import LandingFolder
from spark_sink.collect.messages import SegmentId
from spark_sink.collect.service import CollectorService, CollectorSettings
from spark_sink.errors import InternalError
from tests import certificates
from tests.mosquitto import Mosquitto, running_mosquitto
from tests.shipping.rig import PATIENCE_S, address, until
from tests.spark_sink.shipped import NODE, UP, batch

CONTENT = bytes(range(256)) * 8


def settings(root: Path, broker: str, ca: Path | None = None) -> CollectorSettings:
    return CollectorSettings(
        root=root, broker=broker, name="collector", user=None, password_file=None, ca_file=ca, cert_file=None,
        key_file=None, quota_mb=10, keep_free_mb=0,
    )  # fmt: skip


@contextmanager
def collecting(told: CollectorSettings, tell: Callable[[str], None]) -> Iterator[None]:
    """A collector in a thread, which ends in good order."""
    service = CollectorService(told, tell)
    faults: list[BaseException] = []

    def run() -> None:
        try:
            service.run()
        except BaseException as fault:  # noqa: BLE001 - whatever it is, the test gets it
            faults.append(fault)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        service.stop()
        thread.join(PATIENCE_S)
    assert not thread.is_alive()
    if faults:
        raise faults[0]


def ship(broker: Mosquitto, boots: range) -> None:
    """A segment for each boot."""
    messages = [
        {"topic": UP, "payload": batch(CONTENT, 0, 2_048, segment=SegmentId(boot, 0)), "qos": 1}
        for boot in boots
    ]
    publish.multiple(messages, broker.host, broker.port)  # type: ignore[arg-type]  # paho's type lacks plain dicts


def has_sent(broker: Mosquitto, messages: int) -> bool:
    """Return True if the broker sent the collector so many messages."""
    return broker.log.read_text().count("Sending PUBLISH to collector") >= messages


def landed(root: Path) -> int:
    return len(list((root / NODE).glob("*.jsonl")))


@pytest.mark.mosquitto
def test_who_cannot_tell_collects_all_the_same(tmp_path: Path) -> None:
    """Also when the broker comes again: telling of that must not end what speaks with it."""
    failed: list[str] = []

    def tell(line: str) -> None:
        failed.append(line)
        raise OSError(errno.ENOSPC, "No space left on device")

    with running_mosquitto(tmp_path) as broker:
        with collecting(settings(tmp_path / "logs", address(broker)), tell):
            until(lambda: failed, "that it has connected")
            broker.stop()
            until(lambda: "cannot be reached" in failed[-1], "that it has lost the broker")
            broker.start()
            until(lambda: failed[-1] == failed[0], "that it is there again")
            ship(broker, range(1, 4))
            until(lambda: landed(tmp_path / "logs") == 3, "what was shipped")
        assert failed[-1] == f"Collected: 6144 bytes, 3 new, {len(failed) - 1} not reported in time"


@pytest.mark.mosquitto
def test_however_often_it_reconnects_while_the_disk_is_busy_all_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker sends what was not acknowledged again by each connection, and nothing beyond that."""
    busy = threading.Event()
    sync = LandingFolder.sync

    def stalled(files: LandingFolder) -> None:
        assert busy.wait(PATIENCE_S)
        sync(files)

    monkeypatch.setattr(LandingFolder, "sync", stalled)
    told: list[str] = []
    with (
        running_mosquitto(tmp_path) as broker,
        collecting(settings(tmp_path / "logs", address(broker)), told.append),
    ):
        until(lambda: told, "that it has connected")
        ship(broker, range(limits.COLLECT_BATCHES + 8))
        for connection in range(1, 5):
            if connection > 1:
                broker.stop()
                broker.start()
            sent = connection * limits.COLLECT_BATCHES
            until(partial(has_sent, broker, sent), "all that it may send")
        busy.set()
        until(lambda: landed(tmp_path / "logs") == limits.COLLECT_BATCHES + 8, "the rest")
    assert "dropped" not in told[-1]


def test_it_ends_when_what_speaks_with_the_broker_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reconnect(_: mqtt.Client) -> None:
        raise ValueError("a fault of paho's")

    monkeypatch.setattr(mqtt.Client, "reconnect", reconnect)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    service = CollectorService(settings(tmp_path / "logs", "mqtt://127.0.0.1:1"), print)
    patience = threading.Timer(PATIENCE_S, service.stop)
    patience.start()
    with pytest.raises(InternalError, match="a fault of paho's"):
        service.run()
    patience.cancel()


def reason(tmp_path: Path, broker: str, ca: Path | None = None) -> str:
    """Why the collector says that there is no connection."""
    told: list[str] = []
    with collecting(settings(tmp_path / "logs", broker, ca), told.append):
        until(lambda: told, "what is wrong")
    found = re.fullmatch(f"The broker {broker} cannot be reached \\((.*)\\): trying again", told[0])
    assert found is not None, told
    return found[1]


@pytest.mark.mosquitto
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # paho's, after a handshake that failed
def test_it_says_what_is_wrong_with_a_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Mosquitto(tmp_path, tls=True)
    where = f"mqtts://{broker.host}:{broker.port}"
    authority = broker.authority
    assert authority is not None

    def with_the_certificate(ca: Path) -> str:
        broker.start()
        try:
            return reason(tmp_path, where, ca)
        finally:
            broker.kill()

    (tmp_path / "other").mkdir()
    assert "not trusted: self-signed certificate in certificate chain" in with_the_certificate(
        certificates.Authority(tmp_path / "other", "another").certificate
    )
    authority.issue("broker", "10.0.0.1")
    assert (
        "not trusted: IP address mismatch, certificate is not valid for '127.0.0.1'"
        in with_the_certificate(authority.certificate)
    )
    with monkeypatch.context() as patch:
        patch.setattr(certificates, "datetime", LastWeek)
        authority.issue("broker")
    assert (
        with_the_certificate(authority.certificate)
        == "its certificate is not trusted: certificate has expired"
    )


class LastWeek(datetime):
    """The time a week ago, by which certificates are made that have expired."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) - timedelta(days=7)


@pytest.mark.mosquitto
def test_it_says_what_else_is_wrong(tmp_path: Path) -> None:
    with running_mosquitto(tmp_path, tls=True, client_certificates=True) as broker:
        assert broker.authority is not None
        ca = broker.authority.certificate
        where = f"mqtts://{broker.host}:{broker.port}"
        assert "certificate required" in reason(tmp_path, where, ca)
        assert "connection" in reason(tmp_path, address(broker)).lower()


@pytest.mark.mosquitto
def test_a_reason_is_told_again_when_it_is_another(tmp_path: Path) -> None:
    """As when the broker comes again with a certificate that has expired."""
    told: list[str] = []
    with (
        running_mosquitto(tmp_path) as broker,
        collecting(settings(tmp_path / "logs", address(broker)), told.append),
    ):
        until(lambda: told, "that it has connected")
        broker.stop()
        until(lambda: "Connection refused" in told[-1], "why it cannot connect again")
    assert len(told) == 3
