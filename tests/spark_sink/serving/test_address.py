"""The URL of a PostgreSQL database."""

import pytest

from spark_sink.errors import OptionError
from spark_sink.serving.address import is_address, parse_address


def test_urls_and_paths_are_told_apart() -> None:
    assert is_address("postgresql://localhost/mesh")
    assert is_address("postgres:///mesh")
    assert not is_address("postgresql.sqlite")
    assert not is_address("/srv/mesh.sqlite")


@pytest.mark.parametrize(
    ("name", "url", "schema", "shown"),
    [
        ("postgresql://h/m", "postgresql://h/m", "tinyssb", "postgresql://h/m?schema=tinyssb"),
        (
            "postgresql://me:pw@h:5433/m?sslmode=require&schema=a_1",
            "postgresql://me:pw@h:5433/m?sslmode=require",
            "a_1",
            "postgresql://h:5433/m?schema=a_1",
        ),
        ("postgres:///m?host=%2Frun", "postgres:///m?host=%2Frun", "tinyssb", "postgres:///m?schema=tinyssb"),
    ],
)
def test_a_url_is_what_libpq_takes_and_a_schema(name: str, url: str, schema: str, shown: str) -> None:
    address = parse_address(name)
    assert (address.url, address.schema, address.shown) == (url, schema, shown)


@pytest.mark.parametrize("schema", ["", "A", "a b", 'a"', "1a", "a" * 64, "pg_x", "a;b", "ä"])
def test_only_plain_names_are_schemas(schema: str) -> None:
    with pytest.raises(OptionError, match="small letters"):
        parse_address(f"postgresql://h/m?schema={schema}")


def test_a_url_that_is_none_is_refused_without_showing_it() -> None:
    with pytest.raises(OptionError) as caught:
        parse_address("postgresql://me:secret@[h/m")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["postgresql://me:s%21crt@h/m", "postgresql://me@h/m?password=s%21crt&sslmode=prefer"]
)
def test_passwords_are_in_no_text(name: str) -> None:
    address = parse_address(name)
    assert "s!crt" not in repr(address) + address.shown
    assert address.without_secrets("no\n  'postgresql://me:s%21crt@h/m', s!crt \n") == (
        "no; 'postgresql://me:***@h/m', ***"
    )
