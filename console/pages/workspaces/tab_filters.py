"""The filters of a tab: fields above its widgets, whose values their data queries and searches contain. Packages write
them in KATA, as `prompts_kata` of the settings of a tab."""

from collections.abc import Mapping
from typing import Any

from console.html.form import Form
from console.html.ui import ChooserOptions, Option
from console.http.visit import Visit
from console.lists import lookup
from console.pages.workspaces.drawing import address_with
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import HelpdeskError, Invalid
from server.kata import kata_parser
from server.kata.evaluate import Environment, Generic
from server.translation import N_, Words, _

KATA = "prompts_kata"
PREFIX = "f-"  # names of the parameters of an address that hold filters
MAX_FILTERS = 20  # filters on one tab
MAX_OPTIONS = 100
MAX_TEXT_CHARS = 200  # length of a value
TEXT, DATES, PICKLIST, CHOOSER = "text", "date_range", "picklist", "chooser"
KINDS = (TEXT, DATES, PICKLIST, CHOOSER)
RANGE = " to "  # separates the ends of a range of dates
USUAL_RANGES: tuple[tuple[Words, str], ...] = (
    (N_("Today"), "today to now"),
    (N_("7 days"), "-7 days to now"),
    (N_("30 days"), "-30 days to now"),
    (N_("1 year"), "-1 year to now"),
)


@dataclass(frozen=True)
class TabFilter:
    """A filter. key: its name in queries; name: of its field. options: of a list. presets: of a range of dates, as
    (label, value). records: of a chooser."""

    kind: str
    key: str
    label: str
    is_several: bool = False
    options: tuple[Option, ...] = ()
    presets: tuple[tuple[Words, str], ...] = ()
    records: ChooserOptions | None = None

    @property
    def name(self) -> str:
        return PREFIX + self.key

    @property
    def ticks(self) -> list[tuple[str, Words, Words]]:
        """The options with room for their meanings, for a list of checkboxes."""
        return [(value, label, "") for value, label in self.options]


class TabFilters:
    """The filters of a tab with their values from the address, else the usual ones. values: by their names in
    queries. is_changed: whether the address has some."""

    def __init__(self, visit: Visit, tab_params: object) -> None:
        self._visit = visit
        self.mark = PREFIX  # a parameter of the submitted form
        self.all: list[TabFilter] = []
        self.form = Form()
        self.values: dict[str, Any] = {}
        self.is_changed = any(name.startswith(PREFIX) for name in visit.query.names())
        self._is_sent = PREFIX in visit.query
        for (kind, key), settings in read(tab_params).items():
            self._add(visit, kind, key, settings)

    def address(self, name: str, value: str) -> str:
        """This page with another value of a filter."""
        return address_with(self._visit, name, value)

    def _add(self, visit: Visit, kind: str, key: str, settings: Mapping[str, Any]) -> None:
        params = settings.get("params")
        params = params if isinstance(params, dict) else {}
        label = str(settings.get("label") or key).rstrip(": ")[:MAX_TEXT_CHARS]
        usual, name = settings.get("default"), PREFIX + key
        if kind in (PICKLIST, CHOOSER):
            is_several = _is_yes(params.get("multiple")) if kind == PICKLIST else not _is_yes(params.get("single"))
            texts = self._chosen(visit, name, usual, may_be_unticked=is_several)
            chosen = [text[:MAX_TEXT_CHARS] for text in texts][:MAX_OPTIONS]
            options: tuple[Option, ...] = tuple(_options(params.get("options"))[:MAX_OPTIONS])
            records = None
            if kind == CHOOSER:
                chosen = _ids(visit, str(params.get("context") or ""), chosen)
                records = _records(visit, params, chosen[0] if chosen else "")
                options, is_several = tuple(records.options or ()), is_several and records.options is not None
            else:
                offered = dict(options)
                chosen = [value for value in chosen if value in offered]
                chosen = chosen or ([] if is_several else _texts(usual))
            chosen = chosen if is_several else chosen[:1]
            self.form.several[name], self.form.values[name] = chosen, chosen[0] if chosen else ""
            self.values[key] = chosen if kind == PICKLIST and is_several else ",".join(chosen)
            blank: tuple[Option, ...] = () if is_several or kind == CHOOSER else _blank(usual)
            self.all.append(TabFilter(kind, key, label, is_several, (*blank, *options), records=records))
            return
        text = (self._chosen(visit, name, usual) or [""])[0].strip()[:MAX_TEXT_CHARS]
        self.form.values[name] = self.values[key] = text
        if kind == DATES:
            begin, _to, end = text.partition(RANGE)
            self.values |= {f"{key}__from": begin.strip(), f"{key}__to": end.strip()}
        presets = _presets(params.get("presets")) or USUAL_RANGES if kind == DATES else ()
        self.all.append(TabFilter(kind, key, label, presets=tuple(presets)))

    def _chosen(self, visit: Visit, name: str, usual: object, *, may_be_unticked: bool = False) -> list[str]:
        """The texts of the address, else the usual ones. may_be_unticked: whether a submitted form leaves the field out
        if nothing is chosen."""
        try:
            texts = visit.query.text_list(name)
        except HelpdeskError:  # a map, as only a typed address has
            texts = []
        if texts or name in visit.query or (self._is_sent and may_be_unticked):
            return texts
        return _texts(usual)


