"""What the service does in its own name: jobs, timers, webhooks, mail that arrives; and what commands have it do."""

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
    """An operation of the service itself.

    now: Unix seconds, those of the clock if not told. zone: a name that is known."""
    at = clock.now() if now is None else now
    return Context(service, system(zone), at, times.zone(zone), request_id, depth, is_by_machine=is_by_machine)


def command_context(service: Service) -> Context:
    """An operation of a command on the data folder, of this moment."""
    return Context(service, command_line(), clock.now(), times.zone("UTC"))
