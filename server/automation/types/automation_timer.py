"""Automation timers: run automations at a time, once or repeatedly. Executed by automation/timers.py."""

from server import contexts, times
from server.automation import bound_automations, recurrence
from server.fields import Bit, CreatedAt, Name, Text, Timestamp, UpdatedAt
from server.record_types.record_type import Access, Change, Key, RecordType, Subtotals, Writing
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.store.tables import Column, Index


class AutomationTimer(RecordType):
    """A time at which an automation runs, and the patterns by which it repeats."""

    uri, context = "automation_timer", contexts.AUTOMATION_TIMER
    aliases = ("automation timer", "automation timers", "timer", "timers")
    tier = 3
    checked = {"automations_kata": "event"}
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("admins",))
    fields = {
        "automations_kata": Text("The automation to run, as KATA. Returned with `expand`.", 65535, shown=False),
        "created_at": CreatedAt(),
        "is_disabled": Bit("Does not run while this is 1.", filter=None),
        "is_recurring": Bit("Runs repeatedly, following its patterns.", filter_note="Runs again."),
        "last_ran_at": Timestamp("Last run; 0 for never."),
        "name": Name(),
        "next_run_at": Timestamp("Next run; 0 for never. Computed from the patterns if only they are sent."),
        "recurring_patterns": Text(
            "When it runs, one pattern per line as in cron: minute, hour, day of month, month, day of "
            "week, or @hourly, @daily, @weekly, @monthly, @yearly. Lines that start with # are comments.",
            65535,
            filter=None,
        ),
        "recurring_timezone": Text("Time zone of the patterns, such as Europe/Berlin.", form="timezone", filter=None),
        "updated_at": UpdatedAt(),
    }
    keys = (
        Key(
            "automations_kata", "text", "The binding.", lambda record, shown: record["automations_kata"], on_expand=True
        ),
    )
    for_admins = frozenset(("automations_kata",))
    columns = (
        Column("started_for"),  # next_run_at of the run that was started last
        Column("continuation_id"),
    )
    indexes = (Index(("is_disabled", "next_run_at"), "timers that are due"),)
    subtotals = Subtotals(search=("fieldset", "links", "watchers"))
    due_column = "next_run_at"

    def prepare(self, change: Change, writing: Writing) -> None:
        bound_automations.require_runnable(change, writing, bound_automations.TIMER)
        if "recurring_patterns" in change.new:
            recurrence.check(change.new["recurring_patterns"], "recurring_patterns")
        is_asked = any(change.changes(name) for name in ("is_recurring", "recurring_patterns", "recurring_timezone"))
        if change.sent and "next_run_at" not in change.sent and is_asked and change.value("is_recurring"):
            zone = times.zone(change.value("recurring_timezone") or "UTC")
            change.new["next_run_at"] = recurrence.next_time(change.value("recurring_patterns"), writing.now, zone)
