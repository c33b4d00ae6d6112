"""Samples of metrics by time, in three sizes of bins. The finer ones are kept for a while, days for ever.

All three are written at once, so that a question reads bins of one size and nothing has to be folded later."""

from server.store.tables import Column, Index, Table

FIVE_MINUTES, HOUR, DAY = 300, 3600, 86400
# How many seconds bins of each size are kept; 0 for ever.
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
)  # bin: its first second, of days in UTC; dimensions: {name: value} as JSON text, names sorted
