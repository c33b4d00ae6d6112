"""The components of the console, from which templates build pages. The page /-/ui shows them all.

Most are macros in console/templates/macros, which Python calls by the same names: `ui.badge("ok", N_("sent"))`. This
module holds the values that they show, and the smallest components, of which a list has hundreds."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

from console.html import drafts, icons, templates
from console.html.confirmation import ANSWER as ANSWER
from console.html.confirmation import QUESTION as QUESTION
from console.html.confirmation import VERB as VERB
from console.html.form import Form
from console.html.form import sentence as sentence
from console.html.icons import icon as icon
from console.html.rail import bar as bar
from console.html.rail import rail as rail
from console.html.rail import settings_group as settings_group
from console.html.samples import Sample as Sample
from console.html.samples import as_curl as as_curl
from console.html.samples import as_javascript as as_javascript
from console.html.samples import as_python as as_python
from console.html.samples import shell as shell
from console.http.navigation import PLACES, SETTINGS, open_to
from console.http.visit import FORM_TOKEN as FORM_TOKEN
from console.http.visit import Visit
from server import locales, times
from server.access.actor import Actor
from server.clock import utc_text as utc_text
from server.dataclass import dataclass
from server.locales import Locale
from server.people import form_drafts
from server.people import unread as unread_notifications
from server.quantities import bytes_text as bytes_text
from server.quantities import distance as distance
from server.quantities import duration as duration
from server.quantities import short_duration as short_duration
from server.records.pictures import drawn
from server.times import instants
from server.translation import N_, Words, _, shown
from server.translation import in_sentence as in_sentence
from server.web.json_text import as_json as as_json

# What keys do: shown by `?`, and read from there by static/keys.js. The last is the place that one leads to.
KEYS = (
    ("?", N_("show shortcuts"), ""),
    ("/", N_("search on this page"), ""),
    (N_("Ctrl K"), N_("jump to anything"), ""),
    *((f"g {each.key}", each.label, each.path) for each in PLACES if each.key),
    ("c", N_("New ticket"), "/compose"),
    ("j", N_("next row or message"), ""),
    ("k", N_("previous row or message"), ""),
    ("o", N_("open the row or message"), ""),
    ("x", N_("select the row"), ""),
    (N_("Shift x"), N_("select the rows up to this one"), ""),
    (N_("Shift j"), N_("select the next row"), ""),
    ("z", N_("undo the last action"), ""),
    ("F6", N_("go to the message, and back"), ""),
    (N_("Ctrl Enter"), N_("send the form"), ""),
    (N_("Ctrl Shift Enter"), N_("send later"), ""),
    (N_("Ctrl Shift M"), N_("preview the email, and back"), ""),
    ("F8", N_("next problem in an editor"), ""),
    (N_("Esc"), N_("close, then leave the field"), ""),
)
# The macros of each file of console/templates/macros.
MACROS = {
    "fields": "token hidden summary field time_field zone_field area written editor choice chooser ticks tick "
    "control_field field_grid start_from",
    "buttons": "button undo order_buttons marks asks draft copy passkey",
    "texts": "badge state when last_used short_time hint due breakable code_parts copied avatar snippet secret "
    "version_head version_changes diff",
    "lists": "empty pager tabs findings",
    "charts": "bars columns rows pie points map tiles",
    "records": "fact files delivery folded hidden_address",
    "steps": "steps",
    "panel": "set_form add_form remove_button",
    "frame": "bell theme_color mark rail_entries api",
}
_FILES = {name: file for file, names in MACROS.items() for name in names.split()}
DRAFT, RESTORE = drafts.FIELD, drafts.TAKE_UP
Option = tuple[str, Words]  # value, label
PAGE_ROWS = 25
SIGNS = {"ok": "●", "warn": "▲", "err": "✕", "info": "◆", "muted": "·"}
STATES = {"ok": ("ok", N_("OK")), "warning": ("warn", N_("warning")), "problem": ("err", N_("problem"))}
# Entries with a mark when something needs attention, and the part that it is about; "" for all of them.
MARKED = {SETTINGS.path: "", "/admin/mail": "mail", "/admin/system": ""}
WAITS = {"/admin/system/checkup": N_("Checking the mail servers…")}  # shown while pages load that take their time
DIFF_SIGNS = {"removed": "−", "added": "+", "same": "", "skipped": ""}
BAR_STEP, BAR_HEIGHT = 4, 20  # pixels
_AFTER_A_PART = re.compile(r"(?<=[._/:-])")


@dataclass(frozen=True)
class ChooserOptions:
    """Records that a field may take: all of them, or None when there are too many. shown: which one is chosen."""

    uri: str
    options: Sequence[Option] | None
    shown: str


def keys(worker: Actor) -> list[tuple[str, str, str]]:
    """The keyboard shortcuts of a worker: (keys, effect, path of the page that they open)."""
    paths = {each.path for each in open_to(worker)} | {""}
    shortcuts = (
        (str(keys), _("go to {place}", place=shown(does)) if path else shown(does), path) for keys, does, path in KEYS
    )
    return [each for each in shortcuts if each[2] in paths]


templates.GLOBALS["ui"] = sys.modules[__name__]


def __getattr__(name: str) -> Callable[..., Markup]:
    """A macro, by its name."""
    if name not in _FILES:
        raise AttributeError(name)
    return globals().setdefault(name, templates.macro(_FILES[name], name))


# -- the smallest components -------------------------------------------------------------------------------------------


def logo() -> Markup:
    """Our mark."""
    return icons.MARK


def name(text: str) -> Markup:
    """Returns a name in its own writing direction, isolated from the text around it."""
    return Markup(f'<bdi dir="auto">{escape(text)}</bdi>') if text else Markup()


def tagged_path(name: str, uri: str = "ticket") -> str:
    """The list of the records of a type that have a tag."""
    return address(f"/search/{uri}", q=f'tag:"{name}"')


def status_path(name: str) -> str:
    """The list of the tickets of a named status."""
    return address("/search/ticket", q=f'status:"{name}"')


def tag(name_of_tag: str, color: str, linked_uri: str = "") -> Markup:
    """A tag or the name of a status as a chip, with a dot of its color. linked_uri: the type of the records to which a
    tag links, "" for no link."""
    shown_name = link(tagged_path(name_of_tag, linked_uri), name_of_tag) if linked_uri else name(name_of_tag)
    return Markup('<span class="badge tag" data-color="{}">{}</span>').format(color, shown_name)


def link(path: str, text: str = "", html: Markup | None = None, said: str = "") -> Markup:
    """A link inside of a table or a sentence. html: its content, in place of a text. said: to screen readers, where
    its text alone says too little."""
    label = f' aria-label="{escape(said)}"' if said else ""
    direction = "" if html else ' dir="auto"'
    return Markup(f'<a{direction} href="{escape(path)}"{label}>{html or escape(text)}</a>')


def code(text: str) -> Markup:
    """A text that programs read."""
    return Markup(f"<code>{escape(text)}</code>") if text else Markup()


def muted(text: Words) -> Markup:
    """Secondary text."""
    return Markup(f'<span class="muted">{escape(shown(text))}</span>') if text else Markup()


def row(*parts: Markup) -> Markup:
    """A row of buttons."""
    return Markup(f'<div class="row">{Markup().join(parts)}</div>')


def tick_mark(is_so: bool) -> str:
    """Yes or no in a table."""
    return _("yes") if is_so else _("no")


# -- what macros show --------------------------------------------------------------------------------------------------


def form_token(visit: Visit) -> str:
    """Returns the token of a form. Sets a visit cookie for visitors who are not signed in."""
    visit.require_secret()
    return visit.form_token


def control(
    form: Form, name: str, hint: str, given: Mapping[str, Any], described: str | None = None, **attributes: Any
) -> Markup:
    """Returns the attributes of a form control, without None and False. attributes: of its macro. given: of the
    template; they override the others. described: the kind of note that describes a mistake, by default `error` if
    there is one."""
    error = form.errors.get(name)
    id = given.get("id", name)
    notes = ["error" if error else "", "help" if hint else ""] if described is None else [described, hint and "help"]
    values = {
        "name": name,
        "aria_describedby": " ".join(f"{id}-{note}" for note in notes if note) or None,
        "aria_invalid": "true" if error else None,
        **attributes,
        "id": name,
        **given,
    }
    return Markup(
        "".join(
            f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(value)}"')
            for key, value in values.items()
            if value is not None and value is not False
        )
    )


def filled(**values: object) -> Form:
    """A form with these values."""
    return Form.from_values(values)


def draft_stored_at(visit: Visit, key: str) -> int:
    """Returns when a draft was stored, in Unix seconds; 0 without a draft to restore."""
    draft = form_drafts.load(visit.ctx, key) if visit.session is not None and not visit.is_post else None
    return draft.updated_at if draft else 0


def initials(name: str, id: int) -> Markup:
    """The initials of a person as SVG, as in their picture."""
    return Markup(drawn(name, id))


def parts_of_name(text: str) -> list[str]:
    """The parts of a name such as shop.orders.new."""
    return _AFTER_A_PART.split(text)


def bar_heights(values: Sequence[int]) -> list[tuple[int, float]]:
    """The bars of a row: (left, height), none for 0."""
    most = max(values, default=0) or 1
    heights = [round(BAR_HEIGHT * value / most, 1) if value else 0 for value in values]
    return [(place * BAR_STEP, max(height, 1)) for place, height in enumerate(heights) if height]


def trouble(visit: Visit, path: str) -> tuple[str, str]:
    """Returns the state and the problem of an entry in the rail or the settings, "" and "" without a problem."""
    part = MARKED.get(path)
    if part is None:
        return "", ""
    judged = visit.verdict.about(part) if part else visit.recent_verdict
    if judged.state == "ok":
        return "", ""
    return judged.state, "; ".join(each.found for each in judged.wrong) if part else judged.text


def unread(visit: Visit) -> int:
    """How many notifications the worker has not read."""
    return unread_notifications.count(visit.ctx)


def page_range(visit: Visit, total: int, page: int, limit: int) -> str:
    """Which of a list's rows its page shows: 26–50 of 120."""
    if not total:
        return ""
    first, end = (page - 1) * limit + 1, min(page * limit, total)
    return _(
        "{first}–{last} of {total}", first=number(visit, first), last=number(visit, end), total=number(visit, total)
    )


