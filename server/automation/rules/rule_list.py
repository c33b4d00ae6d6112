"""Lists rules in their order, switches and moves them, and finds matching tickets, runs and missed events."""

import dataclasses
import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import peewee

from server import times
from server.automation import binding_edits
from server.automation.bindings import entries
from server.automation.bound_automations import FIELD, is_off
from server.automation.rules import rule_building
from server.automation.rules.rule_tables import RULE_DONE, RULE_RUN
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError, KataSyntax, NotFound
from server.record_types.record_type import Record
from server.record_types.shared.triggers import RULE
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.rules.rule_form import SINCE, RuleForm
from server.search.ast import BooleanGroup
from server.search.beginning import begun_by_fewer
from server.search.compile import compile_group
from server.search.conditions import Condition, all_of, compared, one_of, slots_from
from server.search.control_terms import query_of
from server.search.query_parser import parse_group
from server.search.select import MAX_VALUES, CompiledSearch, search
from server.store.expressions import one_if
from server.store.statement_shapes import keyed
from server.store.statements import slot
from server.store.store_local import VersionedLocal
from server.store.transaction import Transaction
from server.tickets.rule_events import EVENT, RULE_EVENT

DOING = "work with rules"  # completes the message of AdminOnly
MAX_RUNS = 50  # runs of a rule that its page lists
BITS = 30  # conditions of one statement: its result for a ticket is an integer with a bit for each
MAX_WHY_NOT = 20  # recent events that a page compares with a rule
OFF_LINE = "  disabled@bool: yes\n"


@dataclass(frozen=True, slots=True)
class TicketRule:
    """A rule. name: of its automation. form: None for one that was edited as a script. is_bound: whether it has a place
    in the order."""

    id: int
    name: str
    title: str
    form: RuleForm | None
    is_off: bool
    is_bound: bool

    @property
    def is_script(self) -> bool:
        return self.form is None


@dataclass(frozen=True, slots=True)
class RuleRun:
    """A run of a rule on a ticket. state: done, problem, skipped, failed or limit. message: details, "" for none."""

    ticket_id: int
    at: int
    events: tuple[str, ...]
    state: str
    message: str


@dataclass(frozen=True, slots=True)
class WhyNot:
    """A recent event after which a rule did nothing. failing: its conditions that do not hold for the ticket now."""

    ticket_id: int
    at: int
    event: str
    failing: tuple[str, ...]


RULES: VersionedLocal[tuple[TicketRule, ...]] = VersionedLocal()


def in_order(ctx: Context, tx: Transaction) -> tuple[TicketRule, ...]:
    """Returns all rules in their order, those without a place last; cached by version."""
    version = tx.version("automations")
    cached = RULES.get(tx.store, version)
    if cached is not None:
        return cached
    reading = RecordReader(ctx, tx)
    automation = reading.registry.type("automation")
    records = [automation.record(row) for row in tx.find(automation.table, extension_id=RULE)]
    event = reading.find("automation_event", name=EVENT)
    rules = tuple(_ordered(records, str(event[FIELD]) if event is not None else ""))
    if not tx.can_write:
        RULES.set(tx.store, version, rules)
    return rules


def _ordered(records: Sequence[Record], text: str) -> list[TicketRule]:
    by_name = {record["name"].lower(): record for record in records}
    rules = []
    try:
        bound = entries(text)
    except KataSyntax:
        bound = {}
    for _key, _line, tree in bound.values():
        record = by_name.pop(rule_building.automation_of(tree), None)
        if record is not None:
            rules.append(_rule(record, is_off=is_off(tree), is_bound=True))
    return rules + [_rule(each, is_off=True, is_bound=False) for each in by_name.values()]


def _rule(record: Record, *, is_off: bool, is_bound: bool) -> TicketRule:
    title, form = rule_building.title_of(record), rule_building.form_of(record)
    return TicketRule(record["id"], record["name"], title, form, is_off, is_bound)


