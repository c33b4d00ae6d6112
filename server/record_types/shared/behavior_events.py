"""The events of behaviors, and behaviors in the format of packages. Data only; behaviors run in automation/."""

from typing import Any

from server.dataclass import dataclass
from server.errors import nearest
from server.record_types.parts import Record
from server.record_types.shared.triggers import PREFIX

API_REQUEST, CALLED, WEBHOOK = "event.api.custom_request", "event.macro.bot", "event.webhook.received"
EVENTS = {API_REQUEST: "Custom API request", CALLED: "Custom behavior", WEBHOOK: "Webhook received"}


@dataclass(frozen=True)
class EventReplacement:
    """An automation trigger that replaces events of behaviors from other services of this family. events: their ids;
    `*` matches any text. trigger: without its prefix. how: the way to set up the automation."""

    events: str
    trigger: str
    how: str

    def covers(self, event: str) -> bool:
        start, star, end = self.events.partition("*")
        return event.startswith(start) and event.endswith(end) if star else event == start


INSTEAD = (
    EventReplacement(WEBHOOK, "webhook.respond", "named in the `automations_kata` of the webhook"),
    EventReplacement("event.mail.received*", "mail.received", "bound to the event mail.received"),
    EventReplacement("event.mail.sent*", "mail.sent", "bound to the event mail.sent"),
    EventReplacement("event.mail.moved*", "mail.moved", "bound to the event mail.moved"),
    EventReplacement("event.record.changed*", "record.changed", "bound to the event record.changed"),
    EventReplacement("event.*recurrent", "automation.timer", "named in the `automations_kata` of a timer that repeats"),
    EventReplacement("event.macro.*", "automation.function", "called by name, with the record among its inputs"),
)


def refused(event: str) -> str:
    """The error message for an event that is not in EVENTS: its replacement, or the nearest event."""
    for each in INSTEAD:
        if each.covers(event):
            trigger = f"{PREFIX}{each.trigger}"
            return f"behaviors do not respond to '{event[:80]}' here; use an automation: {trigger}, {each.how}"
    return f"'{event[:80]}' is not an event of behaviors{nearest(event, EVENTS)}; there are {', '.join(EVENTS)}"


def event_name(event_point: str) -> str:
    """The display name of an event."""
    return EVENTS.get(event_point, event_point)


def exported(behavior: Record) -> dict[str, Any]:
    """A behavior as an entry of a package's section `behaviors`."""
    return {
        "uid": f"behavior_{behavior['id']}",
        "title": behavior["name"],
        "uri": behavior["uri"],
        "is_disabled": bool(behavior["is_disabled"]),
        "is_private": bool(behavior["is_private"]),
        "priority": behavior["priority"],
        "event": {"key": behavior["event_point"], "label": event_name(behavior["event_point"]), "params": []},
        "variables": behavior["variables"],
        "nodes": behavior["nodes"],
    }
