"""Sums over days are those of the single rows, and out of use as soon as one of these changes."""

import random
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from spark_sink.serving import day_sums, derived
from spark_sink.serving.database import Database, table_of
from spark_sink.serving.day_sums import DAY_US, SLOTS, pack_buckets, pack_slots, unpack_buckets, unpack_slots
from spark_sink.serving.merge import merge
from spark_sink.serving.names import NameNumbers
from spark_sink.serving.tables import TABLES
from tests.spark_sink.serving.batches import NODES, batch

HOUR_US = 3_600_000_000
SLOT_US = HOUR_US // 6
HOURS = (0, 5, 23, 24, 47, 48, 71)
"""Of three days."""
Rows = dict[str, list[tuple[Any, ...]]]


def some_rows(seed: int) -> Rows:
    """Rows of all tables that days are summed up of, with several of each subject in each hour."""
    chance = random.Random(seed)
    found: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = defaultdict(dict)
    for hour in HOURS:
        for _ in range(40):
            a, b, hour_us = chance.randrange(4), chance.randrange(4), hour * HOUR_US
            face, packet, use = chance.choice(("lora", "ether")), chance.choice("xy"), chance.choice("uv")
            first_us = hour_us + chance.randrange(1_000)
            sums = [chance.randrange(9) for _ in range(4)]
            link = (hour_us, a, b, *sums, chance.randrange(-80, 80) / 4, 1, first_us, first_us + 7)
            scope = chance.choice(("node", "hop"))
            bucket, slot_us = chance.randrange(-1, 300), hour_us + chance.randrange(6) * SLOT_US
            for table, row in (
                ("links", link),
                ("uses", (hour_us, a, face, packet, use, *sums[:2])),
                ("transmitted", (a, slot_us, face, hour_us, 1, chance.choice((1, 9, 2**33)))),
                ("delays", (hour_us, scope, a, b if scope == "hop" else 0, bucket, 1 + sums[0])),
            ):
                found[table][row[: len(TABLES[table].key)]] = row
    return {table: sorted(rows.values()) for table, rows in found.items()}


def replace(database: Database, rows: Rows, hours: Iterable[int] = HOURS) -> None:
    tables = {name: table_of(name, TABLES[name].names, some) for name, some in rows.items()}
    with database.transaction():
        derived.replace(database, [hour * HOUR_US for hour in hours], tables)


def sum_up(database: Database) -> None:
    for day_us in day_sums.waiting(database):
        day_sums.sum_up(database, threading.Lock(), day_us)


