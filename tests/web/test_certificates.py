"""The page's authority and certificate: made once, renewed, limited to local networks."""

import hashlib
import ipaddress
import ssl
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509 import verification

from tests.web.fake import TOKEN, FakeNode, serving
from tinyssb_node.errors import ExitCode
from tinyssb_node.faces.errors import SecretExposedError
from tinyssb_node.web.certificates import PAGE_AGE, RENEWED_BEFORE, PageCertificate, page_certificate
from tinyssb_node.web.errors import PageStartError

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
HUT = ["192.168.4.1"]


def leaf(made: PageCertificate) -> x509.Certificate:
    return x509.load_pem_x509_certificates(made.certificate.read_bytes())[0]


def names(made: PageCertificate) -> set[str]:
    found = leaf(made).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(one.value) for one in found}


def verifies(made: PageCertificate, name: str, at: datetime) -> bool:
    store = verification.Store([x509.load_der_x509_certificate(made.authority)])
    try:
        subject: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        subject = x509.DNSName(name)
    verifier = verification.PolicyBuilder().store(store).time(at).build_server_verifier(subject)  # type: ignore[arg-type] # either kind
    try:
        verifier.verify(leaf(made), [])
    except verification.VerificationError:
        return False
    return True


def test_it_is_made_once_and_holds_for_this_machine_in_its_networks(tmp_path: Path) -> None:
    made = page_certificate(tmp_path, [*HUT, "hut.local", "8.8.8.8", "bank.example"], NOW)
    assert {"192.168.4.1", "hut.local", "localhost", "127.0.0.1", "::1"} <= names(made)
    assert {"8.8.8.8", "bank.example"}.isdisjoint(names(made))
    assert all(verifies(made, name, NOW) for name in ("192.168.4.1", "hut.local", "127.0.0.1"))
    assert not verifies(made, "192.168.4.2", NOW)
    assert page_certificate(tmp_path, HUT, NOW) == made
    assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("*.key")} == {0o600}
    digits = hashlib.sha256(made.authority).hexdigest().upper()
    assert made.fingerprint.replace(" ", "") == digits


def test_the_authority_signs_for_local_networks_alone(tmp_path: Path) -> None:
    """A thief of its key makes no certificate for a bank."""
    made = page_certificate(tmp_path, HUT, NOW)
    authority = x509.load_der_x509_certificate(made.authority)
    found = authority.extensions.get_extension_for_class(x509.NameConstraints)
    assert found.critical
    permitted = [str(one.value) for one in found.value.permitted_subtrees or ()]
    assert {"local", "localhost", "192.168.0.0/16"} <= set(permitted)
    assert not any(ipaddress.ip_network(one).is_global for one in permitted if one[0].isdigit())


def test_it_is_renewed_for_a_new_address_and_before_it_ends(tmp_path: Path) -> None:
    first = page_certificate(tmp_path, HUT, NOW)
    serial = leaf(first).serial_number
    page_certificate(tmp_path, [*HUT, "10.0.0.7"], NOW)
    second = leaf(first).serial_number
    assert second != serial
    late = NOW + PAGE_AGE - RENEWED_BEFORE
    renewed = page_certificate(tmp_path, HUT, late)
    assert leaf(renewed).serial_number != second
    assert renewed.authority == first.authority
    assert verifies(renewed, "192.168.4.1", late + timedelta(days=300))


def test_a_clock_that_was_not_set_makes_no_certificate(tmp_path: Path) -> None:
    with pytest.raises(PageStartError, match="shows the year 1970"):
        page_certificate(tmp_path, HUT, datetime(1970, 1, 1, tzinfo=UTC))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["web-ca.pem", "web-ca.key", "web-page.pem", "web-page.key"])
def test_files_that_cannot_be_used_are_named(tmp_path: Path, name: str) -> None:
    page_certificate(tmp_path, HUT, NOW)
    (tmp_path / name).write_text("nothing of the kind")
    with pytest.raises(PageStartError, match="cannot be used") as caught:
        page_certificate(tmp_path, [*HUT, "10.0.0.7"] if name == "web-ca.key" else HUT, NOW)
    assert caught.value.exit_code is ExitCode.CONFIG
    assert "phones have to install the new authority" in caught.value.hint


def test_a_key_that_others_may_read_is_not_used(tmp_path: Path) -> None:
    made = page_certificate(tmp_path, HUT, NOW)
    made.key.chmod(0o644)
    with pytest.raises(SecretExposedError, match="chmod 600"):
        page_certificate(tmp_path, HUT, NOW)


def test_the_page_is_served_over_tls_and_its_cookie_needs_it(tmp_path: Path) -> None:
    tls = page_certificate(tmp_path, HUT, datetime.now(UTC))
    with serving(FakeNode(), token=TOKEN, tls=tls) as address:
        assert address.startswith("https://")
        trusted = ssl.create_default_context(
            cadata=x509.load_der_x509_certificate(tls.authority)
            .public_bytes(serialization.Encoding.PEM)
            .decode()
        )
        login = urllib.request.Request(
            address + "/api/login",
            f'{{"token": "{TOKEN}"}}'.encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(login, context=trusted) as answer:
            assert "Secure" in answer.headers["set-cookie"]
        with urllib.request.urlopen(address + "/ca.crt", context=trusted) as answer:
            assert answer.headers["content-type"] == "application/x-x509-ca-cert"
            assert answer.read() == tls.authority
