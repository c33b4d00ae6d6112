"""The form of a rule, with the tickets that match now and a trial on one of them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from console.forms.step_form import StepForm
from console.html.form import Form, sentence
from console.html.ui import Option
from console.http.visit import Visit
from server.access.service_actor import own_context
from server.automation import automation_service, examples
from server.automation.engine import RunResult
from server.automation.rules import rule_list, rule_runs
from server.automation.rules.rule_list import TicketRule
from server.dataclass import dataclass
from server.errors import BadQuery, HelpdeskError, all_of
from server.record_types.shared.triggers import RULE
from server.records import records
from server.records.records import SearchRequest
from server.rules import rule_form, steps
from server.rules.rule_form import CHANGED, EVENTS, EVERYTHING, FIELDS, MAX_CONDITIONS, SINCE, UNITS, RuleForm
from server.tickets import masks
from server.translation import N_, Words, _, ngettext, shown

LINES = ("title", "zone", "since", "amount", "unit", "match", "stops", "ticket", "conditions", "sure")
SEVERAL = ("when", "fields")
LABELS: dict[str, Words] = {
    "title": N_("Name"),
    "when": N_("When"),
    "fields": N_("Changed fields"),
    "since": N_("Since"),
    "amount": N_("How long"),
    "unit": N_("Unit"),
    "match": N_("Conditions"),
    "steps": N_("Then"),
    "zone": N_("Time zone"),
    "ticket": N_("Ticket"),
}
MAX_SHOWN = 10  # matching tickets that the page lists
MAX_STEPS = 500  # commands of a trial
FIRST = {"since": "message", "amount": "7", "unit": "days", "match": "all"}


@dataclass(frozen=True, slots=True)
class Matching:
    """The tickets that a form matches now. query: their search."""

    tickets: list[dict[str, Any]]
    total: int
    query: str


@dataclass(frozen=True, slots=True)
class TrialStep:
    """A line of a trial. kind, badge: of its state. text: the condition or step. why: the reason."""

    kind: str
    badge: str
    text: str
    why: str = ""


class RuleEditor:
    """The form of a rule in one request. rule: the stored one, None for a new one."""

    def __init__(self, visit: Visit, rule: TicketRule | None, values: Mapping[str, Any]) -> None:
        self.visit, self.rule = visit, rule
        self.form = Form(
            {name: str(values.get(name) or FIRST.get(name, "")) for name in LINES if name != "conditions"},
            {name: list(values.get(name) or ()) for name in SEVERAL},
        )
        self.form.values["zone"] = self.form.get("zone") or visit.actor.timezone or "UTC"
        self._fill_conditions(list(values.get("conditions") or [""]))
        self.then = StepForm(visit, self.form).fill(values.get("steps") or [])
        self.matching: Matching | None = None
        self.trial: list[TrialStep] | None = None
        self.asks = False

    def find_lost(self) -> None:
        """Adds a mistake for each record that its steps name and that no longer exists."""
        if self.rule is not None:
            for field, problem in rule_list.lost_records(self.visit.ctx, self.rule):
                self.form.fail(field.replace(".", "-"), sentence(problem))

    # -- the submitted form --------------------------------------------------------------------------------------------

    def read(self) -> "RuleEditor":
        """Reads the submitted form, with the pressed buttons of its conditions and steps."""
        sent = self.visit.form
        self.form = Form.sent(sent, LINES, SEVERAL)
        count = sent.integer("conditions", 1, 0, MAX_CONDITIONS)
        conditions = [sent.text(f"conditions-{place}", "") for place in range(count)]
        self._presses_condition = sent.text("condition", "") == "add"
        if self._presses_condition and len(conditions) < MAX_CONDITIONS:
            conditions.append("")
        self._fill_conditions(conditions)
        self.then = StepForm(self.visit, self.form).read()
        return self

    @property
    def is_pressed(self) -> bool:
        """Whether a button that only changes the form was pressed."""
        return self.then.is_pressed or self._presses_condition

    def _fill_conditions(self, conditions: list[str]) -> None:
        self.form.values["conditions"] = str(len(conditions))
        self.form.values |= {f"conditions-{place}": text for place, text in enumerate(conditions)}

    @property
    def places(self) -> range:
        """The places of its conditions."""
        return range(int(self.form.get("conditions")))

    def values(self) -> dict[str, Any]:
        """The form as server/rules/rule_form.py reads it."""
        lines = {name: self.form.text(name) for name in ("title", "zone", "since", "amount", "unit", "match", "stops")}
        conditions = [self.form.text(f"conditions-{place}") for place in self.places]
        conditions = list(filter(None, conditions))
        self._fill_conditions(conditions or [""])
        return {
            **lines,
            **{name: self.form.several[name] for name in SEVERAL},
            "conditions": conditions,
            "steps": self.then.values(),
        }

    def checked(self, **given: Any) -> RuleForm | None:
        """The form without mistakes; None with mistakes, which are added to it. given: values in place of its own."""
        values = self.values() | given
        try:
            checked = rule_form.read(values)
        except HelpdeskError as error:
            self.then.refuse(error)
            return None
        return None if self.form.is_wrong else checked

    # -- its buttons ---------------------------------------------------------------------------------------------------

    def save(self) -> int:
        """Stores the rule and returns its id; 0 with mistakes, or if it matches everything and is not confirmed."""
        form = self.checked()
        if form is None:
            return 0
        try:
            if self.form.get("sure") != "1" and rule_list.matches_all(self.visit.ctx, form):
                self.asks = True
                return 0
            form = dataclasses.replace(form, matches_everything=self.form.get("sure") == "1")
            if self.rule is not None:
                records.update(self.visit.ctx, "automation", self.rule.id, {"form": form.values})
                return self.rule.id
            fields = {"extension_id": RULE, "form": form.values}
            return int(records.create(self.visit.ctx, "automation", fields)["id"])
        except BadQuery as error:
            self._refuse_query(form, error)
            return 0
        except HelpdeskError as error:
            self.asks = any(each.details.get("field") == EVERYTHING for each in all_of(error))
            if not self.asks:
                self.then.refuse(error)
            return 0

    def find_matching(self) -> None:
        """Finds the tickets that match now, also if there is no name, event or step yet."""
        form = self.checked(title="-", when=self.form.several["when"] or ["created"], steps=[{"kind": "close"}])
        if form is None:
            return
        try:
            ids, total = rule_list.matches(self.visit.ctx, form, MAX_SHOWN)
        except HelpdeskError as error:
            self._refuse_query(form, error)
            return
        request = SearchRequest(f"id:[{','.join(map(str, ids))}]", MAX_SHOWN)
        tickets = records.search(self.visit.ctx, "ticket", request)["results"] if ids else []
        self.matching = Matching(tickets, total, rule_list.query_text(form))

    def _refuse_query(self, form: RuleForm, error: HelpdeskError) -> None:
        """Shows the mistake of a query at its line: the first one that cannot be searched alone."""
        for place in self.places:
            text = self.form.text(f"conditions-{place}")
            try:
                if text:
                    records.search(self.visit.ctx, "ticket", SearchRequest(text, 1))
            except HelpdeskError as own:
                self.form.fail(f"conditions-{place}", sentence(own.message))
                return
        self.form.fail("", sentence(error.message))

    def try_on_ticket(self) -> None:
        """Simulates the rule on the chosen ticket."""
        form = self.checked()
        mask = self.form.text("ticket").strip("#[]")
        ticket_id = masks.ticket_id(self.visit.ctx, mask) if mask else None
        if ticket_id is None:
            problem = _("There is no ticket '{mask}'.", mask=mask[:80]) if mask else _("Enter a ticket.")
            self.form.fail("ticket", problem)
        if form is None or ticket_id is None:
            return
        try:
            records.retrieve(self.visit.ctx, "ticket", ticket_id)
            holds = rule_list.holds(self.visit.ctx, form, ticket_id)
        except HelpdeskError as error:
            self._refuse_query(form, error)
            return
        self.trial = [self._show_when(form), *self._show_conditions(form, holds)]
        is_met = any(holds.values()) if form.matches_any else all(holds.values())
        if form.conditions and not is_met:
            self.trial.append(TrialStep("muted", _("ends"), _("The rule does nothing with this ticket.")))
            return
        script = automation_service.Script(
            rule_form.script_of(form), rule_form.policy_of(form), self.rule.name if self.rule else "", RULE
        )
        ctx = own_context(self.visit.service, self.visit.now, form.zone)
        values = rule_runs.values_of(ticket_id, form.when, form.fields or list(FIELDS))
        self.trial += self._show_steps(form, examples.simulate(ctx, script, values, traced=MAX_STEPS))

    def _show_when(self, form: RuleForm) -> TrialStep:
        events = ", ".join(shown(EVENTS[each]) for each in form.when)
        return TrialStep("info", _("When"), events, _("Assumed for this trial."))

    def _show_conditions(self, form: RuleForm, holds: Mapping[str, bool]) -> list[TrialStep]:
        return [
            TrialStep("ok" if holds[query] else "warn", _("holds") if holds[query] else _("does not hold"), query)
            for query in form.conditions
        ]

    def _show_steps(self, form: RuleForm, result: RunResult) -> list[TrialStep]:
        """Returns a line per step, with the errors of the commands whose names have its number."""
        lines = []
        for number, step in enumerate(form.steps, 1):
            label = f"{number}. {shown(steps.kind_of(step).label)}"
            own = [each for each in result.trace if each.path.rpartition("_")[2].partition(":")[0] == str(number)]
            errors = [each.error for each in own if each.error]
            logged = [each.message for each in result.log if each.message.startswith(f"{number}. ")]
            if errors or logged:
                lines.append(TrialStep("err", _("fails"), label, (errors or logged)[0]))
            elif own:
                lines.append(TrialStep("ok", _("would be done"), label))
            else:
                lines.append(TrialStep("muted", _("not reached"), label, result.message))
        return lines

    # -- its page ------------------------------------------------------------------------------------------------------

    @property
    def labels(self) -> dict[str, Words]:
        conditions = {f"conditions-{place}": _("Condition {number}", number=place + 1) for place in self.places}
        return LABELS | conditions | self.then.labels

    @property
    def events(self) -> list[tuple[str, Words, Words]]:
        return [(name, shown(label), "") for name, label in EVENTS.items()]

    @property
    def fields(self) -> list[tuple[str, Words, Words]]:
        return [(name, shown(label), "") for name, label in FIELDS.items()]

    @property
    def since(self) -> list[Option]:
        return [(name, shown(each[0])) for name, each in SINCE.items()]

    @property
    def units(self) -> list[Option]:
        return [(name, shown(each[0])) for name, each in UNITS.items()]


def summary(form: RuleForm) -> str:
    """Returns the events, conditions and steps of a rule in one line."""
    events = ", ".join(shown(EVENTS[each]) for each in form.when)
    if CHANGED in form.when and form.fields:
        events += f" ({', '.join(shown(FIELDS[each]) for each in form.fields)})"
    count = len(form.conditions)
    conditions = ngettext("{count} condition", "{count} conditions", count) if count else _("no condition")
    does = ", ".join(shown(steps.kind_of(each).label) for each in form.steps)
    return f"{events} · {conditions} · {does}"
