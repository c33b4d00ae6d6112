"""Forms of rules: their events, conditions and steps, and the script and policy that follow.

A form is a map: `title`, `when` (names of EVENTS), `fields` (of `changed`), `since`, `amount` and `unit` (of `time`),
`match` (all or any), `conditions` (queries of tickets), `zone` (of their times), `steps` (see steps.py), `stops`, and
`matches_everything` (the consent to a rule that matches every ticket)."""

from collections.abc import Mapping, Sequence
from typing import Any

from server import times
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import BadQuery, Invalid, Mistakes, Required, nearest
from server.rules import steps
from server.rules.steps import Tree
from server.search.control_terms import query_of
from server.search.query_parser import parse_group
from server.translation import N_, Words, _

CREATED, WROTE, REPLIED, CHANGED, TIME = "created", "customer_wrote", "worker_replied", "changed", "time"
EVENTS: dict[str, Words] = {
    CREATED: N_("A ticket is created"),
    WROTE: N_("A customer replies"),
    REPLIED: N_("A worker replies"),
    "customer_rated": N_("A customer rates the ticket"),
    CHANGED: N_("A field changes"),
    "target_due": N_("A service target is about to be missed"),
    "target_missed": N_("A service target was missed"),
    TIME: N_("Time has passed"),
}
FIELDS: dict[str, Words] = {
    "status": N_("Status"),
    "owner": N_("Owner"),
    "place": N_("Group or bucket"),
    "importance": N_("Importance"),
    "tags": N_("Tags"),
    "subject": N_("Subject"),
    "org": N_("Organization"),
    "custom": N_("Custom fields"),
}
SINCE: dict[str, tuple[Words, str, str]] = {  # label, filter, column of the ticket
    "created": (N_("the ticket was created"), "created", "created"),
    "message": (N_("the last message"), "updated", "updated"),
    "opened": (N_("it became open"), "lastOpenedAt", "last_opened_at"),
    "closed": (N_("it was closed"), "closed", "closed"),
}
UNITS: dict[str, tuple[Words, int]] = {
    "minutes": (N_("minutes"), 60),
    "hours": (N_("hours"), 3600),
    "days": (N_("days"), 86400),
}
EVERYTHING = "matches_everything"
KEYS = (
    "title",
    "when",
    "fields",
    "since",
    "amount",
    "unit",
    "match",
    "conditions",
    "zone",
    "steps",
    "stops",
    EVERYTHING,
)
MAX_TITLE_CHARS = 100
MAX_CONDITIONS = 10  # queries of one rule
MAX_CONDITION_CHARS = 1_000  # per query
MAX_AMOUNT = 1_000  # minutes, hours or days


@dataclass(frozen=True, slots=True)
class RuleForm:
    """A checked form. seconds: the time that has passed since `since`; 0 without the event `time`. matches_any: whether
    one condition suffices. stops: whether later rules do not run on a ticket after this one. matches_everything:
    whether it may match every ticket."""

    title: str
    when: tuple[str, ...]
    fields: tuple[str, ...]
    since: str
    amount: int
    unit: str
    matches_any: bool
    conditions: tuple[str, ...]
    zone: str
    steps: tuple[dict[str, str], ...]
    stops: bool
    matches_everything: bool = False

    @property
    def seconds(self) -> int:
        return self.amount * UNITS[self.unit][1] if TIME in self.when else 0

    @property
    def query(self) -> str:
        """The query of its conditions, "" without any."""
        return (" OR " if self.matches_any else " ").join(f"({each})" for each in self.conditions)

    @property
    def values(self) -> dict[str, Any]:
        """The form as it is stored."""
        return {
            "title": self.title,
            "when": list(self.when),
            "fields": list(self.fields),
            "since": self.since,
            "amount": self.amount,
            "unit": self.unit,
            "match": "any" if self.matches_any else "all",
            "conditions": list(self.conditions),
            "zone": self.zone,
            "steps": list(self.steps),
            "stops": int(self.stops),
            EVERYTHING: int(self.matches_everything),
        }

    def listens_to(self, events: Sequence[str], fields: Sequence[str]) -> bool:
        """Returns whether it runs after one of these events. fields: names of changed fields."""
        if not set(self.when).isdisjoint(set(events) - {CHANGED}):
            return True
        changed = CHANGED in events and CHANGED in self.when
        return changed and (not self.fields or not set(self.fields).isdisjoint(fields))


