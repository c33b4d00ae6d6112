"""Activity entries written by callers of the API. activity.py stores entries and sends notifications."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from server.context import Context
from server.errors import Invalid, NotFound, Required
from server.fields import Structure
from server.fields.field import as_text
from server.record_types.shared import entries, points
from server.records import activity, references
from server.records.dictionary import Dictionaries
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import about_field, lazy_gettext

ACTOR = "actor"  # set by the service; a submitted value is ignored


def create(
    ctx: Context, on: str, point_id: str, read_variables: Callable[[], Any], read_urls: Callable[[], Any]
) -> dict[str, Any]:
    """Writes an entry on a record that the caller may read, in the caller's name, and notifies its watchers.

    read_variables, read_urls: return the decoded JSON of the parameters, or raise. They are called at their place in
    the order of checks: record, activity point, variables, urls, a value for each placeholder. Returns {id,
    activity_point, variables, urls, message: {plaintext, html}}. Raises Required, Invalid, Malformed."""
    registry = ctx.service.registry

    def write(tx: Transaction) -> dict[str, Any]:
        own = references.read(registry, on, "on")
        writing, view = RecordWriter(ctx, tx), Dictionaries(ctx, tx)
        references.load(view, [own], "on")
        point = _point(point_id)
        variables = _texts(read_variables(), "variables")
        urls = {name: url for name, url in _texts(read_urls(), "urls").items() if _leads_somewhere(url)}
        _check_size(writing, points.body(point.id, variables, urls))
        activity.log(writing, point.id, own.type.context, own.id, variables, urls)
        id = activity.newest_id(writing)
        entry = writing.record("activity_log", id)
        assert entry is not None
        return {
            "id": id,
            "activity_point": point.id,
            "variables": variables,
            "urls": urls,
            "message": {
                "plaintext": entries.plain_text(entry["params"]),
                "html": entries.html(entry["params"], entries.pages(view)),
            },
        }

    return ctx.service.store.write(write)


def _point(id: str) -> points.ActivityPoint:
    if not id.strip():
        raise Required("activity_point is required: the id of an activity event", field="activity_point")
    try:
        point = points.point(id)
    except NotFound as error:
        raise Invalid(f"activity_point: {error.message}", field="activity_point") from None
    if point.is_reserved:
        raise Invalid(f"activity_point: entries of {point.id} are written by the service alone", field="activity_point")
    return point


def _texts(sent: Any, field: str) -> dict[str, str]:
    """Returns {placeholder: text} of submitted JSON, without the placeholder of the actor."""
    if not isinstance(sent, Mapping):
        raise Invalid(f'{field}: must be a JSON object, such as {{"message": "Done"}}', field=field)
    for name, value in sent.items():
        if isinstance(value, list | Mapping):
            raise Invalid(about_field(field, lazy_gettext("'{value}' must be a text", value=name[:80])), field=field)
    return {name: as_text(value) for name, value in sent.items() if name != ACTOR}


def _leads_somewhere(url: str) -> bool:
    """Whether an entry can show this address as a link: http, https, or ctx for a record."""
    return bool(entries.safe_url(url, lambda context, id: context))


def _check_size(writing: RecordWriter, body: Mapping[str, Any]) -> None:
    """Raises Invalid if the entry is too large for a notification, which has the lower limit."""
    params = writing.registry.type("notification").fields["params"]
    assert isinstance(params, Structure)
    if len(json.dumps(body, ensure_ascii=False)) > params.max:
        raise Invalid(f"variables: with urls at most {params.max} characters as JSON", field="variables")
