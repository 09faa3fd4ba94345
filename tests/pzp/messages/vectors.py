"""Messages that the original program made and accepted."""

import json
from pathlib import Path

from tests.pzp.messages.checked import enter
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import V1, V2, V4, PzpVersion

FOLDER = Path(__file__).parents[2] / "vectors" / "pzp"
VERSION = {"v1": V1, "v2": V2, "v4": V4}


def load(name: str):
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def tangle_of(version: PzpVersion, root: str, messages) -> PzpTangle:
    """A tangle with *messages*, added as they come."""
    tangle = PzpTangle(root)
    for one in messages:
        enter(version.fields, one.get("msg", one), tangle)
    return tangle


def made_v4():
    """Every message of V4, as it is recorded."""
    yield from load("v4-moots")["moots"]
    yield from load("v4-db")["records"]
    yield from load("v4-special")["records"].values()
    for name in ("v4-feed-linear", "v4-feed-forks"):
        yield from load(name)["msgs"]


def made():
    """Every message of which the vectors say how it was made: version and record."""
    for record in made_v4():
        yield "v4", {**record, "hash": record["id"]}
    for version in ("v1", "v2"):
        for record in load(f"{version}-feed-roots")["roots"]:
            yield version, record
        for name in ("feed-linear", "feed-forks", "multi-tangle"):
            for record in load(f"{version}-{name}")["msgs"]:
                yield version, record
        for record in load(f"{version}-special").values():
            if "hash" in record:
                yield version, record
    for record in [*load("v2-identity")["tangle"], *load("v2-identity")["otherRoots"]]:
        yield "v2", record
