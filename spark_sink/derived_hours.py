"""Derived rows of some hours, made by one function wherever it runs: in the driver, or in a task of Spark."""

from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa

from spark_sink.derive import delays, groups, links, progress, uses
from spark_sink.derive.facts import Facts
from spark_sink.derive.mesh_time import Corrections
from spark_sink.derive.transmissions import transmissions
from spark_sink.facts_loader import FactsLoader, Stretch
from spark_sink.serving.address import is_address
from spark_sink.serving.connect import open_for_reading
from spark_sink.serving.database import Reader
from spark_sink.serving.staging import deliver


@dataclass(frozen=True, slots=True)
class DerivedHours:
    """Derived rows of a stretch, or the number of their delivery."""

    tables: dict[str, pa.Table]
    """By name, rows for serving/derived.py; none if they were delivered."""
    sights: int
    """How many single packets and arrivals they were made from."""
    delivery: int | None = None
    """Number of the delivery (serving/staging.py)."""


def derive(facts: Facts) -> DerivedHours:
    """Make all derived rows of full hours. Pure."""
    heard = transmissions(facts.sights)
    delayed = pa.concat_tables([delays.delays(facts), delays.hops(facts, heard)])
    tables = {
        "links": links.links(facts, heard),
        "transmitted": uses.transmitted(facts),
        "uses": uses.uses(facts, heard),
        "delays": delayed,
        "delay_hours": delays.by_hour(delayed),
        "steps": progress.steps(facts),
        "progress": progress.progress(facts),
        "groups": groups.groups(facts),
    }
    return DerivedHours(tables, len(facts.sights))


def derive_stretch(reader: Reader, clocks: Corrections, stretch: Stretch) -> DerivedHours:
    """Make the rows of a stretch from one state of the database. Raises DatabaseFailedError, DamagedDataError."""
    with reader.snapshot():
        facts = FactsLoader(reader, clocks).load(stretch)
    return derive(facts)


def derive_apart(database: str, clocks: Corrections, stretch: Stretch) -> DerivedHours:
    """Make the rows of a stretch by connections of one's own, beside the job that writes *database*; deliver them there
    if it is a server. Raises SinkError.
    """
    with closing(open_for_reading(database)) as reader:
        made = derive_stretch(reader, clocks, stretch)
    if not is_address(database):
        return made
    return DerivedHours({}, made.sights, deliver(database, made.tables))
