"""Writing certificates of PZP messages."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import cast

from tinyssb_node.pzp.commands.session import PzpSession
from tinyssb_node.pzp.database.certificates import certificate
from tinyssb_node.pzp.messages.jsontext import Json, canonical
from tinyssb_node.screens.newfile import write_new_file


def write_certificate(arguments: argparse.Namespace, pzp: PzpSession) -> int:
    """Write the certificate of a message, as `verify` takes it."""
    record = pzp.record(arguments.message)
    texts = [canonical(cast("Json", message)) for message in certificate(pzp.database, record)]
    lines = b"".join(text + b"\n" for text in texts)
    if arguments.file == "-":
        sys.stdout.buffer.write(lines)
        sys.stdout.buffer.flush()
        return 0
    size = write_new_file(Path(arguments.file), lambda file: file.write(lines))
    if arguments.json:
        print(json.dumps({"id": record.id, "file": arguments.file, "messages": len(texts), "bytes": size}))
    else:
        print(f"Wrote {arguments.file}: {len(texts):,} messages, {size:,} bytes; the last is {record.id}.")
        print(f"Whoever has nothing else checks it with: tinyssb pzp verify {arguments.file}")
    return 0
