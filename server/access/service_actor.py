"""Contexts of the service itself: for jobs, timers, webhooks, incoming mail, and commands."""

from server import clock, times
from server.access.actor import command_line, system
from server.context import Context, Service


def own_context(
    service: Service,
    now: int | None = None,
    zone: str = "UTC",
    request_id: str = "",
    depth: int = 0,
    *,
    is_by_machine: bool = False,
) -> Context:
    """Returns a context of the service itself.

    now: Unix seconds, by default of the clock. zone: the name of a known zone."""
    at = clock.now() if now is None else now
    return Context(service, system(zone), at, times.zone(zone), request_id, depth, is_by_machine=is_by_machine)


def command_context(service: Service) -> Context:
    """Returns a context of a command on the data folder, at this moment."""
    return Context(service, command_line(), clock.now(), times.zone("UTC"))