def expected(rows: Rows) -> Rows:
    """The sums as a loop over single rows has them; packed columns as they are unpacked."""
    links: dict[tuple[Any, ...], list[Sequence[Any]]] = defaultdict(list)
    uses: Counter[tuple[Any, ...]] = Counter()
    air: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0] * SLOTS)
    counts: dict[tuple[Any, ...], Counter[int]] = defaultdict(Counter)
    packets: Counter[tuple[Any, ...]] = Counter()
    for hour_us, *link in rows["links"]:
        links[hour_us // DAY_US * DAY_US, *link[:2]].append(link[2:])
    for hour_us, *key, n, airtime_us in rows["uses"]:
        for name, value in (("packets", n), ("airtime_us", airtime_us)):
            uses[hour_us // DAY_US * DAY_US, *key, name] += value
    for node_no, slot_us, face, _hour_us, n, airtime_us in rows["transmitted"]:
        place = slot_us // DAY_US * DAY_US, node_no, face
        air[place][slot_us % DAY_US // SLOT_US] += airtime_us
        packets[place] += n
    for hour_us, scope, a, b, bucket, n in rows["delays"]:
        counts[hour_us // DAY_US * DAY_US, scope, a, b][bucket] += n
    return {
        "link_days": sorted(
            (
                *key,
                *map(sum, list(zip(*some, strict=True))[:-2]),
                min(s[-2] for s in some),
                max(s[-1] for s in some),
            )
            for key, some in links.items()
        ),
        "use_days": sorted(
            (*key[:-1], n, uses[*key[:-1], "airtime_us"]) for key, n in uses.items() if key[-1] == "packets"
        ),
        "air_days": sorted((*key, packets[key], sum(slots), slots) for key, slots in air.items()),
        "delay_days": sorted((*key, some.total(), dict(some)) for key, some in counts.items()),
    }


def found(database: Database) -> Rows:
    """The tables, unpacked."""
    tables: Rows = {
        name: sorted(database.rows(f"SELECT {', '.join(map(_quoted, TABLES[name].names))} FROM {name}"))
        for name in ("link_days", "use_days", "air_days", "delay_days")
    }
    tables["air_days"] = [(*row[:-1], unpack_slots(row[-1]).tolist()) for row in tables["air_days"]]
    tables["delay_days"] = [(*row[:-1], unpack_buckets([row[-1]])) for row in tables["delay_days"]]
    return tables


def _quoted(name: str) -> str:
    return f'"{name}"'


def used(database: Database) -> list[tuple[Any, ...]]:
    return database.rows("SELECT day_us / 86400000000, summed FROM days ORDER BY day_us")


@pytest.mark.parametrize("seed", range(3))
def test_days_have_the_sums_of_their_single_rows(database: Database, seed: int) -> None:
    rows = some_rows(seed)
    replace(database, rows)
    assert used(database) == [(0, 0), (1, 0), (2, 0)]
    sum_up(database)
    assert used(database) == [(0, 1), (1, 1), (2, 1)]
    assert found(database) == expected(rows)


def test_a_change_takes_its_day_out_of_use_until_it_is_summed_up_again(database: Database) -> None:
    before, after = some_rows(1), some_rows(2)
    replace(database, before)
    sum_up(database)
    hours = {24 * HOUR_US, 47 * HOUR_US}
    place = {"transmitted": TABLES["transmitted"].names.index("hour_us")}
    new = {name: [row for row in rows if row[place.get(name, 0)] in hours] for name, rows in after.items()}
    replace(database, new, (24, 47))
    assert used(database) == [(0, 1), (1, 0), (2, 1)]
    sum_up(database)
    kept = {
        name: [row for row in rows if row[place.get(name, 0)] not in hours] for name, rows in before.items()
    }
    assert found(database) == expected({name: sorted(kept[name] + new[name]) for name in kept})


def test_a_day_that_lost_all_its_rows_has_no_sums(database: Database) -> None:
    replace(database, some_rows(1))
    sum_up(database)
    replace(database, {}, (0, 5, 23))
    sum_up(database)
    assert used(database) == [(0, 1), (1, 1), (2, 1)]
    assert {row[0] for rows in found(database).values() for row in rows} == {DAY_US, 2 * DAY_US}


def test_a_transaction_that_fails_leaves_the_sums_in_use(database: Database) -> None:
    rows = some_rows(1)
    replace(database, rows)
    sum_up(database)
    with pytest.raises(KeyError):
        _fail_after_replacing(database)
    assert used(database) == [(0, 1), (1, 1), (2, 1)]
    assert found(database) == expected(rows)


def _fail_after_replacing(database: Database) -> None:
    with database.transaction():
        derived.replace(database, [0], {})
        raise KeyError


def test_packed_columns_say_what_was_packed() -> None:
    for most in (0, 2**32 - 1, 2**32, 2**40):
        slots = np.arange(SLOTS, dtype=np.int64)
        slots[7] = most
        assert unpack_slots(pack_slots(slots)).tolist() == slots.tolist()
    assert len(pack_slots(np.zeros(SLOTS, np.int64))) == 4 * SLOTS
    one = pack_buckets(np.array([-1, 0, 560]), np.array([1, 2**32 - 1, 3]))
    assert one == bytes.fromhex("ffff 0000 3002 01000000 ffffffff 03000000")
    assert unpack_buckets([one]) == {-1: 1, 0: 2**32 - 1, 560: 3}
    assert unpack_buckets([one, one], [(0, 1), (5, 2)]) == {-1: 2, 0: 2**33 - 1, 5: 2, 560: 6}
    assert unpack_buckets([]) == {}


def test_counts_are_summed_up_by_days_as_they_are_merged(database: Database) -> None:
    chance, numbers = random.Random(1), NameNumbers(database)
    for number in range(5):
        assert merge(database, numbers, batch(number, {"counts": some_counts(chance, total=3)}))
    single: Counter[tuple[Any, ...]] = Counter()
    rows: list[tuple[Any, ...]] = database.rows(
        "SELECT node_no, hour_us, kind, detail, records, total FROM counts"
    )
    for node_no, hour_us, kind, detail, records, total in rows:
        key = node_no, hour_us // DAY_US * DAY_US, kind, detail
        single.update({(*key, "records"): records, (*key, "total"): total})
    days: list[tuple[Any, ...]] = database.rows(
        "SELECT node_no, day_us, kind, detail, records, total FROM count_days"
    )
    assert {(*row[:4], "records"): row[4] for row in days} | {
        (*row[:4], "total"): row[5] for row in days
    } == single


def test_hostile_counts_do_not_overflow_a_day(database: Database) -> None:
    chance, numbers = random.Random(1), NameNumbers(database)
    for number in range(3):
        assert merge(database, numbers, batch(number, {"counts": some_counts(chance, total=2**62)}))
    ((most, least),) = database.rows("SELECT max(total), min(total) FROM count_days")
    assert 2**57 <= float(str(least)) <= float(str(most)) <= 2**62


def some_counts(chance: random.Random, total: int) -> list[dict[str, Any]]:
    """Rows of ``counts``, one a key."""
    keys = {
        (chance.choice(NODES), chance.choice(HOURS) * HOUR_US, chance.choice("kl"), chance.choice("de"))
        for _ in range(60)
    }
    names = ("node", "hour_us", "kind", "detail")
    return [
        {**dict(zip(names, key, strict=True)), "records": chance.randrange(9), "total": total}
        for key in sorted(keys)
    ]
