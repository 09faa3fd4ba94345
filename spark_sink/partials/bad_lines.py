"""Lines that are no records."""

import pyarrow as pa

from spark_sink.partials.merging import merge


def bad_lines(rows: pa.Table) -> pa.Table:
    """Partial rows of `bad_lines`, from those rows of the source that are no records."""
    columns = {name.removeprefix("bad_"): rows.column(name) for name in rows.column_names}
    return merge("bad_lines", pa.table(columns))
