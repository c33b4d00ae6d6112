"""Finds the rules for what happened on tickets, and for time that has passed, and adds a job per ticket.

Events are read behind a cursor, many at once: one statement for their tickets and the conditions of all rules. So rules
cost a write nothing but the row of its event."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from server.access.service_actor import own_context
from server.automation.rules import rule_list, rule_runs
from server.automation.rules.rule_list import TicketMatcher, TicketRule
from server.automation.rules.rule_runs import TicketEvents
from server.automation.rules.rule_tables import RULE_CURSOR, RULE_DONE
from server.context import Context, Service
from server.errors import BadQuery
from server.jobs.scheduler import periodic
from server.rules.rule_form import SINCE, TIME
from server.store.statements import slot
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction
from server.tickets.rule_events import RULE_EVENT
from server.translation import N_

BATCH = 500  # events that are read at once
MAX_BATCHES = 20  # batches of one scan; the next scan does the rest
MAX_TIMED = 100  # tickets that a rule by time handles in a minute
TIMED_SECONDS = 60  # a rule by time is searched again after this time
SHARE = 100  # or this many times as long as the search took, if that is longer
KEPT_EVENTS = 20_000  # events that stay for the question why a rule did nothing
NEXT_SEARCH: StoreLocal[dict[int, float]] = StoreLocal()  # monotonic time of the next search by rule


@periodic(N_("rules"), N_("Finds the rules for what happened on tickets, and for time that has passed."))
def find_rules(service: Service, now: int) -> int | None:
    """Adds jobs for the rules of new events, and of tickets whose time has passed. Runs each second if there are
    rules."""
    ctx = own_context(service, now)
    for _ in range(MAX_BATCHES):
        cursor, rows = service.store.read(_new_events)
        if rows:
            _handle(ctx, cursor, rows)
        if len(rows) < BATCH:  # newer events wait for the next scan, where a search serves more of them
            break
    else:
        return now
    rules = service.store.read(lambda tx: rule_list.in_order(ctx, tx))
    _find_timed(ctx, rules)
    return None if all(each.is_off for each in rules) else now + 1


def _new_events(tx: Transaction) -> tuple[int, list[tuple[Any, ...]]]:
    cursor = _cursor(tx)
    table: Any = RULE_EVENT.sql
    rows = tx.rows(
        lambda: table.select(*RULE_EVENT.all_columns).where(table.id > slot(0)).order_by(table.id).limit(BATCH),
        (cursor,),
    )
    return cursor, rows


def _cursor(tx: Transaction) -> int:
    position: Any = RULE_CURSOR.sql
    return int(tx.value(lambda: position.select(position.event_id)) or 0)


def _handle(ctx: Context, cursor: int, rows: Sequence[tuple[Any, ...]]) -> None:
    """Finds the rules for a batch of events; adds their jobs and moves the cursor in one transaction."""
    happened = _grouped(rows)
    rules = ctx.service.store.read(lambda tx: rule_list.in_order(ctx, tx))
    matched = _matched(ctx, [each for each in rules if not each.is_off], happened)
    last = int(rows[-1][0])
    position: Any = RULE_CURSOR.sql

    def write(tx: Transaction) -> None:
        if _cursor(tx) != cursor:
            return  # another process handled them
        for ticket, rule_ids in matched:
            rule_runs.add_job(ctx, tx, ticket, rule_ids)
        if not tx.run(lambda: position.update({position.event_id: slot(0)}), (last,)):
            tx.insert(RULE_CURSOR, {"event_id": last})
        table: Any = RULE_EVENT.sql
        tx.run(lambda: table.delete().where(table.id <= slot(0)), (last - KEPT_EVENTS,))

    ctx.service.store.write(write)


def _grouped(rows: Sequence[tuple[Any, ...]]) -> list[TicketEvents]:
    """Returns the events by ticket and by the length of the chain that caused them, in order."""
    groups: dict[tuple[int, int], TicketEvents] = {}
    for _id, ticket_id, event, fields, depth, is_by_machine, _at in rows:
        group = groups.setdefault((ticket_id, depth), TicketEvents(ticket_id, depth=depth))
        group.events += [event] if event not in group.events else []
        group.fields += [each for each in fields.split(",") if each and each not in group.fields]
        group.is_by_machine = group.is_by_machine or bool(is_by_machine)
    return list(groups.values())


def _matched(
    ctx: Context, rules: Sequence[TicketRule], happened: Sequence[TicketEvents]
) -> list[tuple[TicketEvents, list[int]]]:
    """Returns the rules for each ticket, in their order. A rule whose query is no longer valid is switched off."""
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[TicketEvents]] = {}
    for each in happened:
        alike.setdefault((tuple(each.events), tuple(each.fields)), []).append(each)
    heard = [(rule, tickets) for rule in rules if (tickets := _heard(rule, alike))]
    matched: dict[int, tuple[TicketEvents, list[int]]] = {}

    def read(tx: Transaction) -> list[tuple[TicketRule, str]]:
        matcher = TicketMatcher(ctx, tx, sorted({each.ticket_id for each in happened}))
        conditions, wrong = {}, {}
        for rule, _tickets in heard:
            if rule.form is not None and rule.form.query:
                try:
                    conditions[rule.id] = matcher.condition(rule.form.query, rule.form.zone)
                except BadQuery as error:
                    wrong[rule.id] = rule, error.message
        meeting = dict(zip(conditions, matcher.matching(list(conditions.values())), strict=True))
        matched.clear()
        for rule, tickets in heard:
            ids = meeting.get(rule.id)
            for each in () if rule.id in wrong or ids == set() else tickets:
                if ids is None or each.ticket_id in ids:
                    matched.setdefault(id(each), (each, []))[1].append(rule.id)
        return list(wrong.values())

    for rule, problem in ctx.service.store.read(read):
        rule_runs.switch_off(ctx, rule, problem)
    return list(matched.values())


def _heard(
    rule: TicketRule, alike: Mapping[tuple[tuple[str, ...], tuple[str, ...]], list[TicketEvents]]
) -> list[TicketEvents]:
    """Returns the events that a rule waits for. alike: by what happened and what changed."""
    form = rule.form
    return [each for key, events in alike.items() if form is None or form.listens_to(*key) for each in events]


def _find_timed(ctx: Context, rules: Sequence[TicketRule]) -> None:
    """Adds jobs for the tickets whose time has passed, for each rule by time whose search may run."""
    next_search = NEXT_SEARCH.made(ctx.service.store, dict)
    for rule in rules:
        if rule.is_off or rule.form is None or TIME not in rule.form.when:
            continue
        began = time.monotonic()
        if next_search.get(rule.id, 0) > began:
            continue
        try:
            ids = ctx.service.store.read(lambda tx, rule=rule: _due(ctx, tx, rule))  # type: ignore[misc]
        except BadQuery as error:
            rule_runs.switch_off(ctx, rule, error.message)
            continue
        ended = time.monotonic()
        next_search[rule.id] = ended + max((ended - began) * SHARE, TIMED_SECONDS)
        if ids:
            ctx.service.store.write(lambda tx, rule=rule, ids=ids: _claim(ctx, tx, rule, ids))  # type: ignore[misc]


def _due(ctx: Context, tx: Transaction, rule: TicketRule) -> list[int]:
    assert rule.form is not None
    return rule_list.undone_search(ctx, tx, rule, rule.form).ids(MAX_TIMED)


def _claim(ctx: Context, tx: Transaction, rule: TicketRule, ids: Sequence[int]) -> None:
    """Marks tickets as handled by a rule for the time that has passed, and adds their jobs."""
    assert rule.form is not None
    column, table = SINCE[rule.form.since][2], ctx.service.registry.type("ticket").table
    for id in ids:
        row = tx.get(table, id)
        at = row[table.position[column]] if row else 0
        tx.put(RULE_DONE, {"automation_id": rule.id, "ticket_id": id, "at": int(at or 0)})
        rule_runs.add_job(ctx, tx, TicketEvents(id, [TIME]), [rule.id])
