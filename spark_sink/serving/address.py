"""Addresses of PostgreSQL databases: ``postgresql://user:password@host/database?schema=tinyssb``."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from spark_sink.errors import OptionError

_SCHEMES: Final = ("postgresql://", "postgres://")
_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_HIDDEN: Final = "***"


@dataclass(frozen=True, slots=True)
class Address:
    """A database, and the schema in it that is ours."""

    url: str
    """The URL for libpq; it may hold a password."""
    schema: str
    shown: str
    """For messages: no password, no options."""
    secrets: tuple[str, ...]
    """Texts that no message may contain."""

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    def without_secrets(self, text: str) -> str:
        """*text* on one line, without what must not be shown."""
        for secret in self.secrets:
            text = text.replace(secret, _HIDDEN)
        return "; ".join(line.strip() for line in text.splitlines() if line.strip())


def is_address(name: str) -> bool:
    """Return whether a database's name is a URL; else it is a path."""
    return name.startswith(_SCHEMES)


def shown(name: str) -> str:
    """Return the name of a database for messages, without its password. Raises OptionError."""
    return parse_address(name).shown if is_address(name) else name


def parse_address(name: str) -> Address:
    """Take a URL apart. Raises OptionError."""
    try:
        parts = urlsplit(name)
        secrets = [parts.password] if parts.password else []
    except ValueError as error:
        raise OptionError("--db", f"{name.partition(':')[0]}://…", "a URL of PostgreSQL") from error
    options = [option for option in parts.query.split("&") if option]
    schemas = [option for option in options if option.startswith("schema=")]
    schema = unquote(schemas[-1].partition("=")[2]) if schemas else "tinyssb"
    if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
        allowed = "small letters, digits and _, at most 63, and not begin with a digit or pg_"
        raise OptionError("the schema in --db", schema, allowed)
    kept = "&".join(option for option in options if option not in schemas)
    secrets += [option.partition("=")[2] for option in options if option.startswith("password=")]
    url = f"{parts.scheme}://{parts.netloc}{parts.path}{f'?{kept}' if kept else ''}"
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}?schema={schema}"
    # As it is written in the URL, and as it is meant.
    hidden = {form for secret in secrets if secret for form in (secret, unquote(secret))}
    return Address(url, schema, shown, tuple(sorted(hidden, key=len, reverse=True)))