def read(values: Any) -> RuleForm:
    """Checks a form. Raises Invalid and Required with all mistakes; the fields of errors are keys of the form, and for
    one of several `<key>.<place from 0>`."""
    if not isinstance(values, Mapping):
        raise Invalid("form: takes a map", field="form")
    for name in values:
        if name not in KEYS:
            raise Invalid(f"form: has no '{str(name)[:80]}'{nearest(str(name), KEYS)}", field="form")
    mistakes = Mistakes()
    title = " ".join(str(values.get("title") or "").split())
    if not title:
        mistakes.add(Required(_("give the rule a name"), field="title"))
    elif len(title) > MAX_TITLE_CHARS:
        mistakes.add(Invalid(_("at most {count} characters", count=MAX_TITLE_CHARS), field="title"))
    when = _choices(values, "when", EVENTS, mistakes)
    if not when and not mistakes_in(mistakes, "when"):
        mistakes.add(Required(_("choose when it runs"), field="when"))
    fields = _choices(values, "fields", FIELDS, mistakes) if CHANGED in when else ()
    since, amount, unit = "created", 0, "days"
    if TIME in when:
        since = _choice(values, "since", SINCE, mistakes)
        unit = _choice(values, "unit", UNITS, mistakes)
        amount = _amount(values, mistakes)
    match = str(values.get("match") or "all")
    if match not in ("all", "any"):
        mistakes.add(Invalid(_("choose all or any"), field="match"))
    conditions = _conditions(values.get("conditions") or [], mistakes)
    zone = str(values.get("zone") or "UTC")
    with mistakes.collect():
        _require_zone(zone)
    checked: list[dict[str, str]] = []
    try:
        checked = steps.read(values.get("steps") or [])
    except Invalid as error:
        mistakes.add_all(error)
    mistakes.require_none()
    return RuleForm(
        title=title,
        when=when,
        fields=fields,
        since=since,
        amount=amount,
        unit=unit,
        matches_any=match == "any",
        conditions=conditions,
        zone=zone,
        steps=tuple(checked),
        stops=_flag(values, "stops"),
        matches_everything=_flag(values, EVERYTHING),
    )


def _flag(values: Any, name: str) -> bool:
    return str(values.get(name) or "0").lower() not in ("0", "false", "no")


def _require_zone(name: str) -> None:
    """Requires the name of a time zone. Raises Invalid."""
    try:
        times.zone(name)
    except Invalid as error:
        raise Invalid(error.message, field="zone") from None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [each.strip() for each in str(value or "").split(",") if each.strip()]


def mistakes_in(mistakes: Mistakes, field: str) -> bool:
    """Returns whether a field has a mistake."""
    return any(each.details.get("field") == field for each in mistakes.errors)


def _choices(values: Any, name: str, options: Mapping[str, Any], mistakes: Mistakes) -> tuple[str, ...]:
    chosen = [str(each) for each in _list(values.get(name))]
    for each in chosen:
        if each not in options:
            mistakes.add(Invalid(f"{name}: '{each[:80]}' is unknown{nearest(each, options)}", field=name))
    return tuple(each for each in options if each in chosen)


def _choice(values: Any, name: str, options: Mapping[str, Any], mistakes: Mistakes) -> str:
    text = str(values.get(name) or "")
    if text not in options:
        mistakes.add(Invalid(_("choose one from the list"), field=name))
        return next(iter(options))
    return text


def _amount(values: Any, mistakes: Mistakes) -> int:
    text = str(values.get("amount") or "")
    if not is_whole(text) or not 1 <= int(text) <= MAX_AMOUNT:
        mistakes.add(Invalid(_("must be a number from {least} to {most}", least=1, most=MAX_AMOUNT), field="amount"))
        return 1
    return int(text)


def _conditions(values: Any, mistakes: Mistakes) -> tuple[str, ...]:
    """Returns the queries without blank ones. Which filters exist is checked by the caller."""
    queries = []
    for place, each in enumerate(values if isinstance(values, list) else [values]):
        field, text = f"conditions.{place}", " ".join(str(each or "").split())
        if not text:
            continue
        try:
            if len(text) > MAX_CONDITION_CHARS:
                raise Invalid(_("at most {count} characters", count=MAX_CONDITION_CHARS), field=field)
            query = query_of(parse_group(text))
            if query.sort or query.limit or query.page or query.timezone or not query.root.children:
                problem = _("a condition has filters or words, without sort:, limit:, page: and set.timezone:")
                raise Invalid(problem, field=field)
        except BadQuery as error:
            mistakes.add(Invalid(error.message, field=field, **_position(error)))
        except Invalid as error:
            mistakes.add(error)
        queries.append(text)
    if len(queries) > MAX_CONDITIONS:
        mistakes.add(Invalid(_("at most {count} conditions", count=MAX_CONDITIONS), field="conditions"))
    return tuple(queries)