def _texts(usual: object) -> list[str]:
    """The usual texts of a filter."""
    return [str(each) for each in usual] if isinstance(usual, list) else [str(usual)] if usual else []


def read(tab_params: object) -> dict[tuple[str, str], Mapping[str, Any]]:
    """{(kind, name): settings} of the filters of a tab. Raises KataSyntax, Invalid."""
    text = str(tab_params.get(KATA) or "") if isinstance(tab_params, dict) else ""
    if not text.strip():
        return {}
    tree = Generic(Environment()).value(kata_parser.parse(text).tree)
    filters: dict[tuple[str, str], Mapping[str, Any]] = {}
    for key, settings in tree.items() if isinstance(tree, dict) else ():
        kind, _slash, name = key.partition("/")
        if kind not in KINDS or not name:
            kinds = ", ".join(KINDS)
            raise Invalid(
                _("'{name}' is not a filter; write one of {kinds}, a slash and a name", name=key, kinds=kinds)
            )
        filters[kind, name] = settings if isinstance(settings, dict) else {}
    if len(filters) > MAX_FILTERS:
        raise Invalid(_("at most {count} filters", count=MAX_FILTERS))
    return filters


def _is_yes(value: object) -> bool:
    return str(value).strip().lower() in ("1", "true", "yes", "y", "on")


def _options(value: object) -> list[Option]:
    """The options of a list: values, or labels with values."""
    if isinstance(value, list):
        return [(str(each), str(each)) for each in value]
    if isinstance(value, dict):
        return [(str(each), str(each) if is_whole(label) else label) for label, each in value.items()]
    return []


def _blank(usual: object) -> tuple[Option, ...]:
    """The option of no value, for a list without a usual one."""
    return () if usual else (("", _("All")),)


def _presets(value: object) -> list[tuple[Words, str]]:
    presets = value.items() if isinstance(value, dict) else ()
    return [
        (str(each.get("label") or key), str(each["query"]))
        for key, each in presets
        if isinstance(each, dict) and each.get("query")
    ]


def _ids(visit: Visit, context: str, texts: list[str]) -> list[str]:
    """The submitted ids of a chooser, without unknown names."""
    record_type = visit.service.registry.find(context)
    ids = []
    for text in texts:
        try:
            id = lookup.chosen_id(visit, record_type.uri, text) if record_type is not None else 0
        except HelpdeskError:
            continue
        if id:
            ids.append(str(id))
    return ids


def _records(visit: Visit, params: Mapping[str, Any], chosen: str) -> ChooserOptions:
    """The records of a chooser; none of a type that cannot be searched, or by an invalid search."""
    record_type = visit.service.registry.find(str(params.get("context") or ""))
    if record_type is None or not record_type.offers("search"):
        return ChooserOptions("", (), "")
    try:
        return lookup.choosable(visit, record_type.uri, str(params.get("query") or ""), chosen)
    except HelpdeskError:
        return ChooserOptions(record_type.uri, (), "")
