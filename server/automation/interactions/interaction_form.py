"""The form that an automation asks for with `await: form:`, and the values that a worker enters in it."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from server import template, times
from server.context import Context
from server.dataclass import dataclass
from server.digits import MAX_ID_DIGITS, is_whole
from server.errors import Forbidden, HelpdeskError, Invalid, Mistakes, NotFound, Required, ScriptError
from server.kata.annotations import as_bool
from server.mail import addresses
from server.records import records
from server.template import Budget, Surroundings
from server.template.values import is_numeric
from server.translation import N_, _

SAY, SUBMIT, CHOOSER, PICKLIST, CHECKBOX, SHEET = "say", "submit", "chooser", "picklist", "checkbox", "sheet"
AREAS = ("textarea", "editor")
ASKING = ("text", *AREAS, PICKLIST, CHECKBOX, CHOOSER, SHEET)
MAX_ELEMENTS, MAX_OPTIONS, MAX_ROWS = 100, 500, 200
MAX_LINE_CHARS, MAX_AREA_CHARS = 1_024, 64_000
MAX_LABEL_CHARS = 200
CONTINUE, RESET = "continue", "reset"


@dataclass(frozen=True)
class FormButton:
    """A button that continues a run. name, value: set in its dictionary, if there is a name."""

    name: str
    value: str
    label: str


@dataclass(frozen=True)
class FormElement:
    """An element of a form. kind: SAY, SUBMIT or one of ASKING; other kinds are not shown. choices: values with their
    labels. rows: of a sheet, by the key of each. options: as the automation wrote them."""

    kind: str
    name: str
    label: str
    options: Mapping[str, Any]
    is_required: bool = False
    is_several: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    rows: Mapping[str, Mapping[str, Any]] | None = None

    @property
    def asks(self) -> bool:
        """Whether it is filled in."""
        return self.kind in ASKING and (self.kind != SHEET or bool(_selection(self.options)[0]))

    @property
    def initial(self) -> list[str]:
        """The texts that it begins with."""
        usual = self.options.get("default")
        if self.kind == CHECKBOX:
            return ["1"] if usual is not None and as_bool(usual) else []
        if isinstance(usual, (list, dict)):
            return [str(each) for each in (usual if isinstance(usual, list) else usual.values())]
        return [str(usual)] if usual not in (None, "") else []


@dataclass(frozen=True)
class InteractionForm:
    """A form. buttons: at least one. can_reset: whether it offers to start again."""

    title: str
    elements: tuple[FormElement, ...]
    buttons: tuple[FormButton, ...]
    can_reset: bool = False


def read_form(asked: object) -> InteractionForm:
    """Returns the form of an await. Raises ScriptError for one that is not a form."""
    parts = asked.get("elements") if isinstance(asked, dict) else None
    if not isinstance(asked, dict) or not isinstance(parts, dict):
        raise ScriptError(_("the automation awaits a form without elements"))
    if len(parts) > MAX_ELEMENTS:
        raise ScriptError(_("the automation awaits a form with more than {count} elements", count=MAX_ELEMENTS))
    elements: list[FormElement] = []
    buttons: list[FormButton] = []
    can_reset = False
    for key, settings in parts.items():
        kind, _slash, name = str(key).partition("/")
        options = settings if isinstance(settings, dict) else {}
        if as_bool(options.get("hidden", False)):
            continue
        if kind == SUBMIT:
            buttons += _buttons(name, options)
            can_reset |= _resets(options)
        else:
            elements.append(_element(kind, name, options))
    title = str(asked.get("title") or "")[:MAX_LABEL_CHARS]
    return InteractionForm(title, tuple(elements), tuple(buttons or [_button("", "", {})]), can_reset)


def _element(kind: str, name: str, options: Mapping[str, Any]) -> FormElement:
    label = str(options.get("label") or ("" if kind == SAY else name))[:MAX_LABEL_CHARS]
    more: dict[str, Any] = {"is_required": as_bool(options.get("required", False))}
    if kind == PICKLIST:
        more |= {"choices": _choices(options.get("options")), "is_several": as_bool(options.get("multiple", False))}
    elif kind == CHOOSER:
        is_single = "single" in options and as_bool(options["single"])
        more["is_several"] = not is_single and as_bool(options.get("multiple", "single" in options))
    elif kind == SHEET:
        key, is_several = _selection(options)
        more |= {"rows": _rows(options.get("data"), key), "is_several": is_several}
    return FormElement(kind, name, label, options, **more)


def _choices(value: object) -> tuple[tuple[str, str], ...]:
    """The options of a list: values, or labels with values."""
    if isinstance(value, dict) and not all(is_whole(str(key)) for key in value):
        pairs = [(str(each), str(label)) for label, each in value.items()]
    else:
        texts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        pairs = [(str(each), str(each)) for each in texts]
    return tuple(pairs[:MAX_OPTIONS])


def columns_of(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The columns of a sheet, by `kind/key`."""
    schema = options.get("schema")
    columns = schema.get("columns") if isinstance(schema, dict) else None
    return columns if isinstance(columns, dict) else {}


