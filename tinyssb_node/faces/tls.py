"""TLS for listeners and callers: contexts of Python's ``ssl``, certificates by authority or by fingerprint.

Imported only where TLS is configured. The contexts work with asyncio, with ``websockets`` and with plain sockets. How
to make a certificate is in docs/reference/faces.md.
"""

import hashlib
import hmac
import re
import ssl
from pathlib import Path

from tinyssb_node.faces.errors import CertificateError, SecretUnusableError
from tinyssb_node.faces.renewed import RenewedFiles
from tinyssb_node.faces.secretfiles import read_secret

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----", re.ASCII)


def server_context(certificate: Path, key: Path, *, clients: Path | None = None) -> ssl.SSLContext:
    """Return a listener's context: its *certificate* (PEM, those of the authorities between behind it) and the *key* to
    it (PEM, without a passphrase, its owner's alone). With *clients* only those may connect that have a certificate by
    one of the authorities in that file (PEM). Files that are renewed are used from the next handshake on.

    Raises CertificateError, SecretExposedError, SecretUnusableError.
    """

    def load() -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        _load_pair(context, certificate, key)
        if clients is not None:
            _load_authorities(context, clients)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    files = RenewedFiles((certificate, key, clients), load)
    first = files.current()

    def choose(connection: ssl.SSLObject, _name: str | None, _first: ssl.SSLContext) -> None:
        if (renewed := files.current()) is not first:
            connection.context = renewed

    first.sni_callback = choose
    return first


def client_context(
    *,
    authorities: Path | None = None,
    pin: bytes | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
) -> ssl.SSLContext:
    """Return a caller's context. The server's certificate is checked by the *authorities* in that file (PEM), or by the
    system's where none is named, and must be for the host that is called. With a *pin* (``fingerprint`` of the server's
    own certificate) it must be that one, which needs no authority and no name. *certificate* and *key* authenticate the
    caller.

    Raises CertificateError, SecretExposedError, SecretUnusableError.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if authorities is not None:
        _load_authorities(context, authorities)
    elif pin is None:
        context.load_default_certs()
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if pin is not None:
        _pin(context, pin)
    if certificate is not None and key is not None:
        _load_pair(context, certificate, key)
    return context


def fingerprint(certificate: Path) -> bytes:
    """SHA-256 of the first certificate in the file *certificate* (PEM), by which it is pinned: 32 bytes.

    Raises CertificateError.
    """
    try:
        with certificate.open("rb") as file:
            found = _CERTIFICATE.search(file.read(65_536))  # a chain of four has 8 kB
        if found is None:
            raise CertificateError(certificate, "there is none in it")
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(found[0].decode("ascii"))).digest()
    except (OSError, ValueError) as error:
        raise CertificateError(certificate, _reason(error)) from error


def _load_pair(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    try:
        read_secret(key, 0)
    except FileNotFoundError:
        raise SecretUnusableError(key, "is not there") from None

    def sealed() -> str:
        # The library would ask at the terminal, if there is one, and wait.
        raise SecretUnusableError(key, "is a key with a passphrase, which a daemon cannot ask for")

    try:
        context.load_cert_chain(certificate, key, password=sealed)
    except OSError as error:
        # ssl.SSLError is one. It never shows the key.
        raise CertificateError(certificate, f"with the key {key}: {_reason(error)}") from error


def _load_authorities(context: ssl.SSLContext, authorities: Path) -> None:
    try:
        context.load_verify_locations(cafile=authorities)
    except OSError as error:
        raise CertificateError(authorities, _reason(error)) from error


def _pin(context: ssl.SSLContext, pin: bytes) -> None:
    """Let handshakes fail unless the server has the certificate with this fingerprint: before any data is sent."""

    def check(certificate: bytes | None) -> None:
        found = hashlib.sha256(certificate or b"").digest()
        if not hmac.compare_digest(found, pin):
            raise ssl.SSLCertVerificationError(f"the server has another certificate, with pin={found.hex()}")

    class PinnedObject(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            check(self.getpeercert(binary_form=True))

    class PinnedSocket(ssl.SSLSocket):
        def do_handshake(self, block: bool = False) -> None:
            super().do_handshake(block)
            check(self.getpeercert(binary_form=True))

    context.sslobject_class = PinnedObject
    context.sslsocket_class = PinnedSocket


def _reason(error: Exception) -> str:
    """Return the system's message, without its internal numbers."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).replace("_", " ").lower()
    return getattr(error, "strerror", None) or str(error)
