"""Logs every export of data as a file in the activity log."""

from server.access.actor import APP
from server.context import Context
from server.records.writing import RecordWriter


def log_export(ctx: Context, what: str) -> None:
    """Logs that the caller exported data. what: the object of the sentence, as in `exported <what>`."""
    ctx.service.store.write(lambda tx: RecordWriter(ctx, tx).log("data.exported", APP, 0, {"what": what}))
