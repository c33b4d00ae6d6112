"""What the widgets of a page share while they are drawn: the time that is left, the values of filters, their
settings, and their data queries."""

import re
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from markupsafe import Markup

from console.html import ui
from console.http.visit import Visit
from console.pages.workspaces.query_table import QueryTable, table_of
from server.errors import BadDataQuery, HelpdeskError, NotFound
from server.outbox.content import Placeholders
from server.queries.query_run import evaluate, type_named
from server.record_types.record_type import RecordType
from server.records import records
from server.template import Budget, Surroundings
from server.template import compile as compile_template
from server.translation import _

# Types of data queries that only read: `automation.invoke` in a shared widget would run an automation with the rights
# of its reader.
_READING = ("worklist.", "metrics.", "usage.", "sample.", "calendar.", "record.", "platform.", "ui.", "data.")
_TEMPLATE = re.compile(r"\{[{%#]")
MAX_TEMPLATE_STEPS, MAX_TEMPLATE_BYTES, MAX_TEMPLATE_SECONDS = 20_000, 1024 * 1024, 0.5  # for each setting
MAX_NAMES = 50  # placeholders of the worker in one setting
_EITHER = re.compile(r"\bOR\b")


class Drawing:
    """The state that the widgets of a page share. seconds: the time for all of them, None for the limit of each query.
    values: of the filters of their tab, for their data queries and searches."""

    def __init__(self, seconds: float | None, values: Mapping[str, Any] | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self.values = values or {}

    @property
    def left(self) -> float | None:
        return None if self._end is None else max(self._end - time.monotonic(), 0.0)

    @property
    def is_spent(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


def params_of(widget: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of a widget."""
    params = widget.get("params")
    return params if isinstance(params, dict) else {}


def text_param(widget: Mapping[str, Any], name: str) -> str:
    """A setting as text, "" for none and for one that is not text."""
    value = params_of(widget).get(name)
    return str(value).strip() if isinstance(value, (str, int, float)) else ""


def address_with(visit: Visit, name: str, value: str) -> str:
    """This page with another value of a parameter, "" to leave it out, as a relative address: it stays on the page that
    asked for the widget."""
    present = [each for each in parse_qsl(visit.request.query or "") if each[0] not in (name, f"{name}[]")]
    return f"?{urlencode([*present, (name, value)] if value else present)}"


def filled(visit: Visit, text: str, values: Mapping[str, Any], *, is_html: bool = False) -> str:
    """A text with its placeholders of the worker who looks, such as {{current_worker_id}}, and of filters."""
    plain = {name: ", ".join(each) if isinstance(each, list) else str(each) for name, each in values.items()}
    own = {"worker": visit.actor.worker_id}
    return records.reading(
        visit.ctx,
        lambda tx: Placeholders(visit.ctx, tx, own, plain, as_caller=True).fill(text, "" if is_html else None),
    )


def rendered(visit: Visit, text: str, drawing: Drawing) -> str:
    """A data query, a search or another setting whose template has been rendered with the values of the filters and of
    the worker who looks. Raises TemplateFailed, BudgetSpent."""
    if not _TEMPLATE.search(text):
        return text
    template = compile_template(text)
    unset = [name for name in template.names.read if name not in drawing.values][:MAX_NAMES]
    others = {name: filled(visit, f"{{{{{name}}}}}", {}) for name in unset}
    return _rendered(visit, text, {**others, **drawing.values})


def rendered_row(visit: Visit, text: str, row: Mapping[str, Any]) -> str:
    """A template with the values of a row. Raises TemplateFailed, BudgetSpent."""
    return _rendered(visit, text, row) if _TEMPLATE.search(text) else text


def _rendered(visit: Visit, text: str, values: Mapping[str, Any]) -> str:
    budget = Budget(MAX_TEMPLATE_STEPS, MAX_TEMPLATE_BYTES, time.monotonic() + MAX_TEMPLATE_SECONDS)
    return compile_template(text).render(values, budget, Surroundings(str(visit.ctx.tz), visit.now))


def rendered_search(visit: Visit, widget: Mapping[str, Any], drawing: Drawing) -> str:
    """Returns the search of a widget: its required part, and the part that it begins with."""
    texts = (rendered(visit, text_param(widget, name), drawing) for name in ("query_required", "query"))
    parts = [text for text in texts if text.strip()]
    return " ".join(f"({part})" if len(parts) > 1 and _EITHER.search(part) else part for part in parts)


def listed_type(visit: Visit, context: str) -> RecordType:
    """The type that a widget names. Raises NotFound for one without a list."""
    registry = visit.service.registry
    record_type = registry.find(context) or registry.find(context.rpartition(".contexts.")[2])
    if record_type is None or not record_type.offers("search"):
        raise NotFound(_("There is no list of {name}.", name=context[:80]))
    return record_type


def query_result(visit: Visit, widget: Mapping[str, Any], drawing: Drawing) -> dict[str, Any]:
    """Returns the result of the data query of a widget. Raises BadDataQuery, BadQuery, TimedOut."""
    q = str(params_of(widget).get("data_query") or "")
    if not q.strip():
        raise BadDataQuery(_("the widget has no data query"))
    q = rendered(visit, q, drawing)
    name = type_named(q, {})
    if name and not name.startswith(_READING):
        raise BadDataQuery(_("data queries of the type {type} are not run on pages", type=name))
    return evaluate(visit.ctx, q, {}, drawing.left)


def queried_table(visit: Visit, widget: Mapping[str, Any], drawing: Drawing) -> QueryTable:
    """The result of the data query of a widget as a table."""
    return table_of(visit, query_result(visit, widget, drawing))


def muted(text: str) -> Markup:
    """A remark in the place of a widget."""
    return Markup('<p class="muted" dir="auto">{}</p>').format(text)


def wrong(error: HelpdeskError) -> Markup:
    """An error in the place of a widget."""
    message = ui.sentence(error.message)
    advice = _("Change the widget, or ask whoever looks after the page.")
    return Markup('<p class="wrong" dir="auto">{}</p><p class="muted">{}</p>').format(message, advice)
