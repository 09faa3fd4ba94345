"""Certificates of our own for tests of TLS: an authority, a server on this machine, and whoever connects to it."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and the key to it, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority; its files are in *folder*."""

    def __init__(self, folder: Path, name: str = "tests' authority") -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        signed = self._builder(self._name, self._key.public_key()).add_extension(constraints, critical=True)
        self.certificate = folder / "ca.pem"
        """The certificate that clients trust."""
        self.certificate.write_bytes(
            signed.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        )

    def issue(self, name: str, address: str = "127.0.0.1") -> Pair:
        """A certificate for *name*; as a server, at *address* and at ``localhost``."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        places = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(address))]
        signed = (
            self._builder(subject, key.public_key())
            .add_extension(x509.SubjectAlternativeName(places), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        pair = Pair(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        pair.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        pair.key.touch(mode=0o600)
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return pair

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )
