"""Time tracking activities: the kinds of work that time is tracked on, such as support or travel."""

from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Record, RecordType, Subtotals, Writing
from server.records.shared.references import redirect
from server.search.filters.date import DateFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter


class TimetrackingActivity(RecordType):
    """A kind of work, named by time entries. Source: Ours."""

    uri, context = "timetracking_activity", "svc.contexts.timetracking.activity"
    plugin = "svc.timetracking"
    aliases = ("time tracking activity", "time tracking activities")
    label_names = ("Time Tracking Activity", "Time Tracking Activities")
    tier = 3
    features = frozenset(("comments", "custom_fields", "links", "search"))
    access = Access(read="any worker", create=("privilege",), update=("privilege",), delete=("privilege",))
    fields = {
        "name": Text("Name; also the label.", required=True),
        "updated_at": Timestamp(
            "Last change; set to now on every write unless it is sent.", auto="now", auto_update="now"
        ),
    }
    filters = (
        AllWords("Bare words are looked for in the name.", "name", "partial"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Name.", "name", "partial"),
        DateFilter("updated", "Last change.", "updated_at"),
    )
    subtotals = Subtotals(search=("fieldset", "links"))

    def after_delete(self, record: Record, writing: Writing) -> None:
        """The time that was tracked stays, on nothing in particular."""
        redirect(writing.tx, "time_entry", "activity_id", record["id"])
