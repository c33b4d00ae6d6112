"""Activity entries that callers write themselves. How entries are kept, and who is told of them, is in activity.py."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from server.context import Context
from server.errors import Invalid, NotFound, Required
from server.fields import Structure
from server.fields.base import as_text
from server.record_types.shared import entries, points
from server.records import activity, references
from server.records.dictionary import Dictionaries
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import about_field, lazy_gettext

ACTOR = "actor"  # filled by the service; what is sent for it is dropped


def create(
    ctx: Context, on: str, point_id: str, read_variables: Callable[[], Any], read_urls: Callable[[], Any]
) -> dict[str, Any]:
    """Write an entry of a point on a record that the caller may read, in the caller's name, and tell who watches it.

    read_variables, read_urls: give the decoded JSON of the parameters, or raise; they are called in their place in the
    order of checks: the record, the point, variables, urls, a value for each placeholder. Answers {id, activity_point,
    variables, urls, message: {plaintext, html}}. Raises Required, Invalid, Malformed."""
    registry = ctx.service.registry

    def write(tx: Transaction) -> dict[str, Any]:
        own = references.read(registry, on, "on")
        writing, shown = RecordWriter(ctx, tx), Dictionaries(ctx, tx)
        references.load(shown, [own], "on")
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
                "html": entries.html(entry["params"], entries.pages(shown)),
            },
        }

    return ctx.service.store.write(write)


def _point(id: str) -> points.ActivityPoint:
    if not id.strip():
        raise Required("activity_point is required: the id of an activity event", field="activity_point")
    try:
        found = points.point(id)
    except NotFound as error:
        raise Invalid(f"activity_point: {error.message}", field="activity_point") from None
    if found.is_reserved:
        raise Invalid(f"activity_point: entries of {found.id} are written by the service alone", field="activity_point")
    return found


def _texts(sent: Any, field: str) -> dict[str, str]:
    """{placeholder: text} of what was sent, without the actor's."""
    if not isinstance(sent, Mapping):
        raise Invalid(f'{field}: takes a JSON object, such as {{"message": "Done"}}', field=field)
    for name, value in sent.items():
        if isinstance(value, list | Mapping):
            raise Invalid(about_field(field, lazy_gettext("'{value}' takes a text", value=name[:80])), field=field)
    return {name: as_text(value) for name, value in sent.items() if name != ACTOR}


def _leads_somewhere(url: str) -> bool:
    """Whether an entry would ever show it as a link: http, https, and ctx for records."""
    return bool(entries.safe_url(url, lambda context, id: context))


def _check_size(writing: RecordWriter, body: Mapping[str, Any]) -> None:
    """An entry becomes a notification too, which holds less."""
    params = writing.registry.type("notification").fields["params"]
    assert isinstance(params, Structure)
    if len(json.dumps(body, ensure_ascii=False)) > params.max:
        raise Invalid(f"variables: with urls at most {params.max} characters as JSON", field="variables")
