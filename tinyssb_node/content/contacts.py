"""The user's contacts: petnames, and blocked people. Format: ``docs/formats/contacts.md``.

It imports little, since every look at a conversation needs it.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tinyssb_node.content import limits
from tinyssb_node.errors import ExitCode, LocalError, phrase
from tinyssb_node.ids import FeedId
from tinyssb_node.store.durable import sync_folder

CONTACTS_VERSION: Final = 1
"""The format written, and the newest read."""
CONTACTS_FILE: Final = "contacts.json"
"""Its name in the home folder."""
_NEW_FILE: Final = ".contacts-new"
"""Name of a new file before it replaces the old one."""


@dataclass(frozen=True, slots=True)
class Contact:
    """The user's settings for a person."""

    name: str | None = None
    """The user's petname for this person."""
    blocked: bool | None = None
    """True: not shown, and not requested; False: shown in any case, whatever blocklists of others contain; None: the
    user did not decide."""
    list_followed: bool = False
    """Feeds on this person's blocklist are blocked here, too."""


NOBODY: Final = Contact()
"""A person without settings."""


class ContactsError(LocalError):
    """A malformed file of contacts, or a change that is not possible."""

    exit_code = ExitCode.DATA

    def __init__(self, path: Path, reason: str, advice: str) -> None:
        super().__init__(f"{path}: {reason}. The file was not changed. {advice}")


def parse_contacts(raw: bytes, path: Path) -> dict[FeedId, Contact]:
    """Parse a file's bytes; *path* is for the errors. Raises ContactsError."""
    try:
        return _read_file(json.loads(raw), path)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        advice = "Put a backup in its place, or remove it to begin with no names."
        raise ContactsError(path, f"not a file of contacts ({error!r:.100})", advice) from error


def _read_file(value: object, path: Path) -> dict[FeedId, Contact]:
    """Parse a decoded file. Raises ContactsError for a newer version; ValueError, TypeError and KeyError for a
    malformed one."""
    if not isinstance(value, dict) or type(value["v"]) is not int:
        raise TypeError("no version")
    if value["v"] > CONTACTS_VERSION:
        reason = phrase(f"it has format {value['v']}, this program knows up to {CONTACTS_VERSION}")
        raise ContactsError(path, reason, "Install the newer version of the program that wrote it.")
    return {FeedId.from_hex(person["feed"]): _read_contact(person) for person in value["people"]}


def _read_contact(person: Mapping[str, object]) -> Contact:
    name, blocked, followed = person.get("name"), person.get("blocked"), person.get("list", False)
    if (
        not isinstance(name, str | None)
        or not isinstance(blocked, bool | None)
        or not isinstance(followed, bool)
    ):
        raise TypeError("a name is text, blocked and list are true or false")
    return Contact(name, blocked, followed)


def serialize_contacts(contacts: Mapping[FeedId, Contact]) -> bytes:
    """Serialize contacts; those without settings are left out."""
    people = [
        {"feed": feed.hex()}
        | ({} if contact.name is None else {"name": contact.name})
        | ({} if contact.blocked is None else {"blocked": contact.blocked})
        | ({"list": True} if contact.list_followed else {})
        for feed, contact in sorted(contacts.items())
        if contact != NOBODY
    ]
    return json.dumps({"v": CONTACTS_VERSION, "people": people}).encode() + b"\n"


def read_contacts(home: Path) -> dict[FeedId, Contact]:
    """Return the contacts of the node in the folder *home*; none if there is no file. Raises ContactsError."""
    path = home / CONTACTS_FILE
    try:
        with path.open("rb") as file:
            raw = file.read(limits.CONTACTS_FILE_MAX + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ContactsError(
            path, f"it cannot be read: {error.strerror}", f"Check its permissions: ls -l {path}"
        ) from error
    if len(raw) > limits.CONTACTS_FILE_MAX:
        raise ContactsError(
            path,
            f"it has more than {limits.CONTACTS_FILE_MAX} bytes",
            "Put a backup in its place, or remove it to begin with no names.",
        )
    return parse_contacts(raw, path)


def set_petname(home: Path, feed: FeedId, name: str | None) -> None:
    """Set or remove the petname of *feed*. Durable on return. Raises ContactsError."""
    given = None if name is None else name.encode(errors="replace").decode().strip()
    if given is not None and not 1 <= len(given) <= limits.PETNAME_MAX:
        reason = phrase(f"a name has 1 to {limits.PETNAME_MAX} characters, this one {len(given)}")
        raise ContactsError(home / CONTACTS_FILE, reason, "Choose another name.")
    with _changing(home) as contacts:
        contacts[feed] = replace(contacts.get(feed, NOBODY), name=given)


def set_blocked(home: Path, feed: FeedId, *, blocked: bool) -> None:
    """Block or unblock *feed*. Durable on return. Raises ContactsError."""
    with _changing(home) as contacts:
        contacts[feed] = replace(contacts.get(feed, NOBODY), blocked=blocked)


def follow_list(home: Path, feed: FeedId, *, followed: bool) -> None:
    """Follow *feed*'s blocklist, or stop. Durable on return. Raises ContactsError."""
    with _changing(home) as contacts:
        contacts[feed] = replace(contacts.get(feed, NOBODY), list_followed=followed)
        if followed and sum(contact.list_followed for contact in contacts.values()) > limits.BLOCKLISTS_MAX:
            reason = phrase(f"{limits.BLOCKLISTS_MAX} blocklists are followed, the most there can be")
            raise ContactsError(home / CONTACTS_FILE, reason, "Unfollow one of them first.")


@contextmanager
def _changing(home: Path) -> Iterator[dict[FeedId, Contact]]:
    """Yield the contacts to be changed, under a lock, and write them afterwards. Raises ContactsError."""
    path = home / CONTACTS_FILE
    try:
        folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            contacts = read_contacts(home)
            before = serialize_contacts(contacts)
            yield contacts
            if len(contacts) > limits.CONTACTS_MAX:
                reason = phrase(f"there are {limits.CONTACTS_MAX} contacts, the most there can be")
                raise ContactsError(path, reason, "Remove a name or a block first.")
            if serialize_contacts(contacts) != before:
                _write(path, serialize_contacts(contacts))
        finally:
            os.close(folder)
    except OSError as error:
        raise ContactsError(path, f"it cannot be written: {error.strerror}", "Free some space.") from error


def _write(path: Path, raw: bytes) -> None:
    """Replace the file as a whole. On OSError the old one stays."""
    new = path.with_name(_NEW_FILE)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_folder(path.parent)
