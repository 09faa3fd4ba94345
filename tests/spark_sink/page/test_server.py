"""Starting to serve: address, token, certificate."""

import json
import shutil
import ssl
import subprocess
import urllib.request
from pathlib import Path

import pytest

from spark_sink.errors import (
    ConfigurationError,
    UnavailableError,
)
from spark_sink.page import access, limits, server
from tests import needs
from tests.spark_sink.page.asking import get
from tests.spark_sink.page.serve_story import serving


def never(_address: str) -> None:
    raise AssertionError("it was served")


def test_others_are_let_in_only_with_a_token_or_on_purpose(database: Path) -> None:
    with pytest.raises(ConfigurationError, match="--no-token"):
        server.serve(str(database), host="0.0.0.0", port=0, announce=never)


def test_a_taken_port_is_said_with_what_to_do(database: Path) -> None:
    with server.bind("127.0.0.1", 0) as listener, pytest.raises(UnavailableError, match="--port"):
        server.serve(str(database), host="127.0.0.1", port=listener.getsockname()[1], announce=never)


def test_the_address_to_type_is_one_of_this_machine() -> None:
    with server.bind("0.0.0.0", 0) as listener:
        port = listener.getsockname()[1]
        assert server.page_address(listener) == f"http://127.0.0.1:{port}/"
        assert server.page_address(listener, tls=True) == f"https://127.0.0.1:{port}/"


def test_a_token_out_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("0123456789abcdef\nanother line\n")
    assert access.read_token(path) == "0123456789abcdef"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"short\n", "has 5 characters"),
        (b"", "has 0 characters"),
        ("äöü0123456789abcdef".encode(), "is not plain text"),
        (b"0123456789 abcdef", "a header cannot carry"),
        (b"0123456789\x07abcdef", "a header cannot carry"),
    ],
)
def test_a_token_that_cannot_be_used_is_told_without_showing_it(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=reason) as caught:
        access.read_token(path)
    assert "0123456789" not in str(caught.value)


def test_a_token_out_of_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("0123456789abcdef-file")
    given = {access.TOKEN_VARIABLE: "0123456789abcdef-variable"}
    assert access.find_token(None, given) == "0123456789abcdef-variable"
    assert access.find_token(path, given) == "0123456789abcdef-file"
    assert access.find_token(None, {}) is None
    with pytest.raises(ConfigurationError, match=access.TOKEN_VARIABLE):
        access.find_token(None, {access.TOKEN_VARIABLE: "short"})


def test_a_token_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        access.read_token(tmp_path / "none")


def test_a_large_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(b"a" * 10_000)
    assert len(access.read_token(path)) == limits.TOKEN_SIZE_MAX


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> server.TlsFiles:
    if shutil.which("openssl") is None:
        pytest.skip(needs.reason("openssl", "openssl"))
    folder = tmp_path_factory.mktemp("tls")
    made = server.TlsFiles(folder / "cert.pem", folder / "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", made.key,
         "-out", made.certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return made


def test_the_page_over_tls(database: Path, tls: server.TlsFiles) -> None:
    trusted = ssl.create_default_context(cafile=str(tls.certificate))
    token = "0123456789abcdef"
    with serving(str(database), tls=tls, token=token) as address:
        asked = urllib.request.Request(f"{address}/api/job", headers={"authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, context=trusted, timeout=10) as answer:
            assert json.loads(answer.read())["state"] == "ready"
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusted), _Stay)
        with pytest.raises(urllib.error.HTTPError) as caught:
            opener.open(f"{address}/?token={token}", timeout=10)
        assert "Secure" in caught.value.headers["set-cookie"]
        caught.value.close()


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: object) -> None:
        """Follow none."""


def test_a_certificate_that_cannot_be_used(database: Path, tls: server.TlsFiles, tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("no certificate")
    for certificate, key in ((tmp_path / "bad.pem", tls.key), (tls.certificate, tmp_path / "none.pem")):
        with pytest.raises(ConfigurationError, match="PEM"):
            server.serve(
                str(database), host="127.0.0.1", port=0, announce=never, tls=server.TlsFiles(certificate, key)
            )


def test_without_tls_the_cookie_works_over_http(database: Path) -> None:
    with serving(str(database), token="0123456789abcdef") as address:
        assert "Secure" not in get(f"{address}/?token=0123456789abcdef")[1]["set-cookie"]
