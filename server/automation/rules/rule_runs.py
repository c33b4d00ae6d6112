"""Runs rules on a ticket, in their order, and records why each ran and what came of it."""

from collections.abc import Sequence
from dataclasses import asdict, field
from typing import Any

from server.access.service_actor import own_context
from server.automation import bindings
from server.automation.automation_service import MAX_DEPTH, ServiceHost, perform
from server.automation.engine import ENDED, RunResult
from server.automation.host import LogEntry
from server.automation.rules import rule_building, rule_list
from server.automation.rules.rule_list import TicketRule
from server.automation.rules.rule_tables import RULE_RUN
from server.context import Context, Service
from server.contexts import AUTOMATION, TICKET
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.jobs.job_queue import JobQueue, job
from server.people.administrators import administrators
from server.record_types.shared.triggers import RULE
from server.records.event_publishing import record_values
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.rules import steps
from server.store.statements import slot
from server.store.transaction import Transaction
from server.template.values import truthy
from server.tickets.rule_events import EVENT
from server.translation import N_, shown

KIND = "rules"
POINT = "automation.rule.off"
KEPT_RUNS = 200  # runs that are stored per rule
MAX_MESSAGE_CHARS = 500
DONE, PROBLEM, SKIPPED, FAILED, LIMIT = "done", "problem", "skipped", "failed", "limit"


@dataclass(slots=True)
class TicketEvents:
    """What happened on a ticket. depth: length of the chain of automations that caused it. is_by_machine: whether
    automatic mail caused it."""

    ticket_id: int
    events: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    depth: int = 0
    is_by_machine: bool = False


def add_job(ctx: Context, tx: Transaction, happened: TicketEvents, rule_ids: Sequence[int]) -> None:
    """Adds the job that runs rules on a ticket."""
    payload = asdict(happened) | {"rules": list(rule_ids), "depth": happened.depth + 1}
    JobQueue.add(tx, KIND, ctx.now, payload, is_slow=True)
    ctx.service.wake_after(tx)


@job(KIND, N_("Runs the rules for what happened on a ticket"))
def run_rules(service: Service, payload: dict[str, Any], now: int) -> None:
    """Runs each rule, even if an earlier one fails; ends after one that says so.

    A rule whose records no longer exist is switched off and does nothing."""
    ctx = _context(service, payload, now, "UTC")
    ticket_id, events = payload["ticket_id"], payload["events"]
    values = values_of(ticket_id, events, payload["fields"])
    rules, text = service.store.read(lambda tx: _rules(ctx, tx))
    try:
        names = {rules[id].name.lower() for id in payload["rules"] if id in rules}
        only = {name for name, each in bindings.entries(text).items() if rule_building.automation_of(each[2]) in names}
        handlers = list(bindings.handlers(text, RULE, values, ServiceHost(ctx), only))
    except HelpdeskError as error:
        message = f"{EVENT}: its binding fails: {error.message}"
        service.store.write(lambda tx: ServiceHost(ctx).log(tx, "", [LogEntry(3, "", message)]))
        return
    for each in handlers:
        rule = rules.get(each.automation.id)
        if rule is None or rule.id not in payload["rules"]:
            continue
        if ctx.depth > MAX_DEPTH:
            _record(ctx, rule, ticket_id, events, LIMIT, f"after {MAX_DEPTH} automations that caused each other")
            continue
        lost = problems(ctx, rule)
        if lost:
            switch_off(ctx, rule, lost[0])
            continue
        zone = rule.form.zone if rule.form is not None else "UTC"
        result = perform(_context(service, payload, now, zone), each.automation, values | {"inputs": each.inputs})
        _record(ctx, rule, ticket_id, events, *_outcome(result))
        returned = result.returned if isinstance(result.returned, dict) else {}
        if truthy(returned.get("stop")):
            return


def _context(service: Service, payload: dict[str, Any], now: int, zone: str) -> Context:
    return own_context(service, now, zone, depth=payload["depth"], is_by_machine=payload["is_by_machine"])


def values_of(ticket_id: int, events: Sequence[str], fields: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the dictionary of a rule."""
    return record_values("ticket", TICKET, ticket_id) | {"events": list(events), "changed_fields": list(fields)}


def _rules(ctx: Context, tx: Transaction) -> tuple[dict[int, TicketRule], str]:
    """Returns the rules by their ids, and their binding."""
    rules = {each.id: each for each in rule_list.in_order(ctx, tx)}
    return rules, rule_building.binding(RecordReader(ctx, tx))[1]


def problems(ctx: Context, rule: TicketRule) -> list[str]:
    """Returns what keeps a rule from running: its steps that name a record that no longer exists, and the record."""
    form = rule.form
    if form is None:
        return []
    found = ctx.service.store.read(lambda tx: rule_building.missing(form, RecordReader(ctx, tx)))
    places = [int(field.split(".")[1]) for field, _problem in found]
    return [
        f"{place + 1}. {shown(steps.kind_of(form.steps[place]).label)}: {problem}"
        for place, (_field, problem) in zip(places, found, strict=True)
    ]


def _outcome(result: RunResult) -> tuple[str, str]:
    """Returns state and message of a run."""
    if result.state not in ENDED:
        return FAILED, result.message
    errors = [each.message for each in result.log if each.level <= 4]
    if errors:
        return PROBLEM, errors[0]
    returned = result.returned if isinstance(result.returned, dict) else {}
    return (SKIPPED, str(returned["skipped"])) if returned.get("skipped") else (DONE, "")


def _record(ctx: Context, rule: TicketRule, ticket_id: int, events: Sequence[str], state: str, message: str) -> None:
    table: Any = RULE_RUN.sql

    def write(tx: Transaction) -> None:
        if tx.get(ctx.service.registry.type("ticket").table, ticket_id) is None:
            return
        row = {
            "automation_id": rule.id,
            "ticket_id": ticket_id,
            "at": ctx.now,
            "events": ",".join(events),
            "state": state,
            "message": message[:MAX_MESSAGE_CHARS],
        }
        tx.insert(RULE_RUN, row)
        oldest = tx.value(
            lambda: (
                table.select(table.id)
                .where(table.automation_id == slot(0))
                .order_by(table.id.desc())
                .limit(1)
                .offset(KEPT_RUNS)
            ),
            (rule.id,),
        )
        if oldest:
            tx.run(lambda: table.delete().where(table.automation_id == slot(0), table.id <= slot(1)), (rule.id, oldest))

    ctx.service.store.write(write)


def switch_off(ctx: Context, rule: TicketRule, problem: str) -> None:
    """Switches off a rule that cannot run, and notifies administrators why."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        rule_list.switch_in(writing, rule, is_on=False)
        variables = {"target": rule.title, "error": problem[:MAX_MESSAGE_CHARS]}
        writing.log(POINT, AUTOMATION, rule.id, variables, also_notify=administrators(writing.tx))

    ctx.service.store.write(write)