def this_page(visit: Visit, name: str, value: object) -> str:
    """The address of this page with another value of a parameter; blank ones are left out."""
    return visit.address(**{name: str(value)})


def current_tab(visit: Visit, pages: Sequence[Option]) -> str:
    """The path of the tab that is shown: the longest one that this path begins with."""
    fitting = [path for path, _ in pages if visit.path == path or visit.path.startswith(path + "/")]
    return max(fitting, key=len, default="")


# -- numbers and times -------------------------------------------------------------------------------------------------


def moment(visit: Visit, at: int) -> str:
    """A time in full, in the time zone and format of the worker: Mon 23 Nov 2026 09:00 Europe/Zurich."""
    zone = (visit.session.actor.timezone if visit.session is not None else "") or "UTC"
    return f"{_locale(visit).moment(datetime.fromtimestamp(at, times.zone(zone)))} {zone}"


def soon(visit: Visit, at: int) -> str:
    """A time as in a sentence: Mon 09:00 within a week from now, otherwise with its date. at: Unix seconds."""
    zone = times.zone((visit.session.actor.timezone if visit.session is not None else "") or "UTC")
    return _locale(visit).soon(datetime.fromtimestamp(at, zone), datetime.fromtimestamp(visit.now, zone))


def brief(visit: Visit, at: int) -> str:
    """A past time in the least room: 5 min, 2 h, Mon, 3 Oct. at: Unix seconds."""
    zone = times.zone((visit.session.actor.timezone if visit.session is not None else "") or "UTC")
    return _locale(visit).brief(datetime.fromtimestamp(at, zone), datetime.fromtimestamp(visit.now, zone))


