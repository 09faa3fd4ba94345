"""HTTPS without the internet: an authority of this node's own, and a certificate of it for the page's addresses.

A phone that trusts the authority trusts it for addresses of local networks alone: its certificate says so (name
constraints, RFC 5280, 4.2.1.10). So its key, if it is stolen, makes no certificate for a bank.
"""

import hashlib
import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tinyssb_node.errors import ExitCode
from tinyssb_node.faces.errors import SecretUnusableError
from tinyssb_node.faces.secretfiles import read_secret
from tinyssb_node.web.errors import PageStartError

AUTHORITY_AGE: Final = timedelta(days=3_650)
PAGE_AGE: Final = timedelta(days=397)
"""Lifetime of the page's certificate: browsers of Apple refuse longer ones."""
RENEWED_BEFORE: Final = timedelta(days=90)
"""A certificate that ends sooner is renewed at the next start."""
_DAY: Final = timedelta(days=1)
_YEAR_MIN: Final = 2_026
"""A clock that shows an earlier year was not set: certificates made by it would end before they are used."""
_KEY_SIZE_MAX: Final = 4_096
NETWORKS: Final[tuple[IPv4Network | IPv6Network, ...]] = tuple(
    map(
        ip_network,
        (
            "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "127.0.0.0/8",
            "fc00::/7", "fe80::/10", "::1/128",
        ),
    )
)  # fmt: skip
"""Addresses for which the authority may sign: those that nobody has on the internet."""
DOMAINS: Final = ("local", "localhost")
"""Names for which it may sign: multicast DNS (RFC 6762), and the machine itself."""


@dataclass(frozen=True, slots=True)
class PageCertificate:
    """Files of a page that is served over TLS."""

    certificate: Path
    key: Path
    authority: bytes
    """Certificate of the authority, DER: what a phone installs."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the authority's certificate, in digits that a person compares."""
        digits = hashlib.sha256(self.authority).hexdigest().upper()
        return " ".join(digits[at : at + 4] for at in range(0, len(digits), 4))


def page_certificate(folder: Path, addresses: Iterable[str], now: datetime) -> PageCertificate:
    """Return the certificate for a page at *addresses*, with all names of this machine; made or renewed if needed.

    Raises PageStartError, SecretExposedError.
    """
    if now.year < _YEAR_MIN:
        raise PageStartError(
            f"The clock of this machine shows the year {now.year}, so no certificate can be made. Nothing was served.",
            "Set the clock, such as with: sudo date -s '2026-11-30 12:00'",
            exit_code=ExitCode.UNAVAILABLE,
        )
    try:
        return _page_certificate(folder, _names(addresses), now)
    except (SecretUnusableError, ValueError, OSError) as error:
        raise PageStartError(
            f"The page's certificates in {folder} cannot be used: {error}. Nothing was served.",
            f"Make new ones with: rm {folder}/web-ca.* {folder}/web-page.*; phones have to install the new authority.",
            exit_code=ExitCode.CONFIG,
        ) from error


def _page_certificate(folder: Path, names: list[x509.GeneralName], now: datetime) -> PageCertificate:
    authority_file, authority_key = folder / "web-ca.pem", folder / "web-ca.key"
    if not (authority_file.exists() and authority_key.exists()):
        key = ec.generate_private_key(ec.SECP256R1())
        _write_key(authority_key, key)
        authority_file.write_bytes(_pem(_sign_authority(key, now)))
    authority = x509.load_pem_x509_certificate(authority_file.read_bytes())
    file, key_file = folder / "web-page.pem", folder / "web-page.key"
    if not _is_current(file, key_file, authority, names, now):
        page_key = ec.generate_private_key(ec.SECP256R1())
        signed = _sign_page(authority, _read_key(authority_key), page_key.public_key(), names, now)
        _write_key(key_file, page_key)
        file.write_bytes(_pem(signed) + _pem(authority))
    _read_key(key_file)
    return PageCertificate(file, key_file, authority.public_bytes(serialization.Encoding.DER))


def _names(addresses: Iterable[str]) -> list[x509.GeneralName]:
    """Return the names that the authority may certify: of this machine in its networks."""
    host = socket.gethostname().partition(".")[0].lower()
    found: dict[str, x509.GeneralName] = {}
    for name in ("localhost", f"{host}.local", *addresses, "127.0.0.1", "::1"):
        try:
            address = ip_address(name)
        except ValueError:
            if name.rpartition(".")[2] in DOMAINS:
                found[name] = x509.DNSName(name)
            continue
        if _is_local_network(address):
            found[name] = x509.IPAddress(address)
    return list(found.values())


def _is_local_network(address: IPv4Address | IPv6Address) -> bool:
    return any(address in network for network in NETWORKS)


def _is_current(
    file: Path, key_file: Path, authority: x509.Certificate, names: list[x509.GeneralName], now: datetime
) -> bool:
    if not (file.exists() and key_file.exists()):
        return False
    found = x509.load_pem_x509_certificate(file.read_bytes())
    try:
        found.verify_directly_issued_by(authority)
    except InvalidSignature:
        return False
    certified = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return set(names) <= set(certified) and found.not_valid_after_utc - now > RENEWED_BEFORE


def _sign_authority(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name = x509.Name(
        [
            x509.NameAttribute(
                NameOID.COMMON_NAME, f"tinySSB node {socket.gethostname().partition('.')[0][:40]}"
            )
        ]
    )
    permitted: list[x509.GeneralName] = [
        *map(x509.DNSName, DOMAINS),
        *(x509.IPAddress(network) for network in NETWORKS),
    ]
    return (
        _builder(name, name, key.public_key(), now, AUTHORITY_AGE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.NameConstraints(permitted, None), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )


def _sign_page(
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    key: ec.EllipticCurvePublicKey,
    names: list[x509.GeneralName],
    now: datetime,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tinySSB page")])
    return (
        _builder(subject, authority.subject, key, now, PAGE_AGE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, age: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)  # clocks of phones and Pis differ
        .not_valid_after(now + age - _DAY)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(text)


def _read_key(file: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(read_secret(file, _KEY_SIZE_MAX), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise SecretUnusableError(file, "is a key of another kind")
    return key
