"""The steps of a rule or macro in a form: fields that are read, added, removed and put in order, also without scripts.

The fields of a step are named `steps-<place from 0>-<part>`: the errors of server/rules/steps.py with dashes for dots,
which forms cannot send."""

from collections.abc import Sequence
from typing import Any

from console.html.form import Form, sentence
from console.html.ui import ChooserOptions, Option
from console.http.visit import Visit
from console.lists import lookup
from server.dataclass import dataclass
from server.digits import id_in, is_whole
from server.errors import HelpdeskError
from server.record_types.field_labels import field_label
from server.record_types.shared.triggers import MACRO
from server.rules import steps
from server.rules.steps import FIELD_NAMES, KINDS, MAX_STEPS, Step, StepKind, StepPart
from server.tickets import ticket_statuses
from server.translation import _, pgettext, shown

COUNT, PRESS, ADDED = "steps", "step", "added_step"  # fields: number of steps, pressed button, kind of the added step
_TYPES = steps.RECORDS | steps.SEVERAL
QUERIES = {"worker": "isDisabled:no", "macro": f"trigger:{MACRO}"}


@dataclass(frozen=True, slots=True)
class StepField:
    """A part of a step in the form. choices: for a chooser or a choice."""

    name: str
    part: StepPart
    choices: Any = None


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step in the form. place: from 0."""

    place: int
    kind: StepKind
    fields: tuple[StepField, ...]


class StepForm:
    """The steps of a form. form: its values and mistakes. kinds: that can be added. is_pressed: whether a button of the
    steps was pressed, so that the form is shown again and nothing is stored."""

    def __init__(self, visit: Visit, form: Form, kinds: Sequence[StepKind] = KINDS) -> None:
        self.visit, self.form, self.kinds = visit, form, kinds
        self.is_pressed = False
        self.focused = -1  # place of the step that a button was pressed for
        self._steps: list[dict[str, str]] = []
        self._choices: dict[str, Any] = {}

    def fill(self, values: Sequence[Step]) -> "StepForm":
        """Shows these steps."""
        self._steps = [dict(each) for each in values]
        self.form.values[COUNT] = str(len(self._steps))
        for place, step in enumerate(self._steps):
            self.form.values |= {f"{COUNT}-{place}-{name}": text for name, text in step.items()}
        return self

    def read(self) -> "StepForm":
        """Reads the submitted steps, and applies the pressed button. Raises Malformed, Invalid."""
        sent = self.visit.form
        kinds = {each.name: each for each in self.kinds}
        values = []
        for place in range(sent.integer(COUNT, 0, 0, MAX_STEPS)):
            name = sent.text(f"{COUNT}-{place}-kind", "")
            if name in kinds:
                values.append({"kind": name, **{each.name: self._sent(place, each) for each in kinds[name].parts}})
        verb, _colon, numbers = sent.text(PRESS, "").partition(":")
        place, target = (id_in(each) or 0 for each in [*numbers.split(":"), ""][:2])
        self.is_pressed = bool(verb)
        if verb == "add" and sent.text(ADDED, "") in kinds and len(values) < MAX_STEPS:
            values.append({"kind": sent.text(ADDED, "")})
        elif verb == "remove" and place < len(values):
            del values[place]
        elif verb in ("up", "down") and place < len(values):
            target = min(max(place + (1 if verb == "down" else -1), 0), len(values) - 1)
            values.insert(target, values.pop(place))
        elif verb == "move" and max(place, target) < len(values):  # steps can be dragged
            values.insert(target, values.pop(place))
        if self.is_pressed:
            self.focused = {"add": len(values) - 1, "remove": min(place, len(values) - 1)}.get(verb, target)
        return self.fill(values)

    def _sent(self, place: int, part: StepPart) -> str:
        """A submitted part; several values with commas between."""
        name = f"{COUNT}-{place}-{part.name}"
        sent = self.visit.form
        return ", ".join(sent.text_list(name)) if part.kind in steps.SEVERAL else sent.text(name, "")

    def values(self) -> list[dict[str, str]]:
        """The steps as server/rules/steps.py reads them: names that were typed into choosers as ids. Mistakes are added
        to the form."""
        values = []
        for place, step in enumerate(self._steps):
            chosen = dict(step)
            for part in steps.kind_of(step).parts:
                uri, text = _TYPES.get(part.kind), step.get(part.name, "").strip()
                if uri is None or not text:
                    continue
                name = f"{COUNT}-{place}-{part.name}"
                texts = [each for each in text.split(",") if each.strip()] if part.kind in steps.SEVERAL else [text]
                try:
                    ids = [lookup.chosen_id(self.visit, uri, each, name) for each in texts]
                    chosen[part.name] = ", ".join(str(id) for id in ids if id)
                except HelpdeskError as error:
                    self.form.fail(name, sentence(error.message))
            values.append(chosen)
        return values

    def refuse(self, error: HelpdeskError) -> None:
        """Adds the mistakes of an operation to the form, each at its field."""
        names = {name.replace("-", "."): name for name in (*self.form.values, *self.form.several, *self.labels)}
        self.form.refuse(error, {*names.values(), COUNT}, names)

    @property
    def rows(self) -> list[StepRow]:
        return [
            StepRow(place, kind, tuple(self._field(place, part) for part in kind.parts))
            for place, kind in enumerate(map(steps.kind_of, self._steps))
        ]

    @property
    def addable(self) -> list[Option]:
        return [(each.name, shown(each.label)) for each in self.kinds]

    @property
    def labels(self) -> dict[str, str]:
        """{name of a field: its label}, for the summary of mistakes."""
        return {
            each.name: f"{row.place + 1}. {shown(row.kind.label)}, {shown(each.part.label)}"
            for row in self.rows
            for each in row.fields
        }

    def _field(self, place: int, part: StepPart) -> StepField:
        name = f"{COUNT}-{place}-{part.name}"
        if part.kind in steps.RECORDS:
            return StepField(name, part, self._records(part, self.form.get(name)))
        if part.kind in steps.SEVERAL:
            return StepField(name, part, self._several(part, name))
        lists = {"place": self._places, "status": self._statuses, "custom field": self._ticket_fields}
        if part.kind not in lists:
            return StepField(name, part)
        if part.kind not in self._choices:
            self._choices[part.kind] = [("", _("Choose one")), *lists[part.kind]()]
        return StepField(name, part, self._choices[part.kind])

    def _records(self, part: StepPart, chosen: str) -> ChooserOptions:
        """The records to choose from: read once for all steps, unless one has another record than these."""
        key, uri = part.kind, steps.RECORDS[part.kind]
        choices = self._choices.get(key)
        if choices is not None and (not chosen or chosen in dict(choices.options or ())):
            return choices
        choices = lookup.choosable(self.visit, uri, QUERIES.get(key, ""), chosen)
        return self._choices.setdefault(key, choices) if not chosen else choices

    def _several(self, part: StepPart, name: str) -> list[tuple[str, str, str]] | None:
        """The records that may be ticked, with those that are; None if there are too many, which are then typed."""
        texts = [each.strip() for each in self.form.get(name).split(",") if each.strip()]
        ids = [each for each in texts if is_whole(each)]
        uri = steps.SEVERAL[part.kind]
        found = lookup.choosable(self.visit, uri, QUERIES[uri])
        chosen = dict(lookup.choices(self.visit, uri, f"id:[{','.join(ids)}]")) if ids else {}
        if found.options is None:
            shown_texts = [lookup.numbered(each, chosen[each]) if each in chosen else each for each in texts]
            self.form.values[name] = ", ".join(shown_texts)
            return None
        self.form.several[name] = texts
        return [(id, label, "") for id, label in (dict(found.options) | chosen).items()]

    def _places(self) -> list[Option]:
        """Groups, and their other buckets."""
        places: list[tuple[str, str, str]] = []
        for each in lookup.search(self.visit, "bucket", "", "group_"):
            group = str(each["group__label"])
            if each["is_default"]:
                places.append((group, "", f"group:{each['group_id']}"))
            else:
                places.append((group, str(each["name"]), f"bucket:{each['id']}"))
        return [(value, " › ".join(filter(None, (group, bucket)))) for group, bucket, value in sorted(places)]

    def _statuses(self) -> list[Option]:
        return [
            ("open", pgettext("status", "Open")),
            ("waiting", _("Waiting")),
            ("closed", _("Closed")),
            *((str(each.id), each.name) for each in ticket_statuses.all_of(self.visit.ctx)),
        ]

    def _ticket_fields(self) -> list[Option]:
        own = [(name, field_label(name)) for name in FIELD_NAMES]
        customs = lookup.search(self.visit, "custom_field", "context:ticket sort:name")
        return [*sorted(own), *((f"custom_{each['id']}", str(each["name"])) for each in customs)]
