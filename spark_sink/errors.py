"""What can go wrong in the sink: one class per cause, its message ready to be shown to a user."""

from pathlib import Path

from spark_sink import limits


class SinkError(Exception):
    """Anything the sink raises on purpose. ``exit_code`` is what the command ends with (sysexits.h)."""

    exit_code = 1


class NoDatabaseError(SinkError):
    """There is no serving database yet."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(
            f"There is no database at {path} yet. Fill one with: tinyssb-sink backfill LOGS --db {path}"
        )


class NotServingDatabaseError(SinkError):
    """The file is something else."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(
            f"{path} is not a database of tinyssb-sink; it was left as it is. Name another file with --db."
        )


class NewerDatabaseError(SinkError):
    """The database was written by a newer program."""

    def __init__(self, path: Path | str, version: int) -> None:
        super().__init__(
            f"{path} has version {version} of the serving database, this program knows up to "
            f"{limits.STORE_VERSION}; it was left as it is. Update tinyssb-sink, or name another file: --db."
        )


class OlderDatabaseError(SinkError):
    """The database was written by an older program, and cannot be carried over."""

    def __init__(self, path: Path | str, version: int) -> None:
        super().__init__(
            f"{path} was made by an older tinyssb-sink (version {version} of the serving database); it was left as it "
            "is. Everything in it is made again from the nodes' logs: name a new database with --db."
        )


class NoPostgresDriverError(SinkError):
    """What speaks with PostgreSQL is not installed."""

    exit_code = 69

    def __init__(self) -> None:
        super().__init__(
            "Speaking with PostgreSQL needs psycopg. Install it with: pip install 'tinyssb-node[postgres]'"
        )


class UnreachableDatabaseError(SinkError):
    """PostgreSQL did not let us in, or there is none."""

    exit_code = 69

    def __init__(self, database: str, reason: str) -> None:
        super().__init__(
            f"There was no connection to {database}: {reason}. Nothing was done. See whether PostgreSQL runs there, "
            "and whether the name of the database, the user and the password are right."
        )


class NoLogsFolderError(SinkError):
    """The folder of logs does not exist."""

    def __init__(self, path: str) -> None:
        super().__init__(f"There is no folder {path}. Name the folder that holds the nodes' event logs.")


class OptionError(SinkError):
    """An option has a value that it cannot have."""

    exit_code = 78

    def __init__(self, option: str, value: str, allowed: str) -> None:
        super().__init__(f"{option} is {value!r}, but must be {allowed}.")


class CheckpointVersionError(SinkError):
    """The checkpoint was written by a program that kept its place in another way."""

    exit_code = 78

    def __init__(self, version: object) -> None:
        cause = (
            "the change that lets segments come late and in any order (version 1 knew one place in each log)"
            if version == 1
            else "a change this program does not know: the one that wrote it is newer, or something else wrote it"
        )
        super().__init__(
            f"The checkpoint keeps its place by version {version}, this program by version {limits.OFFSET_VERSION}. "
            f"What broke it is {cause}. Nothing was read. Delete the checkpoint and start again: the database knows "
            "how far it was read, so nothing is counted twice or skipped."
        )


class BatchGapError(SinkError):
    """The stream is further than the database."""

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(
            f"The database waits for batch {expected} of the stream, but the checkpoint is at batch {found} already; "
            "nothing was added. The database is older than the checkpoint: delete the checkpoint and start again; the "
            "database knows how far it was read, so nothing is counted twice or skipped."
        )


class ForeignCheckpointError(SinkError):
    """The database was filled by another stream: counting again would double it."""

    def __init__(self, database: str, checkpoint: str) -> None:
        super().__init__(
            f"{database} was not filled from the checkpoint {checkpoint}; both were left as they are. Name the "
            "checkpoint that belongs to it, or a folder that does not exist yet, with --checkpoint, or a new database "
            "with --db."
        )


class BusyError(SinkError):
    """Another job writes this database."""

    exit_code = 75

    def __init__(self, database: Path | str) -> None:
        super().__init__(f"Another tinyssb-sink is filling {database}; nothing was done. Stop it first.")


