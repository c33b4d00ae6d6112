"""Ticket statuses: names under the four states. A former name still finds one, so that saved searches outlive a
rename; the name of a deleted one finds nothing."""

from typing import Any

from server.errors import Conflict
from server.fields import CreatedAt, Id, Name, Number, Text, Uint, UpdatedAt, Word
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Event,
    Expand,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared.collections import ids_text
from server.record_types.shared.relation_tables import TICKET_STATUS_NAME
from server.record_types.tag import COLORS
from server.record_types.traits import Search
from server.search.filters import ChoiceFilter
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.tickets import due_times
from server.tickets.types.ticket_parts import status, status_names
from server.translation import N_, about_field, lazy_gettext

STATES = {word: number for number, word in enumerate(status.WORDS)}


def num_tickets(view: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads `num_tickets`, which triggers count."""
    counts = table_named("ticket_summary")
    rows = view.tx.rows(
        lambda: counts.select(counts.c.status_name_id, counts.c.n).where(in_list(counts.c.status_name_id, slot(0))),
        (ids_text(records),),
    )
    numbers = {record["id"]: 0 for record in records}
    for id, number in rows:
        numbers[id] += number
    return {id: {"num_tickets": number} for id, number in numbers.items()}


class TicketStatus(RecordType):
    """A name for tickets in one of the four states, such as Waiting for supplier."""

    uri = "ticket_status"
    label_names = ("Ticket Status", "Ticket Statuses")
    aliases = ("ticket status", "ticket statuses", "ticket_statuses")
    tier = 2
    lookup = "name"
    traits = (Search(),)
    access = Access(read="any worker", write=("admins",))
    fields = {
        "clock": Text(
            "Clock of service targets: `runs`, also while waiting; `paused`, also while open; blank: as its state.",
            16,
            allowed=("", *status_names.CLOCKS),
        ),
        "color": Text("Color beside its name.", 16, default=COLORS[0], allowed=COLORS),
        "created_at": CreatedAt(),
        "group_id": Id(
            "Group that uses it; 0 for every group. Tickets of other groups cannot get it.",
            "group",
            zero_ok=True,
            nested_note="Group that uses it; 0 for every group.",
        ),
        "name": Name(
            "Name, unique without regard to case, without commas, colons and double quotes; also the label.",
            status_names.MAX_CHARS,
        ),
        "position": Uint("Place among the names of its state; the last when omitted."),
        "status": Word(
            "State of its tickets, by word, of which the first letter is enough; or by number as `status_id`.",
            status.WORDS,
            numbers=True,
            alternative_to="status_id",
        ),
        "status_id": Number(
            "State of its tickets, which never changes: 0 open, 1 waiting, 2 closed, 3 deleted.",
            alternatives=("status",),
            min=0,
            max=3,
            words=(N_("open"), N_("waiting"), N_("closed"), N_("deleted")),
            filter="status.id",
        ),
        "updated_at": UpdatedAt(),
    }
    keys = (
        Key(
            "status",
            "text",
            "open, waiting, closed or deleted.",
            lambda record, view: status.WORDS[record["status_id"]],
        ),
    )
    filters = (
        ChoiceFilter("status", "State of its tickets; a letter is enough.", "status_id", STATES, sortable=False),
    )
    events = (Event("ticket_status.renamed", "its name changed"),)
    subtotals = Subtotals(search=("status", "color"))
    expands = (Expand("num_tickets", "number", "Number of tickets that have it.", num_tickets, reads="ticket"),)
    exported_tables = (TICKET_STATUS_NAME,)
    bumps = {status_names.VERSION: (), due_times.VERSION: ("clock",)}

    def prepare(self, change: Change, writing: Writing) -> None:
        """Resolves the state and the place, and checks that the name is free. Raises Invalid, Conflict."""
        new = change.new
        if "status" in change.extras and "status_id" not in new:
            new["status_id"] = STATES[change.extras["status"]]
        if not change.is_create and change.changes("status_id"):
            problem = lazy_gettext("a status keeps its state; add another one")
            raise Conflict(about_field("status", problem), field="status")
        if not change.value("color"):
            new["color"] = COLORS[0]
        if change.is_create and "position" not in change.sent:
            others = status_names.read(writing.tx).by_id.values()
            new["position"] = max((each.position + 1 for each in others), default=0)
        if "name" in new:
            new["name"] = status_names.checked_name(new["name"])
            self._require_free(change, writing)

    def _require_free(self, change: Change, writing: Writing) -> None:
        names = status_names.read(writing.tx)
        key = status_names.name_key(change.new["name"])
        for each in names.by_id.values():
            if each.id != change.id and status_names.name_key(each.name) == key:
                problem = lazy_gettext("there is a status {name} already", name=each.name)
                raise Conflict(about_field("name", problem), field="name")

    def after_write(self, change: Change, writing: Writing) -> None:
        """Adds the name to those that find the status, also if it is a former name of another one; logs a new name."""
        if change.is_create or change.changes("name"):
            key = status_names.name_key(change.value("name"))
            writing.tx.put(TICKET_STATUS_NAME, {"name_key": key, "ticket_status_id": change.id})
        if not change.is_create and change.changes("name"):
            variables = {"target": change.value("name"), "old": change.was("name")}
            writing.log("ticket_status.renamed", self.context, change.id, variables)
        due_times.forget(writing.tx)

    def after_delete(self, record: Record, writing: Writing) -> None:
        """Leaves its tickets in their state, and its names without tickets. A scan clears the id on the tickets."""
        name: Any = TICKET_STATUS_NAME.sql
        writing.tx.run(
            lambda: name.update({name.ticket_status_id: slot(0)}).where(name.ticket_status_id == slot(1)),
            (0, record["id"]),
        )
        writing.wake()