def _selection(options: Mapping[str, Any]) -> tuple[str, bool]:
    """The key by which rows of a sheet are selected, "" for none, and whether several may be."""
    for key, settings in columns_of(options).items():
        kind, _slash, name = str(key).partition("/")
        if kind == "selection":
            params = settings.get("params") if isinstance(settings, dict) else None
            mode = str(params.get("mode") or "") if isinstance(params, dict) else ""
            return name, mode == "multiple"
    return "", False


def _rows(data: object, key: str) -> dict[str, Mapping[str, Any]]:
    listed = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    rows = [each for each in listed if isinstance(each, dict)][:MAX_ROWS]
    return {str(row.get(key, place)) if key else str(place): row for place, row in enumerate(rows)}


def _buttons(name: str, options: Mapping[str, Any]) -> list[FormButton]:
    entries = options.get("buttons")
    if isinstance(entries, dict):
        return [
            _button(name, str(key).partition("/")[2], settings if isinstance(settings, dict) else {})
            for key, settings in entries.items()
            if str(key).partition("/")[0] == CONTINUE and not _is_hidden(settings)
        ]
    return [_button("", "", options)] if as_bool(options.get(CONTINUE, True)) else []


def _is_hidden(settings: object) -> bool:
    return isinstance(settings, dict) and as_bool(settings.get("hidden", False))


def _button(name: str, key: str, settings: Mapping[str, Any]) -> FormButton:
    label = str(settings.get("label") or "")[:MAX_LABEL_CHARS]
    return FormButton(name, str(settings.get("value", key)), label)


def _resets(options: Mapping[str, Any]) -> bool:
    entries = options.get("buttons")
    if isinstance(entries, dict):
        return any(str(key).partition("/")[0] == RESET and not _is_hidden(each) for key, each in entries.items())
    return as_bool(options.get(RESET, False))


# -- entered values ----------------------------------------------------------------------------------------------------


def entered(ctx: Context, form: InteractionForm, texts: Mapping[str, list[str]], button: str) -> dict[str, Any]:
    """Returns the values of a submitted form by name, for the dictionary of the run. texts: {name: texts}. button: the
    position of the pressed button.

    Raises Invalid with all mistakes, each with the `field` of its element."""
    mistakes = Mistakes()
    values: dict[str, Any] = {}
    for element in form.elements:
        if element.asks:
            with mistakes.collect():
                values[element.name] = _value(ctx, element, texts.get(element.name, []))
    for element in form.elements:
        if element.asks and element.name in values:
            with mistakes.collect():
                _validate(ctx, element, values)
    mistakes.require_none()
    chosen = form.buttons[int(button)] if is_whole(button, 3) and int(button) < len(form.buttons) else form.buttons[0]
    return values | ({chosen.name: chosen.value} if chosen.name else {})


