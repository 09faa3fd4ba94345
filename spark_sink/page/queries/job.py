"""State of the job that fills the database."""

from spark_sink.page import limits
from spark_sink.page.scope import Answer, Scope, fetch, select

BATCH = "committed_us, records, bytes, behind_bytes, read_us, merge_us, newest_us"
REFRESH = "committed_us, hours, sights, wall_us, waiting"


def job(scope: Scope) -> Answer:
    """Return the answer of ``/api/job``; times are by the clock of the machine that runs it. Raises
    DatabaseFailedError."""
    batches = latest(scope, "batch_log", BATCH)
    refreshes = latest(scope, "refresh_log", REFRESH)
    ((records,),) = fetch(scope.db, "SELECT coalesce(sum(records), 0) FROM batches")
    ((marked,),) = fetch(
        scope.db, "SELECT count(*) FROM (SELECT 1 AS one FROM dirty LIMIT ?) AS listed", (10_000,)
    )
    newest_us = batches[0]["newest_us"] if batches else None
    return {
        "lag_us": lag_us(scope),
        "newest_us": newest_us,
        "behind_bytes": batches[0]["behind_bytes"] if batches else None,
        "rate": rate(batches),
        "records": int(records),
        "dirty_hours": int(marked),
        "batches": batches,
        "refreshes": refreshes,
        "meta": dict(fetch(scope.db, "SELECT name, value FROM meta ORDER BY name")),
    }


def lag_us(scope: Scope) -> int | None:
    """Return the time from the newest record to the last commit of the job."""
    return scope.committed_us - scope.as_of_us if scope.committed_us is not None else None


def rate(batches: list[Answer]) -> float | None:
    """Return records per second over the last batches; null until there are two. The oldest only marks the
    beginning."""
    some = batches[:20]  # it follows a change within seconds, and does not flicker
    if len(some) < 2 or some[0]["committed_us"] <= some[-1]["committed_us"]:
        return None
    records = sum(int(batch["records"]) for batch in some[:-1])
    span_us = int(some[0]["committed_us"]) - int(some[-1]["committed_us"])
    return round(records * 1e6 / span_us, 1)


def latest(scope: Scope, table: str, columns: str) -> list[Answer]:
    """List the last rows of a log of the job, newest first."""
    return select(
        scope.db, columns, f"FROM {table} ORDER BY committed_us DESC LIMIT ?", (limits.BATCHES_SHOWN_MAX,)
    )
