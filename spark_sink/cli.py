"""Command line ``tinyssb-sink``: from the nodes' event logs to a database, a report and a page."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from spark_sink import limits
from spark_sink.errors import OptionError, SinkError, StorageError, UnavailableError, how_to_install
from spark_sink.settings import LOCAL, LOCAL_ENGINE, SPARK_ENGINE
from tinyssb_node import version

_USAGE = 64
"""Exit code of a command line that is not valid (sysexits.h)."""
_EXTRAS = {
    **dict.fromkeys(("pyspark", "py4j", "pandas"), "spark"),
    **dict.fromkeys(("numpy", "prometheus_client", "pyarrow", "starlette", "uvicorn"), ""),
    "paho": "mqtt",
    "psycopg": "postgres",
}
"""The extra of pyproject.toml that brings a library; empty: all have it."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors look like all other errors of ``tinyssb-sink``."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where to find help, and exit with 64."""
        print(
            f"tinyssb-sink: {message[:1].upper()}{message[1:]}.\nType `{self.prog} --help` for help.",
            file=sys.stderr,
        )
        sys.exit(_USAGE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = build_parser().parse_args(arguments)
    try:
        code = int(options.command(options))
        sys.stdout.flush()
    except SinkError as error:
        print(f"tinyssb-sink: {error}", file=sys.stderr)
        return error.exit_code
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in _EXTRAS:
            raise
        print(
            f"tinyssb-sink: The library {library} is not installed. Nothing was done.\n"
            f"Install it: {how_to_install(_EXTRAS[library])}",
            file=sys.stderr,
        )
        return UnavailableError.exit_code
    except BrokenPipeError:
        # The reader of our output has closed the pipe (`tinyssb-sink report … | head`); Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = "a file or a folder" if error.filename is None else str(error.filename)
        print(
            f"tinyssb-sink: Using {where} failed: {error.strerror or error}. All records that were counted before are "
            "kept. Remove the cause and start again.",
            file=sys.stderr,
        )
        return StorageError.exit_code
    except KeyboardInterrupt:
        return 130
    return code


def build_parser() -> argparse.ArgumentParser:
    """Define the commands and their options."""
    parser = Parser(
        prog="tinyssb-sink",
        description="Replication analytics: read the nodes' event logs with Spark, fill a database, show it.",
    )
    parser.add_argument("--version", action="version", version=f"tinyssb-sink {version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="read the logs continuously, until stopped")
    backfill = commands.add_parser("backfill", help="read everything that is there, then end")
    for command, once in ((run, False), (backfill, True)):
        _add_job_options(command)
        command.set_defaults(command=_stream, once=once)
    report = commands.add_parser("report", help="show the database as tables")
    _add_database(report, "the database to show")
    report.add_argument("--json", action="store_true", help="one JSON object, in microseconds and full ids")
    report.set_defaults(command=_report)
    serve = commands.add_parser("serve", help="show the database as a live page")
    _add_database(serve, "the database; it may be made later")
    serve.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (%(default)s: this machine only)"
    )
    serve.add_argument(
        "--port", type=_port, default=8_765, help="port to listen on, 0 for a free one (%(default)s)"
    )
    meaning = (
        "token that browsers must give, read from this file; needed if other machines can reach the page "
        "(or set TINYSSB_PAGE_TOKEN in the environment)"
    )
    _add_file(serve, "--token", meaning)
    serve.add_argument(
        "--no-token", action="store_true", help="let everybody who reaches the address read the page"
    )
    _add_file(serve, "--tls-cert", "certificate (PEM), for https")
    _add_file(serve, "--tls-key", "key of the certificate (PEM)")
    serve.add_argument(
        "--tiles", metavar="URL", help="tile server for the map, as https://tiles.example.org/{z}/{x}/{y}.png"
    )
    serve.add_argument("--tiles-by", metavar="TEXT", help="attribution of the tiles, shown on the map")
    _add_file(serve, "--map", "file with tiles for the map (MBTiles or PMTiles): no tile server is asked")
    _add_file(serve, "--caption", "text for the top of the page, from this file; it may change at any time")
    serve.set_defaults(command=_serve)
    _add_collect(commands.add_parser("collect", help="collect nodes' logs from an MQTT broker"))
    _add_land(
        commands.add_parser("land", help="land the logs as Parquet files, for analysts and for backfills")
    )
    return parser


def _add_collect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "broker", metavar="BROKER", help="address of the broker: mqtt://host, or mqtts://host with TLS"
    )
    parser.add_argument("root", type=Path, metavar="LOGS", help="folder for the logs; it is made if missing")
    parser.add_argument("--user", metavar="NAME", help="user name at the broker")
    _add_file(parser, "--password-file", "file whose first line is the password")
    _add_file(parser, "--ca", "certificates (PEM) of the authority that signed the broker's", "ca_file")
    _add_file(parser, "--cert", "client certificate (PEM), if the broker asks for one", "cert_file")
    _add_file(parser, "--key", "key of the client certificate (PEM)", "key_file")
    parser.add_argument(
        "--name",
        default="tinyssb-collect",
        metavar="NAME",
        help="client id, by which the broker queues messages for this collector (%(default)s)",
    )
    # The default is half a year of a busy node (20 MB a day), without compaction.
    _add_number(parser, "--quota-mb", 4_096, "quota of each node, in MB of log")
    _add_number(parser, "--keep-free-mb", 1_024, "MB that stay free on the disk")
    parser.set_defaults(command=_collect)


def _add_land(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "logs", metavar="LOGS", help="folder with the logs of one or many nodes, or s3://bucket/prefix"
    )
    parser.add_argument(
        "bronze", type=Path, metavar="BRONZE", help="folder for the Parquet files; it is made if missing"
    )
    parser.add_argument("--once", action="store_true", help="land everything that is there, then end")
    _add_number(parser, "--every", limits.LAND_EVERY_S, "seconds from one round to the next", dest="every_s")
    parser.add_argument("--delete", action="store_true", help="delete closed segments that are landed")
    parser.add_argument(
        "--older-than",
        dest="older_than_h",
        type=float,
        default=24.0,
        metavar="HOURS",
        help="with --delete: keep segments that changed less than this long ago (%(default)s)",
    )
    parser.add_argument(
        "--forget-days", type=int, metavar="N", help="delete days of the bronze that are older than N days"
    )
    _add_engine_options(parser)
    parser.set_defaults(command=_land)


def _add_database(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--db", dest="database", required=True, metavar="DB", help=f"{what}: a file, or a postgresql:// URL"
    )


def _add_job_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "logs",
        metavar="LOGS",
        help="folder with the logs of one or many nodes, or s3://bucket/prefix; or a folder that `land` fills",
    )
    _add_database(parser, "the database to fill")
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="for a folder of `land`: Spark's list of the files it has read (default: beside the database file)",
    )
    days = "days for which single packets are kept, to be matched with late logs"
    _add_number(parser, "--keep-days", limits.KEEP_DAYS, days)
    _add_engine_options(parser)


def _add_engine_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--engine",
        choices=(SPARK_ENGINE, LOCAL_ENGINE),
        help="what runs the tasks: Spark, or processes of this machine, without Java (default: local for `run` and "
        "`land` on this machine, spark for `backfill`, clusters and a folder of `land`)",
    )
    parser.add_argument("--endpoint", default="", metavar="URL", help="address of an S3-compatible store")
    _add_number(
        parser,
        "--batch-bytes",
        limits.BATCH_SIZE,
        "most bytes of log in one micro-batch",
        dest="bytes_per_batch",
    )
    parser.add_argument(
        "--master",
        default=LOCAL,
        metavar="URL",
        help="Spark cluster, as spark://host:7077 (default: this machine)",
    )
    _add_number(parser, "--threads", 2, "tasks that run at one time, on this machine")
    _add_number(parser, "--memory-mb", 1024, "size of Java's heap")
    parser.add_argument(
        "--spark-ui",
        dest="ui_port",
        type=_port,
        metavar="PORT",
        help="port of Spark's own page with jobs and tasks, 0 for a free one (default: no such page)",
    )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, from 0 to 65535")
    return int(text)


def _add_file(parser: argparse.ArgumentParser, option: str, meaning: str, dest: str | None = None) -> None:
    parser.add_argument(option, dest=dest, type=Path, metavar="FILE", help=meaning)


def _add_number(
    parser: argparse.ArgumentParser, option: str, default: int, meaning: str, dest: str | None = None
) -> None:
    parser.add_argument(
        option, type=int, default=default, dest=dest, metavar="N", help=f"{meaning} (%(default)s)"
    )


def _stream(options: argparse.Namespace) -> int:
    from spark_sink import runner, session
    from spark_sink.settings import Settings, default_checkpoint, default_engine

    options.checkpoint = options.checkpoint or default_checkpoint(options.database)
    options.engine = options.engine or default_engine(
        options.logs, options.master, once=options.once, submitted=session.is_submitted()
    )
    return runner.run(Settings(**_values(options, Settings)), once=options.once, tell=_tell)


def _values(options: argparse.Namespace, settings: type) -> dict[str, Any]:
    """Return the options by the names of the fields of *settings*, a dataclass."""
    return {field.name: getattr(options, field.name) for field in fields(settings)}


def _tell(text: str) -> None:
    print(text, flush=True)


def _report(options: argparse.Namespace) -> int:
    from spark_sink import report
    from spark_sink.serving.connect import open_for_reading

    reader = open_for_reading(options.database)
    try:
        found = report.make(reader)
    finally:
        reader.close()
    if options.json:
        print(json.dumps({name: table.records() for name, table in found.items()}, indent=2))
    else:
        print(report.render(found))
    return 0


def _serve(options: argparse.Namespace) -> int:
    from spark_sink.page import access, server, tiles

    if (options.tls_cert is None) != (options.tls_key is None):
        raise OptionError("--tls-cert", str(options.tls_cert), "given together with --tls-key")
    if options.map is not None and options.tiles is not None:
        raise OptionError("--map", str(options.map), "given without --tiles")
    server.serve(
        options.database,
        host=options.host,
        port=options.port,
        token=access.find_token(options.token, os.environ),
        open_to_all=options.no_token,
        tls=None if options.tls_cert is None else server.TlsFiles(options.tls_cert, options.tls_key),
        tiles=None if options.tiles is None else tiles.parse_tiles(options.tiles, options.tiles_by),
        map_file=None if options.map is None else tiles.check_map(options.map),
        caption=options.caption,
        announce=lambda page: _tell(f"The page is at {page}"),
    )
    return 0


def _collect(options: argparse.Namespace) -> int:
    from spark_sink.collect.service import CollectorService, CollectorSettings

    if (options.cert_file is None) != (options.key_file is None):
        raise OptionError("--cert", str(options.cert_file), "given together with --key")
    for name in ("quota_mb", "keep_free_mb"):
        if getattr(options, name) < 0:
            raise OptionError(f"--{name.replace('_', '-')}", str(getattr(options, name)), "0 or more")
    service = CollectorService(CollectorSettings(**_values(options, CollectorSettings)), _tell)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: service.stop())
    service.run()
    return 0


def _land(options: argparse.Namespace) -> int:
    from spark_sink import session
    from spark_sink.bronze.land import LandSettings, land
    from spark_sink.settings import default_engine

    options.engine = options.engine or default_engine(
        options.logs, options.master, once=False, submitted=session.is_submitted()
    )
    return land(LandSettings(**_values(options, LandSettings)), _tell)


if __name__ == "__main__":
    sys.exit(main())
