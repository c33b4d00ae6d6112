"""Time entries: the time that a worker spent. Links and comments say on what."""

from collections.abc import Iterable, Sequence

from server import contexts
from server.fields import Bit, Id, Timestamp, Uint
from server.fields.number import MAX_UINT
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Event,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared.comment_text import comment_words
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.search.filters import DurationFilter, WorkerFilter
from server.store.tables import Index

CONTEXT = contexts.TIME_ENTRY
SECONDS = 60  # in a minute


class TimeEntry(RecordType):
    """Time that a worker spent, perhaps on a kind of work. Archived entries are closed."""

    uri, context = "time_entry", CONTEXT
    plugin = "svc.timetracking"
    aliases = (
        "time tracking entry",
        "time tracking entries",
        "time entry",
        "time entries",
        "time tracking",
        "time slip",
        "time slips",
        "timetracking",
        "time_tracking",
    )
    label_names = ("Time Tracking Entry", "Time Tracking Entries")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("privilege",), create=("privilege", "worker"))
    fields = {
        "activity_id": Id(
            "Kind of work; 0 for none.",
            "timetracking_activity",
            zero_ok=True,
            filter_note="Kind of work, by id; comparison and sets as for numbers.",
            nested=None,
        ),
        "is_closed": Bit("Archived."),
        "log_date": Timestamp("When the work was done; now when omitted.", auto="now", filter="created"),
        "mins": Uint(
            "Minutes worked; computed from `secs`, rounded up, if only that is sent.",
            required=True,
            alternatives=("secs",),
            max=MAX_UINT // SECONDS,
            filter=None,
        ),
        "secs": Uint(
            "Seconds worked; computed from `mins` if only that is sent.",
            required=True,
            alternatives=("mins",),
            filter=None,
        ),
        "worker_id": Id(
            "Worker who did it; only administrators can log for others.",
            "worker",
            required=True,
            deep="By a matching worker.",
        ),
    }
    indexes = (
        Index(("worker_id", "log_date"), "a worker's time, the newest last"),
        Index(("activity_id",), "the time spent on a kind of work"),
        Index(("log_date",), "time entries in order of time"),
    )
    keys = (Key("summary", "text", "Who spent how long on what; the label."),)
    label_key = "summary"
    filters = (
        comment_words(CONTEXT, "Words in the comments on the entry.", "text", default=True),
        comment_words(CONTEXT, "Words in the comments on the entry."),
        DurationFilter("timeSpent", 'Seconds, or a text such as "< 1 hour".', "secs", aliases=("secs", "mins")),
        WorkerFilter("worker.id", "By this worker: me, ids, names.", "worker_id"),
    )
    subtotals = Subtotals(
        search=("activity.id", "fieldset", "isClosed", "links", "watchers", "worker.id"),
        aliases={"activity": "activity.id", "closed": "isClosed", "worker": "worker.id"},
    )
    events = (
        Event("timetracking.status.closed", "archived by a change"),
        Event("timetracking.status.open", "removed from the archive by a change"),
    )

    def prepare(self, change: Change, writing: Writing) -> None:
        """Derives minutes and seconds from each other unless both are submitted."""
        new = change.new
        if "secs" in new and "mins" not in new:
            new["mins"] = -(-new["secs"] // SECONDS)
        elif "mins" in new and "secs" not in new:
            new["secs"] = new["mins"] * SECONDS

    def after_write(self, change: Change, writing: Writing) -> None:
        if not change.is_create and change.changes("is_closed"):
            point = "timetracking.status.closed" if change.value("is_closed") else "timetracking.status.open"
            target = self.label({"secs": change.value("secs")})
            writing.log(point, self.context, change.id, {"target": target})

    def label(self, record: Record) -> str:
        return spent(record["secs"])

    def labels(self, view: DictionaryContext, records: Sequence[Record]) -> dict[int, str]:
        """`<worker>: <time> on <kind of work>`; one statement for workers and one for kinds of work."""
        workers = _labels(view, "worker", {record["worker_id"] for record in records})
        activities = _labels(view, "timetracking_activity", {record["activity_id"] for record in records})
        labels = {}
        for record in records:
            text = self.label(record)
            worker, activity = workers.get(record["worker_id"]), activities.get(record["activity_id"])
            labels[record["id"]] = (f"{worker}: " if worker else "") + text + (f" on {activity}" if activity else "")
        return labels


def spent(seconds: int) -> str:
    """A duration in words.

    >>> spent(5400), spent(60), spent(45), spent(0)
    ('1 hour 30 minutes', '1 minute', '45 seconds', '0 minutes')
    """
    parts = []
    for name, size in (("hour", 3600), ("minute", SECONDS), ("second", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {name}{'' if count == 1 else 's'}")
    return " ".join(parts) or "0 minutes"


def _labels(view: DictionaryContext, uri: str, ids: Iterable[int]) -> dict[int, str]:
    """The labels of the existing records among these."""
    record_type = view.type(uri)
    return {record["id"]: record_type.label(record) for record in view.records(uri, ids)}
