"""All record types that a worker may look through: the way to lists that stand in no rail."""

from console.html.rendering import render
from console.html.ui import Sample
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from server.dataclass import dataclass
from server.record_types.record_type import RecordType
from server.records import records
from server.translation import N_, _, in_sentence, shown

# What people keep in a helpdesk; the rest is what the helpdesk itself is made of.
OF_PEOPLE = (
    "ticket", "message", "draft", "comment", "task", "reminder", "call", "time_entry", "org", "contact", "address",
    "opportunity", "asset", "kb_article", "kb_category", "snippet", "saved_search", "attachment", "file_bundle",
    "calendar", "calendar_event", "calendar_event_recurring",
)  # fmt: skip

SAMPLE = Sample("GET", "/rest/data/query.json", [("q", "type:record.types")])


@dataclass(frozen=True)
class ListedType:
    """A record type. new: the page of its form, "" if the worker may not create one; one: its singular."""

    label: str
    path: str
    new: str
    one: str


@page("GET", "/records")
def show(visit: Visit) -> PageResponse:
    """The record types with a list; custom ones are among the first."""
    offered = {each.uri: each for each in visit.service.registry if each.offers("search")}
    own = [each for each in visit.service.registry.custom if each.uri in offered]
    people_types = [offered[uri] for uri in OF_PEOPLE if uri in offered]
    others = [each for each in offered.values() if each not in own and each not in people_types]
    groups = (
        (N_("Custom record types"), own),
        (N_("Your data"), people_types),
        (N_("Configuration"), others),
    )
    rows = [(title, [_listed(visit, each) for each in group]) for title, group in groups if group]
    return render(visit, "record_types.html", groups=rows, sample=SAMPLE)


def _listed(visit: Visit, record_type: RecordType) -> ListedType:
    uri = record_type.uri
    new = f"/records/{uri}/new" if records.may(visit.ctx, uri, "create") else ""
    one, several = map(shown, record_type.label_names)
    return ListedType(several, f"/search/{uri}", new, _("New {record}", record=in_sentence(one)))
