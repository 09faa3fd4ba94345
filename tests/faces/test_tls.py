"""Contexts for TLS over real sockets: who is let in, whom a caller trusts, and which files are not used."""

import asyncio
import contextlib
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.certificates import Authority, Pair
from tinyssb_node.faces.errors import CertificateError, SecretExposedError, SecretUnusableError
from tinyssb_node.faces.tls import client_context, fingerprint, server_context


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def hut(authority: Authority) -> Pair:
    return own(authority.issue("hut"))


def own(pair: Pair) -> Pair:
    """As a key should be kept."""
    pair.key.chmod(0o600)
    return pair


@asynccontextmanager
async def listener(context: ssl.SSLContext) -> AsyncIterator[int]:
    """Says "hut" to whoever comes in."""

    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hut\n")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def greeting(port: int, context: ssl.SSLContext, host: str = "127.0.0.1") -> bytes:
    """Return the bytes that the listener at *port*, called *host*, sends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=host)
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_a_certificate_is_trusted_by_its_authority_or_by_its_fingerprint(
    authority: Authority, hut: Pair
) -> None:
    async with listener(server_context(hut.certificate, hut.key)) as port:
        assert await greeting(port, client_context(authorities=authority.certificate)) == b"hut\n"
        pin = fingerprint(hut.certificate)
        assert await greeting(port, client_context(pin=pin)) == b"hut\n"
        assert await greeting(port, client_context(pin=pin, authorities=authority.certificate)) == b"hut\n"
        with pytest.raises(ssl.SSLCertVerificationError):
            await greeting(port, client_context())
        # Nobody made it for this name of the machine.
        with pytest.raises(ssl.SSLCertVerificationError):
            await greeting(port, client_context(authorities=authority.certificate), "valley.example")
        assert await greeting(port, client_context(pin=pin), "valley.example") == b"hut\n"


async def test_another_certificate_than_the_pinned_one_ends_the_handshake(
    authority: Authority, hut: Pair
) -> None:
    other = fingerprint(own(authority.issue("other")).certificate)
    async with listener(server_context(hut.certificate, hut.key)) as port:
        found = f"another certificate, with pin={fingerprint(hut.certificate).hex()}"
        with pytest.raises(ssl.SSLCertVerificationError, match=found):
            await greeting(port, client_context(pin=other))
        with pytest.raises(ssl.SSLCertVerificationError, match=found):
            await greeting(port, client_context(pin=other, authorities=authority.certificate))


async def test_sockets_that_block_are_pinned_too(authority: Authority, hut: Pair) -> None:
    other = fingerprint(own(authority.issue("other")).certificate)
    async with listener(server_context(hut.certificate, hut.key)) as port:

        def handshake(pin: bytes) -> str | None:
            with (
                socket.create_connection(("127.0.0.1", port)) as sock,
                client_context(pin=pin).wrap_socket(sock) as secured,
            ):
                return secured.version()

        assert await asyncio.to_thread(handshake, fingerprint(hut.certificate)) == "TLSv1.3"
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.to_thread(handshake, other)


async def test_who_has_no_certificate_by_our_authority_is_not_let_in(
    authority: Authority, hut: Pair, tmp_path: Path
) -> None:
    (tmp_path / "strangers").mkdir()
    stranger = own(Authority(tmp_path / "strangers", "others").issue("stranger"))
    friend = own(authority.issue("friend"))
    pin = fingerprint(hut.certificate)
    context = server_context(hut.certificate, hut.key, clients=authority.certificate)
    async with listener(context) as port:
        known = client_context(pin=pin, certificate=friend.certificate, key=friend.key)
        assert await greeting(port, known) == b"hut\n"
        unknown = client_context(pin=pin, certificate=stranger.certificate, key=stranger.key)
        for caller in (unknown, client_context(pin=pin)):
            # With TLS 1.3 a caller may learn of it only when it reads.
            with contextlib.suppress(OSError):
                assert await greeting(port, caller) == b""


def test_a_fingerprint_is_what_openssl_says(hut: Pair) -> None:
    said = subprocess.run(
        ["openssl", "x509", "-noout", "-fingerprint", "-sha256", "-in", hut.certificate],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert said.strip().partition("=")[2].replace(":", "").lower() == fingerprint(hut.certificate).hex()


def test_files_that_cannot_be_used_are_told(authority: Authority, hut: Pair, tmp_path: Path) -> None:
    nothing, missing = tmp_path / "nothing.pem", tmp_path / "missing.pem"
    nothing.write_bytes(b"-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n")
    nothing.chmod(0o600)
    other = own(authority.issue("other"))
    with pytest.raises(CertificateError, match="key values mismatch"):
        server_context(hut.certificate, other.key)
    with pytest.raises(CertificateError):
        server_context(nothing, hut.key)
    with pytest.raises(CertificateError):
        server_context(hut.certificate, nothing)
    with pytest.raises(CertificateError, match="No such file"):
        server_context(missing, hut.key)
    with pytest.raises(SecretUnusableError, match="is not there"):
        server_context(hut.certificate, missing)
    with pytest.raises(CertificateError):
        server_context(hut.certificate, hut.key, clients=nothing)
    with pytest.raises(CertificateError, match="No such file"):
        client_context(authorities=missing)
    with pytest.raises(CertificateError, match="there is none in it"):
        fingerprint(hut.key)
    with pytest.raises(CertificateError):
        fingerprint(nothing)
    with pytest.raises(CertificateError, match="No such file"):
        fingerprint(missing)


def test_a_key_that_others_can_read_or_that_needs_a_passphrase_is_not_used(hut: Pair, tmp_path: Path) -> None:
    hut.key.chmod(0o640)
    with pytest.raises(SecretExposedError):
        server_context(hut.certificate, hut.key)
    hut.key.chmod(0o600)
    sealed = tmp_path / "sealed.key"
    subprocess.run(
        ["openssl", "pkey", "-in", hut.key, "-aes256", "-passout", "pass:hush", "-out", sealed], check=True
    )
    sealed.chmod(0o600)
    with pytest.raises(SecretUnusableError, match="passphrase"):
        server_context(hut.certificate, sealed)


def test_the_documented_line_makes_a_certificate_of_ones_own(tmp_path: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650",
         "-subj", "/CN=hut", "-keyout", tmp_path / "tls.key", "-out", tmp_path / "tls.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    assert (tmp_path / "tls.key").stat().st_mode & 0o777 == 0o600
    server_context(tmp_path / "tls.pem", tmp_path / "tls.key")
    assert len(fingerprint(tmp_path / "tls.pem")) == 32


async def test_a_renewed_certificate_is_used_from_the_next_handshake_on(
    authority: Authority, hut: Pair
) -> None:
    async def seen(port: int) -> bytes:
        context = client_context(pin=fingerprint(hut.certificate))
        return await greeting(port, context)

    async with listener(server_context(hut.certificate, hut.key, clients=None)) as port:
        assert await seen(port) == b"hut\n"
        before = fingerprint(hut.certificate)
        own(authority.issue("hut"))  # in the same files
        assert fingerprint(hut.certificate) != before
        assert await seen(port) == b"hut\n"
        hut.key.write_text("half of it")
        for _ in range(2):  # what cannot be used changes nothing
            assert await seen(port) == b"hut\n"
        own(authority.issue("hut"))
        assert await seen(port) == b"hut\n"
        assert (
            await greeting(port, client_context(authorities=authority.certificate), "localhost") == b"hut\n"
        )


async def test_a_renewed_listener_still_asks_clients_for_certificates(
    authority: Authority, hut: Pair, tmp_path: Path
) -> None:
    phone = own(authority.issue("phone"))
    context = server_context(hut.certificate, hut.key, clients=authority.certificate)
    async with listener(context) as port:
        own(authority.issue("hut"))
        known = client_context(
            authorities=authority.certificate, certificate=phone.certificate, key=phone.key
        )
        assert await greeting(port, known) == b"hut\n"
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            assert await greeting(port, client_context(authorities=authority.certificate)) == b""
        (tmp_path / "other").mkdir()
        other = Authority(tmp_path / "other")
        authority.certificate.write_bytes(other.certificate.read_bytes())
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            assert await greeting(port, known) == b""