class NoJavaError(SinkError):
    """Spark runs on Java."""

    exit_code = 69

    def __init__(self) -> None:
        super().__init__(
            "Spark needs Java 17 or newer. Install it with: apt-get install default-jre-headless"
        )


class JavaFailedError(SinkError):
    """Java is there but did not start Spark."""

    exit_code = 69

    def __init__(self, words: str) -> None:
        super().__init__(
            f"Java could not start Spark, which needs Java 17 or newer and some free memory. Its last words: {words}"
        )


class NoClusterError(SinkError):
    """There is no cluster where it was said to be, or it takes no jobs from here."""

    exit_code = 69

    def __init__(self, master: str) -> None:
        super().__init__(
            f"The cluster at {master} took no job; nothing was done. See whether its master runs there and can be "
            "reached, and whether Spark's version and secret (spark.authenticate) are the same on all machines."
        )


class NoSparkError(SinkError):
    """The Python side of Spark is not installed."""

    exit_code = 69

    def __init__(self) -> None:
        super().__init__("Spark is not installed. Install it with: pip install 'tinyssb-node[spark]'")


class DatabaseFailedError(SinkError):
    """The database, or the disk under it, refused an operation."""

    exit_code = 74

    def __init__(self, database: Path | str, reason: str) -> None:
        super().__init__(
            f"Using {database} failed: {reason}. What was counted before is kept; see to it and start again."
        )


class FileFailedError(SinkError):
    """A file or a folder could not be used."""

    exit_code = 74

    def __init__(self, error: OSError) -> None:
        where = "a file or a folder" if error.filename is None else str(error.filename)
        super().__init__(
            f"Using {where} failed: {error.strerror or error}. What was counted before is kept; see to it and start "
            "again."
        )


class JobFailedError(SinkError):
    """Spark stopped for a reason of its own."""

    exit_code = 70

    def __init__(self, details: Path) -> None:
        super().__init__(
            f"Spark stopped; its own report is in {details}. What was counted is kept; starting again goes on from "
            "there."
        )


class RefreshFailedError(SinkError):
    """Derived tables could not be made, for a reason that nobody thought of."""

    exit_code = 70

    def __init__(self, reason: str, details: Path) -> None:
        super().__init__(
            f"Working out what takes all logs together failed by a fault of its own: {reason}. The whole report is in "
            f"{details}. What was counted is kept, but what is worked out from it stands still; please report it."
        )


class DamagedSightsError(SinkError):
    """Packed rows in the serving database cannot be read."""

    exit_code = 65

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"Packed rows in the table sights are damaged or from another program: {reason}. Nothing was changed. "
            "The logs have it all: name a new database with --db, and everything is counted again."
        )


class CollectBusyError(SinkError):
    """Another collector writes this folder."""

    exit_code = 75

    def __init__(self, root: Path) -> None:
        super().__init__(f"Another tinyssb-sink collects into {root}; nothing was done. Stop it first.")


class CollectFailedError(SinkError):
    """The disk under the collected segments refused an operation."""

    exit_code = 74

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"Collecting into {path} failed: {reason}. What nodes were told is here is kept, and they send the rest "
            "again; see to it and start again."
        )


class NoMqttError(SinkError):
    """What speaks with brokers is not installed."""

    exit_code = 69

    def __init__(self) -> None:
        super().__init__(
            "Collecting over MQTT needs paho-mqtt. Install it with: pip install 'tinyssb-node[mqtt]'"
        )


class BrokerRefusedError(SinkError):
    """The broker does not let us in, or not do what a collector does."""

    exit_code = 77

    def __init__(self, broker: str, reason: str) -> None:
        super().__init__(
            f"The broker {broker} refused the collector: {reason}. Nothing was collected since. See whether user, "
            "password and the broker's access list are right (docs/howto/ship-logs.md)."
        )


class ConnectionEndedError(SinkError):
    """What speaks with the broker is not there any more."""

    exit_code = 70

    def __init__(self, broker: str, reason: str) -> None:
        super().__init__(
            f"What speaks with the broker {broker} ended by a fault of its own: {reason}. What nodes were told is here "
            "is kept, and they send the rest again; start again, and report it if it comes back."
        )
