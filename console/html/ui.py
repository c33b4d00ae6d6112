"""The components of the console, each as HTML: what templates build pages of. The page /-/ui shows them all.

Every function answers HTML whose values are escaped; templates put it in by `raw`."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from tornado.escape import xhtml_escape

from console.html import confirmation, diffs, drafts, icons, locales
from console.html.environment import fragment
from console.html.form import Form, sentence
from console.html.locales import Locale
from console.http import navigation
from console.http.navigation import PLACES, NavigationItem, here, open_to, rail
from console.http.visit import FORM_TOKEN, Visit
from server import clock, times, translation
from server.access.actor import Actor
from server.dataclass import dataclass
from server.desk.pictures import drawn
from server.people import form_drafts
from server.people import unread as unread_notifications
from server.translation import N_, N_ngettext, Words, _, ngettext, shown, shown_mark
from server.upkeep.finding import Finding

# What keys do: shown by `?`, and read from there by static/keys.js. The last is the place that one leads to.
KEYS = (
    ("?", N_("show these keys"), ""),
    ("/", N_("search on this page"), ""),
    (N_("Ctrl K"), N_("jump to anything"), ""),
    *((f"g {each.key}", each.label, each.path) for each in PLACES if each.key),
    ("c", N_("New ticket"), "/compose"),
    ("j", N_("next row or message"), ""),
    ("k", N_("previous row or message"), ""),
    ("o", N_("open the row"), ""),
    ("x", N_("select the row"), ""),
    (N_("Shift x"), N_("select the rows up to this one"), ""),
    ("z", N_("undo what was just done"), ""),
    ("F6", N_("to the message, and back"), ""),
    (N_("Ctrl Enter"), N_("send the form"), ""),
    (N_("Ctrl Shift Enter"), N_("send later"), ""),
    (N_("Ctrl Shift M"), N_("preview of the email, and back"), ""),
    ("F8", N_("next mistake in an editor"), ""),
    (N_("Esc"), N_("close, then leave the field"), ""),
)
Option = tuple[str, Words]  # value, label
PAGE_ROWS = 25
SIGNS = {"ok": "●", "warn": "▲", "err": "✕", "info": "◆", "muted": "·"}
STATES = {"ok": ("ok", N_("OK")), "warning": ("warn", N_("warning")), "problem": ("err", N_("problem"))}
# Entries of the rail with a mark when something needs attention, and the part that it is about; "" for all of them.
MARKED = {"/admin/mail": "mail", "/admin/system": ""}
DIFF_SIGNS = {"removed": "−", "added": "+", "same": "", "skipped": ""}
BAR_STEP, BAR_HEIGHT = 4, 20  # pixels
_AFTER_A_PART = re.compile(r"(?<=[._/:-])")
# Seconds, and how many of these are told: ago, and ahead.
_SPANS = (
    (86400 * 365, N_ngettext("{count} year ago", "{count} years ago"),
     N_ngettext("in {count} year", "in {count} years")),
    (86400 * 30, N_ngettext("{count} month ago", "{count} months ago"),
     N_ngettext("in {count} month", "in {count} months")),
    (86400, N_ngettext("{count} day ago", "{count} days ago"), N_ngettext("in {count} day", "in {count} days")),
    (3600, N_ngettext("{count} hour ago", "{count} hours ago"), N_ngettext("in {count} hour", "in {count} hours")),
    (60, N_ngettext("{count} minute ago", "{count} minutes ago"),
     N_ngettext("in {count} minute", "in {count} minutes")),
)  # fmt: skip


@dataclass(frozen=True)
class ChooserOptions:
    """Records that a field may take: all of them, or None when there are too many. shown: which one is chosen."""

    uri: str
    options: Sequence[Option] | None
    shown: str


@dataclass(frozen=True)
class Sample:
    """A request of the API that does what a page does. fields: of the form, as they are sent."""

    method: str
    path: str
    fields: Sequence[tuple[str, str]] = ()


def keys(worker: Actor) -> list[tuple[str, str, str]]:
    """The keys that do something for a worker: (keys, what they do, path of the place)."""
    paths = {each.path for each in open_to(worker)} | {""}
    told = ((keys, _("go to {place}", place=shown(does)) if path else shown(does), path) for keys, does, path in KEYS)
    return [each for each in told if each[2] in paths]


Entries = list[
    tuple[NavigationItem, str]
]  # each with how it is the one that is shown: `page`, `true` for a part of it, or ""


def nav(visit: Visit, worker: Actor) -> list[tuple[str, Entries, bool]]:
    """The rail: (group, its places, whether it is open). Closed ones are named by a cookie that scripts set; the one
    with the page that is shown is always open."""
    groups = rail(worker, visit.service.registry.custom)
    shown = here([each for _, listed in groups for each in listed], visit.path)
    entries = ((group, _marked(visit, listed, shown)) for group, listed in groups)
    closed = visit.closed_groups
    return [(group, each, group_key(group) not in closed or any(state for _, state in each)) for group, each in entries]


def bar(visit: Visit, worker: Actor) -> Entries:
    """The bar of a phone."""
    shown = here([each for _, listed in rail(worker) for each in listed], visit.path)
    return _marked(visit, navigation.bar(worker), shown)


def group_key(group: str) -> str:
    """What a group of the rail is called in a cookie."""
    return group.lower().replace(" ", "-")


def _marked(visit: Visit, listed: Sequence[NavigationItem], shown: str) -> Entries:
    state = "page" if shown == visit.path else "true"
    return [(each, state if each.path == shown else "") for each in listed]


def icon(name: str) -> str:
    """An icon of icons.py."""
    return icons.icon(name)


def logo() -> str:
    """Our mark."""
    return icons.MARK


def avatar(name: str, id: int) -> str:
    """The initials of somebody in a circle, as their picture has them. They decorate; the name stands beside them."""
    return fragment("parts/avatar.html", drawn=drawn(name, id))


def token(visit: Visit, draft: str = "") -> str:
    """What every form of ours carries. draft: the key under which what is typed into the form is kept until it is
    saved; `ui.draft` stands above such a form."""
    visit.require_secret()
    return fragment("parts/token.html", name=FORM_TOKEN, value=visit.form_token, draft_field=drafts.FIELD, draft=draft)


def draft(visit: Visit, key: str) -> str:
    """That there is something typed and not saved, with the way to take it up or to drop it. Stands above its form."""
    found = form_drafts.of(visit.ctx, key) if visit.session is not None else None
    return fragment(
        "parts/draft.html", key=key, at=found.updated_at if found and not visit.is_post else 0, when=when, visit=visit,
        is_taken_up=visit.query.text(drafts.TAKE_UP, "") == key, field=drafts.FIELD, token=token(visit),
        take_up=_link(visit, **{drafts.TAKE_UP: key}), here=_link(visit, **{drafts.TAKE_UP: ""}),
    )  # fmt: skip


def hidden(name: str, value: str) -> str:
    """A value that a form carries along."""
    return fragment("parts/hidden.html", name=name, value=value)


def summary(form: Form, labels: Mapping[str, Words] | None = None) -> str:
    """What is wrong with a form, above it, with links to its fields; nothing when all is well."""
    return fragment("parts/summary.html", form=form, labels=labels or {}, shown=shown) if form.is_wrong else ""


def field(form: Form, name: str, label: Words, type: str = "text", hint: Words = "", **attributes: Any) -> str:
    """A line to type into. attributes: of the input, such as autocomplete; None and False are left out."""
    if type != "password":
        attributes["value"] = form.get(name)
    if type in ("text", "search"):
        attributes.setdefault("dir", "auto")
    return _part("field", form, name, label, hint, {"type": type, **attributes})


def time_field(form: Form, name: str, label: Words, hint: Words = "", **attributes: Any) -> str:
    """A line for a time in words; what it was understood as is told while typing."""
    attributes |= {"value": form.get(name), "data-time": True, "autocomplete": "off"}
    return _part("time_field", form, name, label, hint, {"type": "text", **attributes})


def zone_field(form: Form, name: str, label: Words, hint: Words, **attributes: Any) -> str:
    """A line for the name of a time zone; where scripts run, those that fit are shown while typing."""
    told = " ".join((_("Such as Europe/Berlin."), shown(hint))).strip()
    return field(form, name, label, hint=told, autocomplete="off", autocapitalize="off", data_suggest="/-/zones",
                 **attributes)  # fmt: skip


def area(form: Form, name: str, label: Words, rows: int = 4, hint: Words = "", **attributes: Any) -> str:
    """Room for several lines."""
    return _part("area", form, name, label, hint, {"rows": rows, "dir": "auto", **attributes}, text=form.get(name))


def editor(
    form: Form, name: str, label: Words, rows: int = 16, hint: Words = "", mistakes: Sequence[tuple[int, str]] = (),
    check: str = "",
) -> str:  # fmt: skip
    """A text with numbered lines and what is wrong at which of them: (line from 1, reason). check: the path that tells
    while typing."""
    attributes = {"rows": rows, "spellcheck": "false", "autocapitalize": "off", "data-check": check or None}
    return _part("editor", form, name, label, hint, attributes, text=form.get(name), mistakes=mistakes)


def choice(form: Form, name: str, label: Words, options: Sequence[Option], hint: Words = "", **attributes: Any) -> str:
    """One of a list. Long lists can be searched where scripts run."""
    if len(options) > 12:
        attributes["data-search-options"] = True
    told = [(value, shown_mark(text)) for value, text in options]
    return _part("choice", form, name, label, hint, attributes, options=told)


def chooser(
    form: Form, name: str, label: Words, found: ChooserOptions, hint: Words = "", none: Words = "", **attributes: Any
) -> str:
    """One record of a type. found: from lists.choosable; when there are too many it is a line that takes a name or a
    number, which scripts turn into a list that the server searches. lists.chosen_id reads what is sent. none: what
    choosing none is called, "" where one must be chosen."""
    if found.options is not None:
        return choice(form, name, label, [*([("", shown(none))] if none else []), *found.options], hint, **attributes)
    attributes |= {
        "value": found.shown, "type": "text", "dir": "auto", "data-chooser": f"/-/choose/{found.uri}",
        "autocomplete": "off", "placeholder": shown(none) or None,
    }  # fmt: skip
    return _part("chooser", form, name, label, hint, attributes, uri=found.uri)


def ticks(form: Form, name: str, label: Words, options: Sequence[tuple[str, Words, Words]], hint: Words = "") -> str:
    """Any number of a list: (value, label, what it means)."""
    told = [(value, shown_mark(text), shown_mark(note)) for value, text, note in options]
    return _part("ticks", form, name, label, hint, {}, options=told, chosen=form.several.get(name, []))


def tick(form: Form, name: str, label: Words, hint: Words = "") -> str:
    """Yes or no."""
    attributes = {"checked": form.get(name) not in ("", "0"), "value": "1", "type": "checkbox"}
    return _part("tick", form, name, label, hint, attributes)


def badge(kind: str, text: Words) -> str:
    """A state in a word. kind: ok, warn, err, info, muted. Each has its sign: colour alone tells nothing."""
    return fragment("parts/badge.html", kind=kind, text=shown(text), sign=SIGNS[kind])


def state(state: str, text: Words = "") -> str:
    """How a part of the service is, or all of it. state: ok, warning, problem. text: in words."""
    kind, usual = STATES[state]
    return badge(kind, text or usual)


def findings(found: Sequence[Finding]) -> str:
    """What was found of the parts of the service, with what to do."""
    return fragment("parts/findings.html", found=found, state=state, sentence=sentence)


def mark(visit: Visit, path: str) -> str:
    """The sign beside an entry of the rail behind which something needs attention; nothing where all is well."""
    if path not in MARKED:
        return ""
    judged = visit.verdict.about(MARKED[path])
    told = "; ".join(each.found for each in judged.wrong) if MARKED[path] else judged.text
    return fragment("parts/mark.html", text=told, state=judged.state, sign=SIGNS[STATES[judged.state][0]])


def plain(text: str) -> str:
    """A text as HTML."""
    return xhtml_escape(text)


def name(text: str) -> str:
    """What somebody called something, in the direction of its own letters whatever stands around it."""
    return f'<bdi dir="auto">{xhtml_escape(text)}</bdi>' if text else ""


def link(path: str, text: str = "", html: str = "", said: str = "") -> str:
    """A link inside of a table or a sentence. html: what stands in it, in place of a text. said: to screen readers,
    where its text alone says too little."""
    label = f' aria-label="{xhtml_escape(said)}"' if said else ""
    auto = "" if html else ' dir="auto"'
    return f'<a{auto} href="{xhtml_escape(path)}"{label}>{html or xhtml_escape(text)}</a>'


def code(text: str) -> str:
    """A text that programs read."""
    return f"<code>{xhtml_escape(text)}</code>" if text else ""


def muted(text: Words) -> str:
    """What is said by the way."""
    return f'<span class="muted">{xhtml_escape(shown(text))}</span>' if text else ""


def code_parts(text: str) -> str:
    """A name of parts that programs read."""
    return f"<code>{breakable(text)}</code>"


def copied(text: str, label: Words) -> str:
    """A text that programs read, with a button that copies it."""
    return f"{code(text)} {copy(text, label)}"


def row(*parts: str) -> str:
    """Buttons and the like beside each other, each as HTML."""
    return f'<div class="row">{"".join(parts)}</div>'


def tick_mark(is_so: bool) -> str:
    """Yes or no in a table."""
    return xhtml_escape(_("yes") if is_so else _("no"))


def copy(text: str, label: Words) -> str:
    """A button that copies a text; without scripts there is none. label: what is copied, for screen readers."""
    return fragment("parts/copy.html", text=text, label=shown(label))


def secret(label: Words, value: str, id: str) -> str:
    """A secret that is shown this once."""
    return fragment("parts/secret.html", label=shown(label), value=value, id=id)


def bars(values: Sequence[int], label: Words) -> str:
    """A row of small bars, as tall as their values. label: what they say, for those who do not see them."""
    most = max(values, default=0) or 1
    heights = [round(BAR_HEIGHT * value / most, 1) if value else 0 for value in values]
    return fragment("parts/bars.html", label=shown(label), height=BAR_HEIGHT, bars=[
        (place * BAR_STEP, max(height, 1)) for place, height in enumerate(heights) if height
    ], width=len(heights) * BAR_STEP)  # fmt: skip


def breakable(text: str) -> str:
    """A name of parts, such as shop.orders.new: a narrow place breaks it between them."""
    return fragment("parts/breakable.html", parts=_AFTER_A_PART.split(text))


def diff(lines: Sequence[diffs.DiffLine], label: Words) -> str:
    """Two texts beside each other, from diffs.compared. label: what they are."""
    return fragment("parts/diff.html", lines=lines, label=shown(label), signs=DIFF_SIGNS)


def snippet(text: str, label: Words) -> str:
    """A text to be copied, such as a command."""
    return fragment("parts/snippet.html", text=text, label=shown(label))


def unread(visit: Visit) -> int:
    """How many notifications the worker has not read."""
    return unread_notifications.count(visit.ctx)


def bell(visit: Visit, unread: int) -> str:
    """The way to the notifications, with how many are unread."""
    return fragment("parts/bell.html", unread=unread, shown=number(visit, unread), icon=icon)


def button(visit: Visit, path: str, label: Words, kind: str = "", confirm: Words = "", **fields: str) -> str:
    """A form that is one button. kind: primary, danger, link. confirm: what is asked before."""
    return _button(visit, path, label, kind, confirm, fields.items())


def undo(visit: Visit, path: str, fields: Sequence[tuple[str, str]]) -> str:
    """The button of a message that takes back what was done."""
    return _button(visit, path, N_("Undo"), "link", "", fields)


def asks(text: Words, verb: Words) -> str:
    """The question of a form with data-confirm, which is asked without scripts, too; see console/html/confirmation.py.
    verb: the label of its button."""
    return fragment(
        "parts/asks.html", question=confirmation.QUESTION, answer=confirmation.ANSWER, text=text,
        verb_field=confirmation.VERB, verb=verb,
    )  # fmt: skip


def when(visit: Visit, at: int) -> str:
    """An instant: how long ago or ahead, and on hover when. Unix seconds; 0 is never."""
    if not at:
        return fragment("parts/never.html")
    return fragment(
        "parts/when.html", iso=clock.utc_text(at),
        full=moment(visit, at), short=distance(at - visit.now),
    )  # fmt: skip


def moment(visit: Visit, at: int) -> str:
    """An instant in full, in the zone of who is signed in and as they write it: Mon 23 Nov 2026 09:00 Europe/Zurich."""
    zone = (visit.session.actor.timezone if visit.session is not None else "") or "UTC"
    return f"{_locale(visit).moment(datetime.fromtimestamp(at, times.zone(zone)))} {zone}"


def soon(visit: Visit, at: int) -> str:
    """An instant as a sentence tells it: Mon 09:00 within a week, else with its date. Unix seconds."""
    zone = times.zone((visit.session.actor.timezone if visit.session is not None else "") or "UTC")
    return _locale(visit).soon(datetime.fromtimestamp(at, zone), datetime.fromtimestamp(visit.now, zone))


def number(visit: Visit, value: float) -> str:
    """A number as who is signed in writes it."""
    return _locale(visit).number(value)


def counted(visit: Visit, value: int, most: int) -> str:
    """A number that was counted as far as `most`."""
    return _("more than {number}", number=number(visit, most)) if value > most else number(visit, value)


def distance(seconds: int) -> str:
    """
    >>> distance(-30), distance(-7200), distance(90000), distance(0)
    ('just now', '2 hours ago', 'in 1 day', 'just now')
    """
    for size, ago, ahead in _SPANS:
        count = abs(seconds) // size
        if count:
            return ngettext(*(ahead if seconds > 0 else ago), count)
    return _("in less than a minute") if seconds > 0 else _("just now")


def duration(seconds: int) -> str:
    """How long something takes.

    >>> duration(59), duration(90), duration(90000)
    ('less than a minute', '1 minute', '1 day, 1 hour')
    """
    days, hours, minutes = seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60
    told = (
        ngettext("{count} day", "{count} days", days) if days else "",
        ngettext("{count} hour", "{count} hours", hours) if hours else "",
        ngettext("{count} minute", "{count} minutes", minutes) if minutes else "",
    )
    return ", ".join(list(filter(None, told))[:2]) or _("less than a minute")


def bytes_text(number: int) -> str:
    """
    >>> bytes_text(512), bytes_text(2048), bytes_text(3 * 1024 * 1024), bytes_text(76 * 1024**3)
    ('512 bytes', '2.0 KiB', '3.0 MiB', '76.0 GiB')
    """
    if number < 1024:
        return ngettext("{count} byte", "{count} bytes", number)
    power, unit = next((power, unit) for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")) if number >= 1024**power)
    return f"{number / 1024**power:.1f} {unit}"


def pager(
    visit: Visit,
    total: int,
    page: int,
    limit: int = PAGE_ROWS,
    name: str = "page",
    label: Words = "Pages",
    at: str = "",
) -> str:
    """The way to the other pages of a list. page: counted from 1. name: of the parameter that says which. label: what
    they are pages of, for screen readers. at: the id of the list, where it stands far down its page."""
    last = max(1, -(-total // limit))
    first, end = (page - 1) * limit + 1, min(page * limit, total)
    counts = {name: number(visit, value) for name, value in (("first", first), ("last", end), ("total", total))}
    counted = _("{first}–{last} of {total}", **counts) if total else ""
    place = f"#{at}" if at else ""
    return fragment("parts/pager.html", counted=counted, page=page, last=last, label=shown(label),
                    link=lambda other: _link(visit, **{name: str(other)}) + place)  # fmt: skip


def empty(text: Words, action: str = "", label: Words = "", clear: str = "", query: str = "") -> str:
    """What a list without rows says. action, label: what to do first. clear: the list without its filter `query`."""
    return fragment("parts/empty.html", text=shown(text), action=action, label=shown(label), clear=clear, query=query)


def api(visit: Visit, *samples: Sample) -> str:
    """The requests that do what this page does, as curl, Python and JavaScript."""
    return fragment("parts/api.html", samples=[
        (each, _curl(visit, each), _python(visit, each), _javascript(visit, each)) for each in samples
    ], snippet=snippet)  # fmt: skip


def quoted(text: str) -> str:
    """A text as a value in an address."""
    return quote(text, safe="")


WAITS = {"/admin/system/checkup": N_("Asking the mail servers…")}  # said while pages come that take their time


def tabs(visit: Visit, label: Words, pages: Sequence[Option]) -> str:
    """Pages that belong together: (path, label). The one that is shown is the longest path that this one begins with.
    label: what they are, for screen readers."""
    fitting = [path for path, _ in pages if visit.path == path or visit.path.startswith(path + "/")]
    return fragment(
        "parts/tabs.html", label=shown(label), here=max(fitting, key=len, default=""), path=visit.path,
        pages=[(path, shown_mark(text)) for path, text in pages],
        waits=WAITS,
    )  # fmt: skip


def as_json(value: Any) -> str:
    """A value as JSON to be read."""
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)


def _part(part: str, form: Form, name: str, label: str, hint: str, attributes: dict[str, Any], **more: Any) -> str:
    error = form.errors.get(name, "")
    parts = (("error", error and not more.get("mistakes")), ("mistakes", more.get("mistakes")), ("help", hint))
    id = str(attributes.setdefault("id", name))
    described = [f"{id}-{each}" for each, is_there in parts if is_there]
    given = {"name": name, "aria-describedby": " ".join(described) or None,
             "aria-invalid": "true" if error else None, **attributes}  # fmt: skip
    return fragment(
        f"parts/{part}.html", id=id, name=name, label=shown(label), hint=shown(hint), error=error,
        value=form.get(name), **more,
        attributes=[(key.rstrip("_").replace("_", "-"), text) for key, text in given.items()
                    if text is not None and text is not False],
    )  # fmt: skip


def _button(visit: Visit, path: str, label: str, kind: str, confirm: str, fields: Iterable[tuple[str, str]]) -> str:
    return fragment(
        "parts/button.html", token=token(visit), path=path, label=shown(label), kind=kind, confirm=shown(confirm),
        fields=fields,
        asks=asks(confirm, label),
    )  # fmt: skip


def _locale(visit: Visit) -> Locale:
    return locales.of(visit.language)


def _link(visit: Visit, **changes: str) -> str:
    """The address of this page with other parameters; blank ones are left out."""
    present = {name: visit.query.text(name, "") for name in visit.query.names()} | changes
    query = urlencode({name: text for name, text in present.items() if text})
    return f"{visit.path}?{query}" if query else visit.path


def _curl(visit: Visit, each: Sample) -> str:
    lines = [f'curl -H "Authorization: Bearer $HELPDESK_TOKEN" -X {each.method}']
    if each.method == "GET" and each.fields:
        lines[0] = lines[0].replace("curl", "curl -G").replace(" -X GET", "")
    lines += [f"  --data-urlencode {shell(f'{name}={value}')}" for name, value in each.fields]
    lines.append(f"  {shell(visit.service.base_url + each.path)}")
    return " \\\n".join(lines)


def _python(visit: Visit, each: Sample) -> str:
    where = "params" if each.method == "GET" else "data"
    fields = f", {where}={_listed(each)!r}" if each.fields else ""
    return (
        "import os, requests\n\n"
        'headers = {"Authorization": "Bearer " + os.environ["HELPDESK_TOKEN"]}\n'
        f'answer = requests.request("{each.method}", "{visit.service.base_url}{each.path}", headers=headers{fields})\n'
        "print(answer.json())"
    )


def _listed(each: Sample) -> Any:
    """The fields as a map, or as pairs where a name stands there twice; both libraries take either."""
    fields = dict(each.fields)
    return fields if len(fields) == len(each.fields) else list(each.fields)


def _javascript(visit: Visit, each: Sample) -> str:
    fields = json.dumps(_listed(each), ensure_ascii=False)
    address = json.dumps(visit.service.base_url + each.path)
    options = f'method: "{each.method}", headers: {{Authorization: `Bearer ${{process.env.HELPDESK_TOKEN}}`}}'
    if each.fields and each.method == "GET":
        address = f"{address} + '?' + new URLSearchParams({fields})"
    elif each.fields:
        options += f", body: new URLSearchParams({fields})"
    return f"const answer = await fetch({address}, {{{options}}});\nconsole.log(await answer.json());"


def capital(text: Words) -> str:
    """A word as it begins a line."""
    told = shown(text)
    return told[:1].upper() + told[1:]


def in_sentence(name: str) -> str:
    """The name of a record type inside of a sentence."""
    return translation.in_sentence(name)


def shell(text: str) -> str:
    """A text as a word of a command line.

    >>> print(shell("O'Hara"))
    'O'\\''Hara'
    """
    return "'" + text.replace("'", "'\\''") + "'"
