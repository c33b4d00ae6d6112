"""The clocks of a ticket's service target, with what they count in words."""

from datetime import date

from console.html import ui
from console.http.visit import Visit
from server.dataclass import dataclass
from server.quantities import hours_text
from server.records.sheet import Sheet
from server.tickets import target_clocks
from server.tickets.target_clocks import DayOff, TargetClock
from server.translation import N_, Words, _

LABELS = {"response": N_("First response"), "next_response": N_("Next response"), "resolution": N_("Resolution")}


@dataclass(frozen=True)
class ShownClock:
    """A clock. state: running, paused, met or late. notes: sentences."""

    label: Words
    state: str
    due_at: int
    notes: tuple[str, ...]


def of_ticket(visit: Visit, ticket: Sheet) -> list[ShownClock]:
    """Returns the clocks of a ticket, none without a target."""
    if not any(ticket.keys[f"{goal}_due_at"] for goal in LABELS):
        return []
    return [
        ShownClock(LABELS[each.goal], each.state, each.due_at, tuple(_notes(visit, each)))
        for each in target_clocks.read(visit.ctx, ticket.id)
    ]


def _notes(visit: Visit, clock: TargetClock) -> list[str]:
    since, allowed = ui.soon(visit, clock.since), hours_text(clock.seconds)
    notes = []
    if clock.state != "paused":
        text = N_("Due {time}: {duration} of working time from {start}.")
        if not clock.has_hours:
            text = N_("Due {time}: {duration} from {start}.")
        notes.append(_(text, time=ui.soon(visit, clock.due_at), duration=allowed, start=since))
    elif clock.used is not None:
        notes.append(_("{used} of {duration} are used.", used=hours_text(clock.used), duration=allowed))
    if clock.paused >= 60:
        notes.append(_("Paused for {duration}.", duration=hours_text(clock.paused)))
    return [*notes, *(_holiday(visit, each) for each in clock.holidays)]


def _holiday(visit: Visit, holiday: DayOff) -> str:
    first, last = _day(visit, holiday.first), _day(visit, holiday.last)
    if holiday.first == holiday.last:
        return _("{day} does not count: {name}.", day=first, name=holiday.name)
    return _("{first} to {last} do not count: {name}.", first=first, last=last, name=holiday.name)


def _day(visit: Visit, day: date) -> str:
    return ui.day(visit, day)[0]
