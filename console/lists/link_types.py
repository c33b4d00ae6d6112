"""The record types that a record can be linked to."""

from console.html.ui import Option
from console.http.visit import Visit
from server.record_types import traits
from server.translation import shown

FIRST = ("ticket", "task", "org", "contact", "kb_article")  # the usual ones


def linkable(visit: Visit) -> list[Option]:
    """The types that a record can be linked to, the usual ones first."""
    types = [each for each in visit.service.registry if each.has(traits.Links) and each.operations["retrieve"]]
    types.sort(key=lambda each: (FIRST.index(each.uri) if each.uri in FIRST else len(FIRST), each.label_names[0]))
    return [(each.uri, shown(each.label_names[0])) for each in types]
