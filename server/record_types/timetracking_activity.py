"""Time tracking activities: kinds of work, such as support or travel."""

from server import contexts
from server.fields import Name, UpdatedAt
from server.record_types.record_type import Access, Record, RecordType, Subtotals, Writing
from server.record_types.shared.dangling_references import redirect
from server.record_types.traits import Comments, CustomFields, Links, Search


class TimetrackingActivity(RecordType):
    """A kind of work, named by time entries."""

    uri, context = "timetracking_activity", contexts.TIMETRACKING_ACTIVITY
    plugin = "svc.timetracking"
    aliases = ("time tracking activity", "time tracking activities")
    label_names = ("Time Tracking Activity", "Time Tracking Activities")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="any worker", write=("privilege",))
    fields = {
        "name": Name(),
        "updated_at": UpdatedAt(),
    }
    subtotals = Subtotals(search=("fieldset", "links"))

    def after_delete(self, record: Record, writing: Writing) -> None:
        """Time entries of the activity stay, without an activity."""
        redirect(writing, "time_entry", "activity_id", record["id"])
