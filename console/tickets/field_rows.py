"""Custom fields on the page of a ticket: one-line fields are changed in place, the others lead to their form."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from console.forms import controls
from console.html.form import Form
from console.http.visit import Visit
from server.record_types.shared import custom
from server.records import records
from server.records.sheet import Fact

LINES = ("line", "number", "time", "choice", "tick")  # kinds of controls that fit into a row; addresses stay links


def field_controls(visit: Visit, uri: str, values: Mapping[str, Any], facts: Iterable[Fact]) -> dict[str, Markup]:
    """Returns the controls of custom fields that fit into a row, by the keys of their facts. values: {field id: value},
    as in the `custom` of a record."""
    keys = {each.key for each in facts}
    if not keys:
        return {}
    context = visit.service.registry.type(uri).context
    defined = records.reading(visit.ctx, lambda tx: custom.definitions(tx).fields_of(context))
    found = {}
    for each in defined:
        control = controls.of_custom(visit.service.registry, each)
        if control.name in keys and control.kind in LINES:
            text = controls.text_of(visit, control, values.get(str(each.id)))
            found[control.name] = controls.html(visit, replace(control, hint=""), Form({control.name: text}))
    return found
