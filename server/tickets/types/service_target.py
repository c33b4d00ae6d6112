"""Service targets: how soon tickets must get a first and a next response, and be resolved. tickets/due_times.py
computes the due times."""

from server.errors import Required
from server.fields import Bit, CreatedAt, Id, Name, Number, UpdatedAt
from server.record_types.record_type import Access, Change, RecordType, Subtotals, Writing
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.tickets import due_times
from server.translation import N_

MAX_MINUTES = 366 * 24 * 60


class ServiceTarget(RecordType):
    """The times within which tickets need a first response, a next response and a resolution, counted in the hours of
    a calendar; for tickets of a group, from a minimum importance. If several apply, a target of the ticket's group
    takes precedence over one for every group, then the one with the higher importance."""

    uri = "service_target"
    aliases = ("service_targets", "service target", "service targets", "sla")
    tier = 2
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("admins",))
    fields = {
        "calendar_id": Id(
            "Calendar whose available time counts; 0 for all hours.",
            "calendar",
            zero_ok=True,
            nested_note="Calendar whose available hours count; 0 for all hours.",
        ),
        "created_at": CreatedAt(),
        "group_id": Id(
            "Group whose tickets it applies to; 0 for every group.",
            "group",
            zero_ok=True,
            nested_note="Group whose tickets it is for; 0 for every group.",
        ),
        "importance_min": Number("For tickets of at least this importance, 0 to 100.", min=0, max=100),
        "is_disabled": Bit("1: it applies to no ticket."),
        "name": Name(),
        "next_response_minutes": Number(
            "Minutes within which a worker must reply to a later message of a requester; 0 for no target.",
            min=0,
            max=MAX_MINUTES,
        ),
        "resolution_minutes": Number(
            "Minutes within which a ticket must be closed, not counting the time in which its clock is paused; 0 for "
            "no target.",
            min=0,
            max=MAX_MINUTES,
        ),
        "response_minutes": Number(
            "Minutes within which a worker must first reply; 0 for no target.", min=0, max=MAX_MINUTES
        ),
        "updated_at": UpdatedAt(),
        "warning_minutes": Number(
            "Minutes before the deadline at which the owner and watchers are notified; 0 to notify "
            "only once it is missed.",
            default=30,
            min=0,
            max=MAX_MINUTES,
        ),
    }
    subtotals = Subtotals(search=("fieldset", "links"))
    bumps = {due_times.VERSION: ()}

    def prepare(self, change: Change, writing: Writing) -> None:
        """Requires at least one time."""
        if not any(change.value(f"{goal}_minutes") for goal in due_times.GOALS):
            raise Required(
                N_("a first response time, a next response time or a resolution time is required"),
                field="response_minutes",
            )

    def after_write(self, change: Change, writing: Writing) -> None:
        due_times.forget(writing.tx)

    def wakes(self, change: Change) -> bool:
        """Wakes the job that renews the targets of open tickets."""
        return True