def snoozes(visit: Visit) -> list[tuple[int, str]]:
    """The times offered for a ticket that waits: (Unix seconds, label), in the time zone of the worker."""
    in_hours, tomorrow, monday = (
        instants.ahead(text, visit.now, visit.ctx.tz) for text in ("+3 hours", "tomorrow 9am", "mon 9am")
    )
    return [
        (in_hours, _("In three hours")),
        (tomorrow, _("Tomorrow")),
        (monday if monday != tomorrow else instants.ahead("mon 9am", monday, visit.ctx.tz), _("Next Monday")),
    ]


def time_text(visit: Visit, at: int) -> str:
    """A time as fields for times have it, "" for none."""
    return datetime.fromtimestamp(at, visit.ctx.tz).strftime("%Y-%m-%d %H:%M") if at else ""


def day(visit: Visit, at: date) -> tuple[str, str]:
    """A day without its year, with and without the weekday: Mon 23 Nov, 23 Nov."""
    text = _locale(visit).day(at)
    return f"{shown(locales.WEEKDAYS[at.weekday()])} {text}", text


def number(visit: Visit, value: float) -> str:
    """A number as who is signed in writes it."""
    return _locale(visit).number(value)


def counted(visit: Visit, value: int, most: int) -> str:
    """A number that was counted as far as `most`."""
    return _("more than {number}", number=number(visit, most)) if value > most else number(visit, value)


# -- texts -------------------------------------------------------------------------------------------------------------


def quoted(text: str) -> str:
    """A text as a value in an address."""
    return quote(text, safe="")


def address(path: str, **values: object) -> str:
    """A path with a query; blank values are left out."""
    query = urlencode({name: value for name, value in values.items() if value not in ("", None)})
    return f"{path}?{query}" if query else path


def capital(text: Words) -> str:
    """A word as it begins a line."""
    told = shown(text)
    return told[:1].upper() + told[1:]


def _locale(visit: Visit) -> Locale:
    return locales.of(visit.language)
