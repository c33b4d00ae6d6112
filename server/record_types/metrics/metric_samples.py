"""Samples of metrics in bins of three sizes. Smaller bins are retained for a while, those of days forever.

All three are written at once, so that a query reads bins of one size and nothing is aggregated later."""

from server.store.tables import Column, Index, Table

FIVE_MINUTES, HOUR, DAY = 300, 3600, 86400
# {size of a bin: retention in seconds, 0 for unlimited}
KEPT = {FIVE_MINUTES: DAY, HOUR: 14 * DAY, DAY: 0}

METRIC_SAMPLE = Table(
    "metric_sample",
    [
        Column("metric_id"),
        Column("seconds"),
        Column("bin"),
        Column("dimensions", "TEXT"),
        Column("count"),
        Column("sum", "REAL"),
        Column("min", "REAL"),
        Column("max", "REAL"),
    ],
    [Index(("seconds", "bin"), "samples that are kept no longer")],
    key=("metric_id", "seconds", "bin", "dimensions"),
)  # bin: its first second, days in UTC; dimensions: {name: value} as JSON, sorted by name
