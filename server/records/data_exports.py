"""Data that leaves the service as a file: told in the activity log, whichever way it goes."""

from server.access.actor import APP
from server.context import Context
from server.records.writing import RecordWriter


def log_export(ctx: Context, what: str) -> None:
    """Tell that the caller took data out. what: in words, as they follow `exported`."""
    ctx.service.store.write(lambda tx: RecordWriter(ctx, tx).log("data.exported", APP, 0, {"what": what}))