def list_rules(ctx: Context) -> tuple[TicketRule, ...]:
    """Returns all rules in their order. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: in_order(ctx, tx))


def find(ctx: Context, id: int) -> TicketRule:
    """Returns a rule. Raises AdminOnly, NotFound."""
    rule = next((each for each in list_rules(ctx) if each.id == id), None)
    if rule is None:
        raise NotFound(f"there is no rule {id}")
    return rule


def switch(ctx: Context, id: int, *, is_on: bool) -> None:
    """Switches a rule on or off; one without a place in the order gets the last one. Raises AdminOnly, NotFound."""
    rule = find(ctx, id)
    ctx.service.store.write(lambda tx: switch_in(RecordWriter(ctx, tx), rule, is_on=is_on))


def switch_in(writing: RecordWriter, rule: TicketRule, *, is_on: bool) -> None:
    """Switches a rule on or off, inside a write."""
    holder, text = rule_building.binding(writing)
    key = rule_building.entry_of(text, rule.name)
    if not key:
        if not is_on:
            return
        key = rule_building.entry_name(rule.id)
        text = binding_edits.with_entry(text, key, rule.name)
    text = _switched(text, key, is_on)
    writing.update_sent(writing.registry.type("automation_event"), holder, {FIELD: text})


def _switched(text: str, key: str, is_on: bool) -> str:
    """Returns a binding with one entry on or off.

    >>> print(_switched("automation/a:\\n  uri: x\\nautomation/b:\\n  uri: y\\n", "a", False), end="")
    automation/a:
      uri: x
      disabled@bool: yes
    automation/b:
      uri: y
    """
    names = list(entries(text))
    place, line = names.index(key), entries(text)[key][1]
    lines = f"{text.rstrip()}\n".splitlines(keepends=True)
    end = entries(text)[names[place + 1]][1] - 1 if place + 1 < len(names) else len(lines)
    own = [each for each in lines[line - 1 : end] if each != OFF_LINE]
    if not is_on:
        last = max(number for number, each in enumerate(own) if each[:1] == " ")
        own.insert(last + 1, OFF_LINE)
    return "".join((*lines[: line - 1], *own, *lines[end:]))


def move(ctx: Context, id: int, steps: int) -> None:
    """Moves a rule up (negative steps) or down in the order. Raises AdminOnly, NotFound."""
    rule = find(ctx, id)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        holder, text = rule_building.binding(writing)
        key = rule_building.entry_of(text, rule.name)
        if key:
            moved = binding_edits.with_moved(text, key, steps)
            writing.update_sent(writing.registry.type("automation_event"), holder, {FIELD: moved})

    ctx.service.store.write(write)


def lost_records(ctx: Context, rule: TicketRule) -> list[tuple[str, str]]:
    """Returns (field of the form, problem) of each record that the steps of a rule name and that no longer exists.
    Raises AdminOnly."""
    ctx.require_admin(DOING)
    form = rule.form
    if form is None:
        return []
    return ctx.service.store.read(lambda tx: rule_building.missing(form, RecordReader(ctx, tx)))


# -- what would match -------------------------------------------------------------------------------------------------


def query_text(form: RuleForm) -> str:
    """Returns the search for the tickets that a form would match now, to be shown and opened as a list."""
    if not form.seconds:
        return form.query
    name = SINCE[form.since][1]
    return f'{name}:"big bang to -{form.amount} {form.unit}" {form.query}'.strip()


def matches(ctx: Context, form: RuleForm, limit: int) -> tuple[list[int], int]:
    """Returns the first tickets that a form would match now, newest last, and how many these are. Raises AdminOnly,
    BadQuery."""
    ctx.require_admin(DOING)

    def read(tx: Transaction) -> tuple[list[int], int]:
        compiled = compiled_search(ctx, tx, form)
        return compiled.ids(limit), compiled.total()

    return ctx.service.store.read(read)


def matches_all(ctx: Context, form: RuleForm) -> bool:
    """Returns whether a form would match every ticket, or has no conditions."""
    if not form.query:
        return True
    return matches(ctx, form, 1)[1] >= max(matches(ctx, dataclasses.replace(form, conditions=(), when=()), 1)[1], 1)


def compiled_search(ctx: Context, tx: Transaction, form: RuleForm) -> CompiledSearch:
    """Returns the search for tickets that meet the conditions of a form and whose time has passed. Raises BadQuery."""
    tickets = ctx.service.registry.type("ticket")
    scope = RecordReader(ctx, tx).scope(everything=True).in_zone(times.zone(form.zone))
    text = f"status:!deleted ({form.query})" if form.query else "status:!deleted"
    compiled = search(tickets, query_of(parse_group(text)), scope)
    if not form.seconds:
        return compiled
    column = tickets.column(SINCE[form.since][2])
    due = [compared(column, "<=", ctx.now - form.seconds), compared(column, ">", 0)]
    return dataclasses.replace(compiled, condition=all_of([*due, compiled.condition]))


def undone_search(ctx: Context, tx: Transaction, rule: TicketRule, form: RuleForm) -> CompiledSearch:
    """Returns the search for the tickets that a rule by time has not handled yet. Raises BadQuery."""
    compiled = compiled_search(ctx, tx, form)
    ticket: Any = compiled.record_type.table.sql
    done: Any = RULE_DONE.sql
    column = getattr(ticket, SINCE[form.since][2])

    def build(at: Any) -> Any:
        rows = done.select(peewee.SQL("1")).where(
            done.automation_id == at(0), done.ticket_id == ticket.id, done.at == column
        )
        return ~peewee.fn.EXISTS(rows)

    not_done = Condition(("rule not done", form.since), (rule.id,), build)
    return dataclasses.replace(compiled, condition=all_of([compiled.condition, not_done]))


class TicketMatcher:
    """Finds which of some tickets meet conditions, inside one read. ids: of the tickets, at least one."""

    def __init__(self, ctx: Context, tx: Transaction, ids: Sequence[int]) -> None:
        self._tx, self._tickets = tx, ctx.service.registry.type("ticket")
        self._scope = RecordReader(ctx, tx).scope(everything=True)
        self._among = one_of(self._tickets.column("id"), ids)

    def condition(self, query: str, zone: str) -> Condition:
        """Compiles a query. zone: of times in the query. Raises BadQuery."""
        scope = self._scope.in_zone(times.zone(zone))
        own = compile_group(self._tickets, _parsed(query), scope)
        return all_of(begun_by_fewer(self._tickets, all_of([self._among, own]), scope).parts[1:])

    def matching(self, conditions: Sequence[Condition]) -> list[set[int]]:
        """Returns for each condition the tickets that meet it. One statement reads each ticket once for BITS
        conditions: 30 rules cost a new ticket 10 microseconds, and 25 with a statement for each."""
        found: list[set[int]] = []
        for first in range(0, len(conditions), BITS):
            found += self._met(conditions[first : first + BITS])
        return found

    def _met(self, conditions: Sequence[Condition]) -> list[set[int]]:
        values = list(self._among.values)
        starts = []
        for each in conditions:
            starts.append(len(values))
            values += each.values
        if len(conditions) > 1 and len(values) > MAX_VALUES:
            middle = len(conditions) // 2
            return self._met(conditions[:middle]) + self._met(conditions[middle:])
        table, among = self._tickets.table.sql, self._among

        def build() -> Any:
            bits = [
                one_if(each.build(slots_from(start))) * peewee.SQL(str(1 << place))
                for place, (each, start) in enumerate(zip(conditions, starts, strict=True))
            ]
            return table.select(table.id, functools.reduce(operator.add, bits)).where(among.build(slots_from(0)))

        key = tuple(each.key for each in conditions)
        rows = self._tx.rows(keyed(build, self._tickets.table, among.key, key), values)
        met = [row for row in rows if row[1]]
        return [{id for id, bits in met if bits >> place & 1} for place in range(len(conditions))]


@functools.lru_cache(maxsize=512)  # parsing takes 60 microseconds, for each rule and second
def _parsed(query: str) -> BooleanGroup:
    return query_of(parse_group(query)).root


# -- why and why not --------------------------------------------------------------------------------------------------


def runs(ctx: Context, id: int) -> list[RuleRun]:
    """Returns the newest runs of a rule. Raises AdminOnly, NotFound."""
    find(ctx, id)
    table: Any = RULE_RUN.sql

    def read(tx: Transaction) -> list[RuleRun]:
        rows = tx.rows(
            lambda: (
                table.select(table.ticket_id, table.at, table.events, table.state, table.message)
                .where(table.automation_id == slot(0))
                .order_by(table.id.desc())
                .limit(MAX_RUNS)
            ),
            (id,),
        )
        return [RuleRun(ticket, at, tuple(events.split(",")), state, text) for ticket, at, events, state, text in rows]

    return ctx.service.store.read(read)


def last_runs(ctx: Context) -> dict[int, tuple[int, int]]:
    """Returns (number of stored runs, time of the newest) by rule, in one statement. Raises AdminOnly."""
    ctx.require_admin(DOING)
    table: Any = RULE_RUN.sql
    rows = ctx.service.store.read(
        lambda tx: tx.rows(
            lambda: table.select(table.automation_id, peewee.fn.COUNT(table.id), peewee.fn.MAX(table.at)).group_by(
                table.automation_id
            )
        )
    )
    return {id: (count, at) for id, count, at in rows}


def why_not(ctx: Context, rule: TicketRule) -> list[WhyNot]:
    """Returns the newest events of tickets after which a rule with a form did nothing.

    Runs one statement for the events and one for the conditions. Raises AdminOnly."""
    ctx.require_admin(DOING)
    form = rule.form
    if form is None:
        return []

    def read(tx: Transaction) -> list[WhyNot]:
        recent = [each for each in _recent(tx) if form.listens_to((each[1],), each[2].split(","))][:MAX_WHY_NOT]
        ids = tuple(sorted({each[0] for each in recent}))
        if not ids:
            return []
        holding = _holding(ctx, tx, form, ids)
        result = []
        for ticket_id, event, _fields, at in recent:
            failing = tuple(query for query in form.conditions if ticket_id not in holding[query])
            if (form.matches_any and len(failing) == len(form.conditions)) or (not form.matches_any and failing):
                result.append(WhyNot(ticket_id, at, event, failing))
        return result

    try:
        return ctx.service.store.read(read)
    except HelpdeskError:  # a query that is no longer valid is reported at its field
        return []


def _recent(tx: Transaction) -> list[tuple[Any, ...]]:
    """Returns (ticket id, event, fields, time) of the newest events, newest first."""
    table: Any = RULE_EVENT.sql
    return tx.rows(
        lambda: table.select(table.ticket_id, table.event, table.fields, table.at).order_by(table.id.desc()).limit(500)
    )


def holds(ctx: Context, form: RuleForm, ticket_id: int) -> Mapping[str, bool]:
    """Returns whether each condition of a form holds for a ticket now. Raises AdminOnly, BadQuery."""
    ctx.require_admin(DOING)

    def read(tx: Transaction) -> dict[str, bool]:
        return {query: bool(ids) for query, ids in _holding(ctx, tx, form, (ticket_id,)).items()}

    return ctx.service.store.read(read)


def _holding(ctx: Context, tx: Transaction, form: RuleForm, ids: Sequence[int]) -> dict[str, set[int]]:
    """Returns the tickets that meet each condition of a form. Raises BadQuery."""
    matcher = TicketMatcher(ctx, tx, ids)
    conditions = [matcher.condition(query, form.zone) for query in form.conditions]
    return dict(zip(form.conditions, matcher.matching(conditions), strict=True))
