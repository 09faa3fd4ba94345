"""The broker of the tests is what it says: it keeps out who must not come in, and comes back as it went."""

import ssl
from pathlib import Path

import aiomqtt
import pytest

from tests.mosquitto import Mosquitto, running_mosquitto

pytestmark = pytest.mark.mosquitto


def client(broker: Mosquitto, **given) -> aiomqtt.Client:
    return aiomqtt.Client(broker.host, broker.port, **{"timeout": 5, **given})


async def test_it_takes_those_with_the_password_only(tmp_path: Path) -> None:
    with running_mosquitto(tmp_path, users={"ana": "open sesame"}) as broker:
        async with client(broker, username="ana", password="open sesame"):
            pass
        with pytest.raises(aiomqtt.MqttCodeError):
            async with client(broker, username="ana", password="sesame"):
                pass
        with pytest.raises(aiomqtt.MqttCodeError):
            async with client(broker):
                pass


async def test_it_speaks_tls_with_those_it_has_certificates_of(tmp_path: Path) -> None:
    with running_mosquitto(tmp_path, tls=True, client_certificates=True) as broker:
        assert broker.authority is not None
        pair = broker.authority.issue("ana")
        trusting = ssl.create_default_context(cafile=str(broker.authority.certificate))
        with pytest.raises(aiomqtt.MqttError):
            async with client(broker, tls_context=trusting, timeout=1):
                pass
        known = ssl.create_default_context(cafile=str(broker.authority.certificate))
        known.load_cert_chain(pair.certificate, pair.key)
        async with client(broker, tls_context=known):
            pass


async def test_a_session_outlives_a_restart(tmp_path: Path) -> None:
    with running_mosquitto(tmp_path) as broker:
        async with client(broker, identifier="ana", clean_session=False) as ana:
            await ana.subscribe("news", qos=1)
        async with client(broker) as bo:
            await bo.publish("news", b"while you were away", qos=1)
        broker.stop()
        broker.start()
        async with client(broker, identifier="ana", clean_session=False) as ana:
            message = await anext(ana.messages)
        assert message.payload == b"while you were away"
