"""Switches off the rules whose steps name a record when that record is deleted."""

from collections.abc import Sequence
from typing import Any

from server.access.service_actor import own_context
from server.automation.rules import rule_list, rule_runs
from server.context import Context, Service
from server.jobs.job_queue import JobQueue, job
from server.record_types.parts import Writing
from server.record_types.shared.deletions import after_deletion
from server.records.event_publishing import bound
from server.rules import steps
from server.tickets.rule_events import EVENT
from server.translation import N_

KIND = "rules.losses"


@after_deletion(*steps.NAMED)
def find_losses(writing: Writing, uri: str, id: int) -> None:
    """Adds the job that switches rules off, if the steps of one name the deleted record."""
    ctx, tx = writing.ctx, writing.tx
    if EVENT not in bound(tx):
        return
    forms = [each.form for each in rule_list.in_order(ctx, tx) if each.form is not None and not each.is_off]
    if any((each.uri, each.id) == (uri, id) for form in forms for each in steps.references(form.steps)):
        JobQueue.add(tx, KIND, writing.now, {})
        ctx.service.wake_after(tx)


def naming(ctx: Context, uri: str, id: int) -> list[int]:
    """Returns the ids of the rules that are on and whose steps name a record. Raises AdminOnly."""
    return [
        each.id
        for each in rule_list.list_rules(ctx)
        if each.form is not None
        and not each.is_off
        and any((one.uri, one.id) == (uri, id) for one in steps.references(each.form.steps))
    ]


def switch_on(ctx: Context, ids: Sequence[int]) -> None:
    """Switches rules on again after the deletion that switched them off was undone. Raises AdminOnly."""
    for rule in rule_list.list_rules(ctx):
        if rule.id in ids and rule.is_off and not rule_runs.problems(ctx, rule):
            rule_list.switch(ctx, rule.id, is_on=True)


@job(KIND, N_("Switches off the rules whose steps name deleted records"))
def switch_off_lost(service: Service, payload: dict[str, Any], now: int) -> None:
    """Switches off each rule whose steps name a record that does not exist."""
    ctx = own_context(service, now)
    for rule in service.store.read(lambda tx: rule_list.in_order(ctx, tx)):
        problems = [] if rule.is_off else rule_runs.problems(ctx, rule)
        if problems:
            rule_runs.switch_off(ctx, rule, problems[0])
