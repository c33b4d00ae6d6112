"""Behaviors as packages hold them, and the events that behaviors answer to. Values only; nothing is run here."""

from typing import Any

from server.records.parts import Record

API_REQUEST = "event.api.custom_request"
EVENTS = {API_REQUEST: "Custom API request", "event.webhook.received": "Webhook received"}


def event_name(event_point: str) -> str:
    """What people call an event."""
    return EVENTS.get(event_point, event_point)


def exported(behavior: Record) -> dict[str, Any]:
    """A behavior in the form of a package's section `behaviors`. Source: ours."""
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
