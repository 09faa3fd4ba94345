"""Shared parts of the PZP commands: the database, updated with messages carried in entries, and its names."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from firmware_bridge.libraries import install_command
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.screens import limits
from tinyssb_node.screens.passphrases import asker
from tinyssb_node.store.home import Home

if TYPE_CHECKING:
    from tinyssb_node.daemon.config import Config
    from tinyssb_node.pzp.database.database import PzpDatabase
    from tinyssb_node.pzp.database.entry_import import EntryImporter
    from tinyssb_node.pzp.database.port import PzpRecord, TangleSummary
    from tinyssb_node.pzp.messages.message import Message


class NoSuchMessageError(ProblemError):
    """Nothing here is named so."""

    exit_code = ExitCode.MISSING


class InvalidPzpInputError(ProblemError):
    """Error: typed input that is not valid for PZP."""

    exit_code = ExitCode.DATA


def require_libraries() -> None:
    """Raise ProblemError unless what PZP needs is installed."""
    for library in ("blake3", "rfc8785"):
        if find_spec(library) is None:
            raise ProblemError(
                f"PZP needs the library {library}, which is not installed. Nothing was done.",
                f"Install it with: {install_command('pzp')}",
                exit_code=ExitCode.UNAVAILABLE,
            )


def wall_us() -> int:
    """The time, as messages are dated by."""
    return time.time_ns() // 1_000


@dataclass(frozen=True, slots=True)
class PzpIdentity:
    """An identity that is here."""

    id: str
    version: int
    """Of its messages."""
    keys: Mapping[str, tuple[str, ...]]
    """The keys that may sign now, in base58, sorted, each with its powers."""
    removed: tuple[str, ...]
    """Keys that it had, sorted."""
    ours: bool
    """True if this node's key is one of those that may sign."""


@dataclass(frozen=True, slots=True)
class PzpSession:
    """A node's PZP messages."""

    home: Home
    config: Config
    database: PzpDatabase
    carried: dict[str, EntryImporter]
    """Messages that entries carried, by network."""
    own: FeedId
    """The node's key, which is its feed's id, too."""

    @property
    def own_key(self) -> str:
        """The node's key as PZP writes it."""
        from tinyssb_node.pzp.messages import base58

        return base58.encode(self.own)

    def unlock(self) -> SigningKey:
        """The node's secret key. Raises as ``unlock_identity`` does."""
        from tinyssb_node.daemon.setup import unlock_identity

        return SigningKey(unlock_identity(self.home, os.environ, asker()).seed)

    def record(self, text: str) -> PzpRecord:
        """The message that *text* names: an id, or a URI. Raises NoSuchMessageError."""
        record = self.database.record(_id_in(text))
        if record is None:
            raise NoSuchMessageError(
                f"There is no message {text[: limits.PZP_NAME_MAX]!a} here.",
                "Ids are case-sensitive and must be whole; `tinyssb pzp feed FEED` lists them.",
            )
        return record

    def root(self, text: str) -> str:
        """The tangle that *text* names: its id, the beginning of it, or a URI. Raises NoSuchMessageError,
        ProblemError."""
        begin = text.rsplit("/", 1)[-1]
        found = [one.root for one in self.database.tangles() if one.root.startswith(begin) and begin]
        if begin in found or len(found) == 1:
            return begin if begin in found else found[0]
        shown = text[: limits.PZP_NAME_MAX]
        if not found:
            raise NoSuchMessageError(
                f"There is no feed or group {shown!a} here.",
                "`tinyssb pzp feeds` and `tinyssb pzp identity show` list them.",
            )
        raise ProblemError(
            f"Several begin with {shown!a}: {', '.join(found[: limits.NAMES_TOLD_MAX])}.",
            "Type more characters.",
            exit_code=ExitCode.USAGE,
        )

    def groups(self) -> list[PzpIdentity]:
        """All identities that are here."""
        from tinyssb_node.pzp.messages.message import is_identity_kind, metadata_of
        from tinyssb_node.pzp.messages.versions import VERSIONS

        groups = []
        for summary in self.database.tangles():
            record = self.database.record(summary.root)
            # Looked at first: a feed may be large, and its tangle is read whole.
            if record is None or record.owner is not None:
                continue
            version = VERSIONS[record.version]
            if version.fields.tips is None or not is_identity_kind(
                version.fields, metadata_of(record.message())
            ):
                continue
            tangle = self.database.tangle(summary.root)
            if tangle.facts.identity:
                keys = self.keys(summary.root)
                removed = tuple(sorted(tangle.keys - keys.keys()))
                groups.append(PzpIdentity(summary.root, record.version, keys, removed, self.own_key in keys))
        return groups

    def keys(self, group: str) -> dict[str, tuple[str, ...]]:
        """The keys that may sign for a group now, each with its powers."""
        from tinyssb_node.pzp.messages.account import keys_after

        tangle = self.database.tangle(group)
        return {key: tuple(sorted(powers)) for key, powers in sorted(keys_after(tangle, tangle.tips).items())}

    def group(self, text: str | None) -> str:
        """The group that *text* names, or, without it, the only one in which the node's key is.

        Raises NoSuchMessageError, ProblemError.
        """
        if text is not None:
            return self.root(text)
        ours = [group.id for group in self.groups() if group.ours]
        if not ours:
            raise NoSuchMessageError(
                "This node's key is in no identity here.", "Make one: tinyssb pzp identity create"
            )
        if len(ours) > 1:
            raise ProblemError(
                f"This node's key is in several identities: {', '.join(ours[: limits.NAMES_TOLD_MAX])}.",
                "Choose one with --group.",
                exit_code=ExitCode.USAGE,
            )
        return ours[0]

    def last_messages(self, feed: str, count: int) -> tuple[list[tuple[int, PzpRecord]], set[str]]:
        """The last messages of a feed that are here, at most *count*, with their depths; and the ids of those that are
        revoked."""
        from tinyssb_node.pzp.database.revocations import Revocations

        revocations, tangle = Revocations(self.database), self.database.tangle(feed)
        found = [(tangle.depth(id_) or 0, self.database.record(id_)) for id_ in tangle.topological()[-count:]]
        records = [(depth, record) for depth, record in found if record is not None]
        return records, {record.id for _, record in records if revocations.is_revoked(record)}

    def feeds(self) -> list[tuple[TangleSummary, PzpRecord]]:
        """The feeds that are here, with their roots."""
        found = []
        for summary in self.database.tangles():
            record = self.database.record(summary.root)
            if record is not None and is_feed_root(record.message()):
                found.append((summary, record))
        return found

    def needed_for(self, record: PzpRecord) -> list[PzpRecord]:
        """Return the messages others need to accept this one: its identity, its tangle paths, and itself."""
        from tinyssb_node.pzp.database.certificates import roots_of

        tangles = roots_of(record)
        ids = [] if record.version == 1 or record.owner is None else self._whole(record.owner)
        for root in tangles:
            tangle = self.database.tangle(root)
            if record.id in tangle:
                ids += self._whole(root) if tangle.facts.identity else tangle.path_to_root(record.id)[::-1]
        found = [self.database.record(id_) for id_ in dict.fromkeys([*ids, record.id])]
        return [one for one in found if one is not None and one.id != record.id] + [record]

    def _whole(self, root: str) -> list[str]:
        return self.database.tangle(root).topological()