def _value(ctx: Context, element: FormElement, texts: list[str]) -> Any:
    texts = [each for each in texts if each.strip()]
    if element.kind == CHECKBOX:
        if element.is_required and not texts:
            raise Required(_("must be checked"), field=element.name)
        return bool(texts)
    if not texts:
        if element.is_required:
            raise Required(_("must not be blank"), field=element.name)
        return [] if element.is_several else ""
    if element.kind == CHOOSER:
        ids = [_record_id(ctx, element, each) for each in texts]
        return ids if element.is_several else ids[0]
    if element.kind in (PICKLIST, SHEET):
        offered = element.rows if element.kind == SHEET else dict(element.choices)
        for each in texts:
            if each not in (offered or {}):
                raise Invalid(_("'{value}' is not one of the choices", value=each[:50]), field=element.name)
        return texts if element.is_several else texts[0]
    return _text(ctx, element, texts[0])


def _record_id(ctx: Context, element: FormElement, text: str) -> int:
    uri = str(element.options.get("context") or "")
    record_type = ctx.service.registry.find(uri)
    if record_type is None:
        raise Invalid(_("there is no record type '{name}'", name=uri[:50]), field=element.name)
    try:
        return int(records.retrieve(ctx, record_type.uri, int(text) if is_whole(text, MAX_ID_DIGITS) else 0)["id"])
    except (NotFound, Forbidden):
        raise Invalid(_("there is no such record, or you may not read it"), field=element.name) from None


def _text(ctx: Context, element: FormElement, text: str) -> str:
    options = element.options
    text = text if element.kind in AREAS else text.strip()
    most = MAX_AREA_CHARS if element.kind in AREAS else MAX_LINE_CHARS
    most = min(_limit(options, "max_length") or most, most)
    if len(text) > most:
        if as_bool(options.get("truncate", False)):
            return text[:most]
        raise Invalid(
            _("has {count} characters, at most {most}", count=f"{len(text):,}", most=f"{most:,}"), field=element.name
        )
    least = _limit(options, "min_length")
    if len(text) < least:
        raise Invalid(_("has {count} characters, at least {least}", count=len(text), least=least), field=element.name)
    test, expected = TYPES.get(str(options.get("type") or ""), (None, ""))
    if test is not None and not test(ctx, text):
        raise Invalid(_("takes {expected}, not '{value}'", expected=_(expected), value=text[:50]), field=element.name)
    return text


def _limit(options: Mapping[str, Any], name: str) -> int:
    """A number of characters, 0 for none."""
    text = str(options.get(name) or "")
    return int(text) if is_whole(text, 6) else 0


def _is_date(ctx: Context, text: str) -> bool:
    try:
        times.instant(text, ctx.now, ctx.tz)
    except HelpdeskError:
        return False
    return True


def _is_url(ctx: Context, text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and " " not in text


# {type of a text: (its test, the expected value in words)}
TYPES: dict[str, tuple[Callable[[Context, str], bool], str]] = {
    "date": (_is_date, N_("a date")),
    "decimal": (lambda ctx, text: is_numeric(text), N_("a number")),
    "email": (lambda ctx, text: addresses.valid(text), N_("an email address")),
    "number": (lambda ctx, text: is_numeric(text), N_("a number")),
    "url": (_is_url, N_("a web address")),
}


def _validate(ctx: Context, element: FormElement, values: Mapping[str, Any]) -> None:
    """Renders the `validation` of an element: what it writes is the mistake. Raises Invalid."""
    source = element.options.get("validation")
    if not isinstance(source, str) or not source.strip():
        return
    around = Surroundings(zone=str(ctx.tz))
    message = template.compile(source).render(dict(values), Budget(), around).strip()
    if message:
        raise Invalid(message[:MAX_LABEL_CHARS], field=element.name)
