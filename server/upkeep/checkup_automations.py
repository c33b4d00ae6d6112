"""Checks whether the automations in the bindings of events, timers and webhooks exist."""

from collections.abc import Iterator

from server.automation import bound_automations
from server.context import Service
from server.translation import N_, lazy_gettext
from server.upkeep.finding import Finding


def of_bindings(service: Service) -> Iterator[Finding]:
    """Reports entries of bindings that never run."""
    lost = service.store.read(lambda tx: bound_automations.lost_entries(service.registry, tx))
    for each in lost[: bound_automations.MAX_REPORTED]:
        yield Finding(
            N_("automations"),
            "warning",
            lazy_gettext(
                "{holder}: {entry} never runs: {reason}",
                holder=f"{each.uri} '{each.holder}'",
                entry=each.key,
                reason=each.reason,
            ),
            N_("create the automation again, name another one in the binding, or remove the entry"),
        )
