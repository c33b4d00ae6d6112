"""What pages of records are put together from, as HTML. Values are escaped."""

from collections.abc import Sequence
from functools import lru_cache

from markupsafe import Markup

from console.html import ui
from console.http.visit import Visit
from server.outbox.delivery import Delivery, State
from server.record_types import field_roles
from server.record_types.shared import paths
from server.records.sheet import Fact, File, Sheet
from server.translation import N_, _, shown_mark

SOON_SECONDS = 60
# How mail that has not left is shown on its ticket.
DELIVERIES: dict[State, tuple[str, str]] = {
    "sending": ("info", N_("being sent")),
    "queued": ("info", N_("waiting to be sent")),
    "later": ("info", N_("Scheduled")),
    "parked": ("err", N_("not sent")),
    "held": ("warn", N_("not sent yet")),
    "partly": ("err", N_("not sent to everyone")),
    "failing": ("warn", N_("not sent yet")),
    "failed": ("err", N_("not sent")),
}
# The icon of a change on a ticket, by the beginning of its activity point.
EVENT_ICONS = {
    "ticket.status.closed": "check",
    "ticket.status.waiting": "clock",
    "ticket.status": "inbox",
    "ticket.target": "clock",
    "ticket.owner": "user",
    "ticket.participant": "people",
    "ticket.tag": "tag",
    "ticket.moved": "group",
    "ticket.macro": "bolt",
    "ticket.rat": "check",
    "ticket.message": "mail",
    "ticket.answer": "mail",
    "task": "task",
}


@lru_cache(maxsize=256)
def event_icon(point: str) -> str:
    """Returns the name of the icon of a change.

    >>> event_icon("ticket.owner.assigned"), event_icon("record.changed")
    ('user', 'pencil')
    """
    return next((name for start, name in EVENT_ICONS.items() if point.startswith(start)), "pencil")


def by_fieldset(facts: Sequence[Fact]) -> list[tuple[str, list[Fact]]]:
    """Groups facts by fieldset, those without one first.

    >>> facts = [Fact("a", "A", "text", 1, "Billing"), Fact("b", "B", "text", 2)]
    >>> [(name, [each.key for each in found]) for name, found in by_fieldset(facts)]
    [('', ['b']), ('Billing', ['a'])]
    """
    names = dict.fromkeys(("", *(each.fieldset for each in facts)))
    groups = [(name, [each for each in facts if each.fieldset == name]) for name in names]
    return [each for each in groups if each[1]]


def sections(sheet: Sheet) -> tuple[list[tuple[str, list[Fact]]], list[Fact]]:
    """The facts of a record by their headings, and the facts that the service itself sets. Leaves out names that the
    label of the record repeats."""
    by_heading: dict[str, list[Fact]] = {"": []}
    by_service = []
    for fact in sorted(sheet.facts, key=lambda fact: field_roles.order(sheet.type, fact.key)):
        role = field_roles.role(sheet.type, fact.key)
        if role == field_roles.SYSTEM:
            by_service.append(fact)
        elif role != field_roles.NAME or fact.value != sheet.label:
            by_heading.setdefault(fact.fieldset or shown_mark(field_roles.HEADINGS[role]), []).append(fact)
    return list(by_heading.items()), by_service


def files(attachments: Sequence[File]) -> Markup:
    """Files with the way to their bytes; images show what they are. Nothing for none."""
    return ui.files(attachments, paths.record) if attachments else Markup()


def trusted(html: str) -> Markup:
    """Marks sanitized HTML for a template, which shows it as it is."""
    return Markup(html)


def delivery(visit: Visit, mail: Delivery | None) -> Markup:
    """The state of a mail that has not left; blank for one that has."""
    if mail is None:
        return Markup()
    kind, text = DELIVERIES[mail.state]
    is_soon = leaves_soon(visit, mail)
    if is_soon:
        text = _("Sending in {seconds} s", seconds=max(mail.due_at - visit.now, 0))
    return ui.delivery(visit, mail, kind, text, is_soon)


def leaves_soon(visit: Visit, mail: Delivery) -> bool:
    """Whether a mail waits only for the moments in which its author can undo sending it."""
    return mail.state == "later" and mail.due_at - visit.now <= SOON_SECONDS


def cut(text: str, most: int) -> str:
    """The beginning of a long text, and how much of it is left out.

    >>> cut("Short.", 20), cut("Long enough.", 4)
    ('Short.', 'Long\\n[8 more characters]')
    """
    remaining = len(text) - most
    if remaining <= 0:
        return text
    more = _("{count} more characters", count=f"{remaining:,}")
    return f"{text[:most]}\n[{more}]"