def is_feed_root(message: Message) -> bool:
    """Return True if a message that was checked is the root of a feed."""
    from tinyssb_node.pzp.messages.message import root_facts
    from tinyssb_node.pzp.messages.versions import version_of

    fields = version_of(dict(message)).fields
    metadata = message["metadata"]
    in_none = isinstance(metadata, dict) and not metadata["tangles"]
    return in_none and root_facts(fields, message).feed is not None


def _id_in(text: str) -> str:
    from tinyssb_node.pzp.messages.message import id_of_uri

    try:
        return id_of_uri(text)
    except ValueError as error:
        raise InvalidPzpInputError(
            f"{str(error)[:1].upper()}{str(error)[1:]}.", "Most ids have 22 or 44 characters."
        ) from None


@contextmanager
def open_pzp(arguments: argparse.Namespace) -> Iterator[PzpSession]:
    """The messages of the node that *arguments* name, brought up to date with what its entries carry; what takes
    long, or cannot be taken, is said on standard error. Raises ProblemError, StoreFailedError and its kin.
    """
    require_libraries()
    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.daemon.setup import read_node_identity
    from tinyssb_node.pzp.database.database import PzpDatabase
    from tinyssb_node.pzp.database.entry_import import EntryImporter
    from tinyssb_node.pzp.database.sqlite import PZP_FILE, SqlitePzpRows

    home = Home.find(arguments.home, os.environ)
    home.require()
    config = read_config(home)
    with ExitStack() as stack:
        database = stack.enter_context(closing(PzpDatabase(SqlitePzpRows.open(home.root / PZP_FILE))))
        carried = {}
        for name in config.networks:
            folder = home.of(name)
            if folder.store.exists():  # a network that was never run has none
                carried[str(name)] = stack.enter_context(closing(EntryImporter.open(folder.root)))
        pzp = PzpSession(home, config, database, carried, read_node_identity(home).feed)
        catch_up(pzp)
        yield pzp


def catch_up(pzp: PzpSession) -> None:
    """Take in what entries carry, and say what is to be said of it."""
    for network in pzp.carried.values():
        caught = network.catch_up(pzp.database, wall_us=wall_us(), progress=_say_progress)
        if caught.refused:
            print(
                f"tinyssb: {caught.refused:,} entries carry invalid PZP messages, which were not accepted.",
                file=sys.stderr,
            )


def _say_progress(done: int, total: int) -> None:
    if total >= limits.PROGRESS_FROM and sys.stderr.isatty():
        print(f"Reading new entries: {100 * done // total} %", end="\r", file=sys.stderr, flush=True)
