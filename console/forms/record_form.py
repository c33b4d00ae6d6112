"""Forms of records, built from their fields: a page declares only what is particular to it."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from console.forms import controls
from console.forms.controls import Control
from console.html import drafts, ui
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse
from console.http.visit import Visit
from console.lists import lookup
from server.dataclass import dataclass
from server.errors import HelpdeskError, Mistakes
from server.fields import Text
from server.record_types import field_inputs, field_roles
from server.record_types.field_inputs import OWNER
from server.record_types.record_type import RecordType
from server.records import custom_fields, records
from server.translation import Words, _, shown

More = Callable[[Form], dict[str, Any]]  # what else is stored of a form that was sent; may raise Invalid
SHOWN = "_shown"  # a field of the form: digests of the values that it showed, each as `name:digest`
DIGEST_BYTES = 8
MAX_CLASH_CHARS = 200  # length of a value shown that another worker has stored
CONFLICT = 409
MANY_CONTROLS = 7  # a form with this many has sections
CHOSEN_BY_NAME = ("chooser", "owner")  # kinds that are sent as a name or as an id


@dataclass(frozen=True)
class RecordForm:
    """The declaration of a form. uri: of the record type. controls: names of fields, and controls with more detail;
    empty for all fields that people may write. folded: fields at the end that are collapsed at first. has_customs:
    whether it includes the custom fields of the type."""

    uri: str
    controls: tuple[str | Control, ...] = ()
    folded: tuple[str, ...] = ()
    has_customs: bool = True

    def open(self, visit: Visit, id: int = 0) -> "OpenForm":
        """The form of one request: for a new record, or the one with this id. Raises NotFound, Forbidden."""
        record_type = visit.service.registry.type(self.uri)
        stored = self._values(visit, id) if id else {}
        entered = field_inputs.entered_fields(record_type, stored if id else None)
        declared = self.controls or tuple(Control(name, is_kept=is_hidden) for name, is_hidden in entered.items())
        registry = visit.service.registry
        form_controls = [
            controls.of_field(registry, record_type, Control(each) if isinstance(each, str) else each)
            for each in declared
        ]
        fieldsets = stored.get("fieldsets", ())
        customs = custom_fields.fields_on(visit.ctx, record_type, fieldsets) if self.has_customs else ()
        form_controls += [controls.of_custom(registry, each) for each in customs]
        if not id:
            form_controls = [replace(each, is_kept=False) for each in form_controls]
        folded = self.folded if self.controls else _set_by_service(record_type, entered)
        return OpenForm(visit, record_type, id, stored, tuple(form_controls), folded, is_generated=not self.controls)

    def _values(self, visit: Visit, id: int) -> dict[str, Any]:
        """The values of a record. A page of administrators that names its controls has what is never returned, too."""
        values = records.editable(visit.ctx, self.uri, id)
        if self.controls and visit.actor.is_admin:
            values = lookup.record(visit, self.uri, id) | values
        return values


@dataclass
class OpenForm:
    """The form in one request. id: of the record, 0 for a new one. stored: its stored values. values: the values in the
    form. draft_key: of its unsaved draft, the path if empty. is_generated: whether it has all fields of its type."""

    visit: Visit
    type: RecordType
    id: int
    stored: dict[str, Any]
    controls: tuple[Control, ...]
    folded: tuple[str, ...] = ()
    draft_key: str = ""
    is_generated: bool = False

    def __post_init__(self) -> None:
        self.before = self._stored()
        self.values = self.before
        self._rendered: set[str] = set()
        self._clashes: list[Control] = []  # fields that another worker has changed to other values

    # -- what stands in it ---------------------------------------------------------------------------------------------

    def fill(self, **values: str) -> "OpenForm":
        """Put values in that no field has, or that a new record begins with."""
        self.before.values |= values
        return self

    def take_up(self) -> "OpenForm":
        """Restores the unsaved draft of the form, when the worker asks for it."""
        stored = replace(self.before, values=dict(self.before.values), several=dict(self.before.several))
        self.values = drafts.take_up(self.visit, self.draft_key or self.visit.path, stored)
        return self

    def _stored(self) -> Form:
        plain = {each.name: self._text(each) for each in self.controls if not each.is_several}
        return Form(plain, {each.name: self._texts(each) for each in self.controls if each.is_several})

    def _text(self, control: Control) -> str:
        if control.kind == "owner":
            context, id = (self.stored.get(name) for name in OWNER)
            return f"{context}:{id}" if context else "" if self.id else controls.first_owner(self.visit, self.type)
        return controls.text_of(self.visit, control, self._value(control.name))

    def _texts(self, control: Control) -> list[str]:
        value = self._value(control.name)
        return [str(each) for each in value] if isinstance(value, list) else []

    def _value(self, name: str) -> Any:
        field = self.type.fields.get(name)
        return self.stored.get(name) if self.id else field.default if field is not None else None

    # -- what was sent -------------------------------------------------------------------------------------------------

    def send(self) -> "OpenForm":
        """Read the submitted values; a field that was not sent keeps its stored value, and so does one that the person
        left as it was. A browser sends nothing for a box that is not ticked."""
        sent = self.visit.form
        plain = [each for each in self.controls if not each.is_several]
        texts = {
            each.name: sent.text(each.name, "" if each.kind == "tick" else self.before.get(each.name)) for each in plain
        }
        self.values = Form(texts, {each.name: sent.text_list(each.name) for each in self.controls if each.is_several})
        self._keep_untouched()
        return self

    def _keep_untouched(self) -> None:
        """Fills fields that the person did not change with their stored values, which somebody else may have changed
        since the form was shown. Notes the fields that both changed."""
        digests = dict(each.rpartition(":")[::2] for each in self.visit.form.text_list(SHOWN))
        for each in self.controls:
            digest, before = digests.get(each.name), self._digest(each, self.before)
            if digest is None or digest == before or self._is_same(each):
                continue
            if self._digest(each, self.values) != digest:
                self._clashes.append(each)
            elif each.is_several:
                self.values.several[each.name] = list(self.before.several[each.name])
            else:
                self.values.values[each.name] = self.before.get(each.name)

    def _digest(self, control: Control, form: Form) -> str:
        """A digest of the value of a control, the same however a browser sends it."""
        value = controls.typed(control, form)
        if control.kind in CHOSEN_BY_NAME:
            with suppress(HelpdeskError):
                value = controls.values_of(self.visit, control, form)
        return hashlib.blake2b(repr(value).encode(), digest_size=DIGEST_BYTES).hexdigest()

    def create(self, more: More | None = None) -> dict[str, Any] | None:
        """Creates the record; returns None if there is a mistake. more: values of the submitted form that are not
        fields."""
        return self._try(lambda fields: records.create(self.visit.ctx, self.type.uri, fields, lookup.LABEL), more)

    def update(self, more: More | None = None) -> dict[str, Any] | None:
        """Change what was changed in the form; None when something is wrong."""
        uri, id = self.type.uri, self.id
        return self._try(lambda fields: records.update(self.visit.ctx, uri, id, fields, lookup.LABEL), more)

    def _try(self, work: Callable[[dict[str, Any]], dict[str, Any]], more: More | None) -> dict[str, Any] | None:
        self.send()
        if self._clashes:
            self._refuse_clashes()
            return None
        try:
            done = work(self.fields() | (more(self.values) if more is not None else {}))
        except HelpdeskError as error:
            self.refuse(error)
            return None
        drafts.is_saved(self.visit)
        return done

    def _refuse_clashes(self) -> None:
        """Shows at each field that somebody else changed meanwhile its stored value."""
        for each in self._clashes:
            stored = self.before.several.get(each.name) or [self.before.get(each.name)]
            now = self._name_of(each, ", ".join(stored))
            self.values.fail(
                each.name,
                _(
                    "Somebody changed this to “{value}” while you were editing. Save again to overwrite it with yours.",
                    value=now if len(now) <= MAX_CLASH_CHARS else f"{now[:MAX_CLASH_CHARS]}…",
                ),
            )
        self.values.status = CONFLICT

    def _name_of(self, control: Control, value: str) -> str:
        """A value as people know it: of a choice its label, of a record its name."""
        if control.kind == "tick":
            return _("on") if value == "1" else _("off")
        if control.kind == "chooser" and value:
            return lookup.choosable(self.visit, control.target, "", value).shown or value
        return shown(dict(control.options).get(value, value))

    def refuse(self, error: HelpdeskError) -> "OpenForm":
        """Adds the mistakes of a failed operation to the controls; a mistake in settings to the control of that
        setting."""
        places: dict[str, list[str]] = {}
        for each in self.controls:
            for other in each.also:
                places.setdefault(other, []).append(each.name)
        names = {
            other: next((name for name in fields if name in error.message), fields[0])
            for other, fields in places.items()
        }
        self.values.refuse(error, names=names)
        return self

    def fields(self) -> dict[str, Any]:
        """The values to store: of a new record those that were filled in, of an existing one those that were changed.
        Raises Invalid."""
        values: dict[str, Any] = {}
        mistakes = Mistakes()
        for each in self.controls:
            with mistakes.collect():
                if not each.is_own and self._is_sent(each):
                    values |= controls.values_of(self.visit, each, self.values)
        mistakes.require_none()
        return values

    def _is_sent(self, control: Control) -> bool:
        if controls.is_blank(control, self.values) and (control.is_kept or (not self.id and not self._needs(control))):
            return False
        return not self.id or not self._is_same(control)

    def _is_same(self, control: Control) -> bool:
        """Whether nothing else was typed than what stood there."""
        return controls.typed(control, self.values) == controls.typed(control, self.before)

    def _needs(self, control: Control) -> bool:
        """Whether a blank is stored for a new record: for a required text, or one whose default is not blank."""
        field = self.type.fields.get(control.name)
        return isinstance(field, Text) and (field.required or control.is_required or bool(field.default))

    # -- how it is shown -----------------------------------------------------------------------------------------------

    @property
    def status(self) -> int:
        return self.values.status

    @property
    def labels(self) -> Mapping[str, Words]:
        """For the summary of mistakes."""
        return {each.name: each.label for each in self.controls}

    def render(self, template: str, status: int = 200, **values: Any) -> PageResponse:
        """The page with the form. Its template knows it as `fields`, and its values as `form`."""
        return render(self.visit, template, status, form=self.values, fields=self, **values)

    def html(self, *names: str) -> Markup:
        """These controls, in this order; all that are not shown yet for none, in sections if they are many."""
        if names:
            self._rendered |= set(names)
            return Markup("\n").join(self._control_html(self.control(name)) for name in names)
        remaining = [each.name for each in self.controls if not each.is_drawn and each.name not in self._rendered]
        open_names = [name for name in remaining if name not in self.folded]
        has_sections = len(open_names) >= MANY_CONTROLS
        sections: dict[str, list[str]] = {}
        heading: Words = ""
        for name in open_names if has_sections else ():
            if self.is_generated:
                heading = field_roles.HEADINGS[field_roles.role(self.type, name)]
            else:
                heading = self.control(name).heading or heading
            sections.setdefault(heading, []).append(name)
        sections = sections or {"": open_names}
        html = (ui.field_grid(heading, self.html(*section)) for heading, section in sections.items())
        return Markup().join(html) + self._folded([name for name in remaining if name in self.folded])

    def _control_html(self, control: Control) -> Markup:
        """A control, with a digest of the stored value if the form changes a record."""
        html = controls.html(self.visit, control, self.values)
        if not self.id or control.is_own or control.is_kept:
            return html
        return html + ui.hidden(f"{SHOWN}[]", f"{control.name}:{self._digest(control, self.before)}")

    def _folded(self, names: Sequence[str]) -> Markup:
        if not names:
            return Markup()
        is_open = any(name in self.values.errors for name in names)
        return ui.folded(ui.field_grid("", self.html(*names)), is_open)

    def control(self, name: str) -> Control:
        return next(each for each in self.controls if each.name == name)

    def change(self, *changed: Control) -> "OpenForm":
        """Replaces controls of the same names, where the record itself decides about them."""
        by_name = {each.name: each for each in changed}
        self.controls = tuple(by_name.get(each.name, each) for each in self.controls)
        return self

    def flash_saved(self, text: Words) -> None:
        """Shows on the next page that the record is saved, with an undo."""
        others = {each.name for each in self.controls if each.is_own and each.is_drawn}  # which change nothing
        fields = {name: sent for name, sent in self.before.sent_again().items() if name not in others}
        self.visit.flash(text, self.visit.path, **fields)


def _set_by_service(record_type: RecordType, names: Iterable[str]) -> tuple[str, ...]:
    """Those of these fields that people seldom set."""
    return tuple(name for name in names if field_roles.role(record_type, name) == field_roles.SYSTEM)