def _position(error: BadQuery) -> dict[str, Any]:
    return {"position": error.details["position"]} if "position" in error.details else {}


def script_of(form: RuleForm) -> str:
    """Returns the script of a rule: it stops if its events did not happen or its conditions do not hold."""
    start: Tree = {"outcome/when": {"if@bool": f"{{{{not ({_when(form)})}}}}", "then": _skipped("when")}}
    if form.conditions:
        start["record.search/if"] = {
            "output": "match",
            "inputs": {
                "record_type": "ticket",
                "record_query@raw": f"id:${{id}} limit:1 ({form.query})",
                "record_query_params": {"id@key": "ticket_id"},
            },
        }
        start["outcome/if"] = {"if@bool": "{{not match}}", "then": _skipped("if")}
    start |= steps.commands(form.steps)
    start["return"] = {"stop@bool": "yes" if form.stops else "no"}
    return steps.kata({"start": start})


def _when(form: RuleForm) -> str:
    """The condition that one of its events happened."""
    events = [each for each in form.when if each != CHANGED or not form.fields]
    parts = [f"(events has some e => e in [{_quoted(events)}])"] if events else []
    if CHANGED in form.when and form.fields:
        parts.append(f"('{CHANGED}' in events and changed_fields has some f => f in [{_quoted(form.fields)}])")
    return " or ".join(parts)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{each}'" for each in names)


def _skipped(why: str) -> Tree:
    return {"return": {"skipped": why}}


def policy_of(form: RuleForm) -> str:
    """Returns the policy of a rule: the commands of its steps, and the search for its ticket."""
    commands = steps.policy_commands(form.steps)
    if form.conditions:
        commands.setdefault("record.search", {})["allow/if@bool"] = "{{inputs.record_type == 'ticket'}}"
    return steps.kata({"commands": commands, "settings": {"time_limit_ms@int": "60000"}})


@dataclass(frozen=True, slots=True)
class Assignment:
    """A change by a step. aspect: of the ticket. value: "" for one that differs from run to run."""

    aspect: str
    value: str = ""


_CONSTANT = {"assign": "worker_id", "move": "place", "status": "status", "importance": "importance", "tags": "tags"}
_ASPECTS = {"custom": "field"}


def assignments(form: RuleForm) -> set[Assignment]:
    """Returns what the steps of a rule set."""
    result = set()
    for step in form.steps:
        value = step.get(_CONSTANT.get(step["kind"], ""), "")
        if step["kind"] == "close":
            value = "closed"
        elif step["kind"] == "wait":
            value = "waiting"
        elif step["kind"] == "unassign":
            value = "0"
        elif step["kind"] == "field":
            value = f"{step['field']}={step.get('value', '')}"
        for aspect in steps.kind_of(step).sets:
            name = step.get("field", "") if aspect == "field" else ""
            own = {"subject": "subject", "org_id": "org"}.get(name, aspect)
            result.add(Assignment(own, value))
    return result


def _heard(form: RuleForm) -> set[str]:
    """The aspects after whose change a rule runs."""
    heard = {"reply"} if REPLIED in form.when else set()
    if CHANGED in form.when:
        heard |= {_ASPECTS.get(each, each) for each in (form.fields or FIELDS)}
    return heard


def find_circle(form: RuleForm, others: Sequence[RuleForm]) -> list[str]:
    """Returns the titles of rules that would start each other without end, beginning and ending with this one; [] if
    there is no such circle.

    A circle ends by itself if each aspect is set to one value only, because a value that stays is no change."""
    rules = [form, *others]
    paths: list[list[RuleForm]] = [[form]]
    visited: set[int] = set()
    while paths:
        path = paths.pop(0)
        sets = {each.aspect for each in assignments(path[-1])}
        for each in rules:
            if sets.isdisjoint(_heard(each)):
                continue
            if each is form:
                if _goes_on(path):
                    return [*(one.title for one in path), form.title]
            elif id(each) not in visited:
                visited.add(id(each))
                paths.append([*path, each])
    return []


def _goes_on(path: Sequence[RuleForm]) -> bool:
    """Whether the rules of a circle set an aspect that one of them hears to several values."""
    heard = set[str]().union(*map(_heard, path))
    values: dict[str, set[str]] = {}
    for each in set[Assignment]().union(*map(assignments, path)):
        if each.aspect in heard:
            values.setdefault(each.aspect, set()).add(each.value)
    return any(len(each) > 1 or "" in each for each in values.values())
