"""Settings › Productivity › Writing assistant: the provider with a test, the groups that are on, and what left.

Not the page of assistants that connect to the helpdesk (assistants.py)."""

import threading

from console.html.form import Form, sentence
from console.html.rendering import render
from console.html.samples import Sample
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from server.errors import HelpdeskError, TooMany
from server.people.types.group import WRITING_ASSISTANT, WRITING_ASSISTANT_NOTES
from server.record_types.shared import paths
from server.records import records, search_suggestions
from server.translation import N_, _
from server.writing_assistant import model_calls, model_client, model_provider
from server.writing_assistant.model_client import ProviderTest
from server.writing_assistant.model_provider import ProviderInput
from server.writing_assistant.writing_acts import ACTS

BASE = "/admin/writing-assistant"
CALLS = f"{BASE}/calls"
TABS = [(BASE, N_("Provider and groups")), (CALLS, N_("What left"))]
FIELDS = ("base_url", "model", "api_key")
NAMES = {"key": "api_key"}  # {field of the operation: field of the form}
LABELS = {"base_url": N_("Base address"), "model": N_("Model"), "api_key": N_("API key")}
SWITCHES = (
    (WRITING_ASSISTANT, "groups", "writingAssistant:yes"),
    (WRITING_ASSISTANT_NOTES, "notes", "writingAssistantNotes:yes"),
)
TEST_SECONDS = 30.0  # that an administrator waits for each of the two requests
LIMITS = "writing_assistant_"  # prefix of the settings
STATES = {
    model_calls.RUNNING: ("muted", N_("running")),
    model_calls.DONE: ("ok", N_("done")),
    model_calls.FAILED: ("warn", N_("failed")),
    model_calls.CANCELLED: ("muted", N_("cancelled")),
}
GROUPS_SAMPLE = Sample("GET", "/rest/records/group/search.json", [("q", "writingAssistant:yes")])
CALLS_SAMPLE = Sample(
    "GET", "/rest/records/activity_log/search.json", [("q", f"event:{model_calls.POINT} sort:-created")]
)
_TESTING = threading.Lock()  # one test at a time: each holds a thread of the console


@page("GET", BASE, "admin")
def show(visit: Visit) -> PageResponse:
    """The provider without its key, and the groups."""
    return _page(visit, _stored(visit))


@page("POST", BASE, "proven admin")
def save(visit: Visit) -> PageResponse:
    """Stores the provider, or tests the entered one without storing it."""
    form = Form.sent(visit.form, FIELDS)
    submitted = _submitted(visit, form)
    try:
        if visit.form.text("do", "save") == "test":
            return _page(visit, form, _tested(visit, submitted))
        model_provider.change(visit.ctx, submitted)
    except HelpdeskError as error:
        return _page(visit, form.refuse(error, names=NAMES))
    visit.flash(_("Provider saved. Test it, then choose the groups."))
    return see(BASE)


@page("POST", f"{BASE}/groups", "proven admin")
def choose_groups(visit: Visit) -> PageResponse:
    """Switches groups on and off, and whether their notes may leave."""
    before = _chosen(visit)
    chosen = {name: visit.form.text_list(name) for _field, name, _query in SWITCHES}
    offered = {str(id) for id, _name in lookup.choices(visit, "group", "")}
    for id in sorted(offered, key=int):
        fields = {
            field: str(int(id in chosen[name]))
            for field, name, _query in SWITCHES
            if (id in chosen[name]) != (id in before[name])
        }
        if fields:
            records.update(visit.ctx, "group", int(id), fields)
    undo = {f"{name}[]": ids for name, ids in before.items()}
    visit.flash(_("Groups of the writing assistant saved."), f"{BASE}/groups", **undo)
    return see(BASE)


@page("POST", f"{BASE}/remove", "proven admin")
def remove(visit: Visit) -> PageResponse:
    """Removes the provider with its key."""
    model_provider.remove(visit.ctx)
    visit.flash(_("Provider and key removed. The writing assistant is off."))
    return see(BASE)


@page("GET", CALLS, "admin")
def show_calls(visit: Visit) -> PageResponse:
    """What left, newest first, without the texts."""
    calls = model_calls.newest_calls(visit.ctx, visit.query.id("before", 0))
    labels = {
        "ticket": _labels(visit, "ticket", [each.ticket_id for each in calls]),
        "worker": _labels(visit, "worker", [each.worker_id for each in calls]),
    }
    return render(
        visit,
        "model_calls.html",
        calls=calls,
        labels=labels,
        acts=ACTS,
        states=STATES,
        tabs=TABS,
        base=CALLS,
        days=visit.service.settings.writing_assistant_log_days,
        older=calls[-1].id if len(calls) == model_calls.PAGE_ROWS else 0,
        sample=CALLS_SAMPLE,
    )


@page("GET", f"{CALLS}/{{id}}", "admin")
def show_call(visit: Visit) -> PageResponse:
    """A call with the exact text that left. Raises NotFound, Forbidden."""
    call = model_calls.opened(visit.ctx, visit.id)
    ticket = records.retrieve(visit.ctx, "ticket", call.ticket_id)
    return render(
        visit,
        "model_call.html",
        call=call,
        ticket=ticket,
        ticket_path=paths.ticket(ticket["mask"]),
        worker_name=_labels(visit, "worker", [call.worker_id]).get(call.worker_id, ""),
        act=ACTS.get(call.act),
        state=STATES[call.state],
        sample=CALLS_SAMPLE,
    )


def _submitted(visit: Visit, form: Form) -> ProviderInput:
    return ProviderInput(form.get("base_url"), form.get("model"), form.get("api_key"), visit.form.flag("has_no_key"))


def _tested(visit: Visit, submitted: ProviderInput) -> ProviderTest:
    """Tests the entered provider. Raises AdminOnly, Invalid, and TooMany while another test runs."""
    provider = model_provider.entered(visit.ctx, submitted)
    if not _TESTING.acquire(blocking=False):
        raise TooMany(N_("another test is running; wait until it has ended"), retry_after=10)
    try:
        seconds = min(TEST_SECONDS, visit.service.settings.writing_assistant_seconds)
        outcome = model_client.test(provider, model_calls.bounds(visit.service, seconds))
    finally:
        _TESTING.release()
    model_provider.log_test(visit.ctx, provider, "it replied" if outcome.is_good else "it failed")
    return outcome


def _stored(visit: Visit) -> Form:
    provider = model_provider.stored(visit.ctx)
    return Form.from_values({"base_url": provider.base_url, "model": provider.model, "api_key": ""})


def _chosen(visit: Visit) -> dict[str, list[str]]:
    return {name: [str(id) for id, _name in lookup.choices(visit, "group", q)] for _field, name, q in SWITCHES}


def _labels(visit: Visit, uri: str, ids: list[int]) -> dict[int, str]:
    """Returns the labels of the records that the administrator may read, by id."""
    return (
        search_suggestions.labels(visit.ctx, visit.service.registry.type(uri), list(dict.fromkeys(ids))) if ids else {}
    )


def _page(visit: Visit, form: Form, outcome: ProviderTest | None = None) -> PageResponse:
    provider = model_provider.stored(visit.ctx)
    groups = Form()
    groups.several = _chosen(visit)
    return render(
        visit,
        "writing_assistant.html",
        form.status,
        form=form,
        groups_form=groups,
        groups=[(str(id), name, "") for id, name in lookup.choices(visit, "group", "")],
        labels=LABELS,
        provider=provider,
        is_on=provider.is_set and bool(groups.several["groups"]),
        outcome=outcome,
        base=BASE,
        tabs=TABS,
        sentence=sentence,
        days=visit.service.settings.writing_assistant_log_days,
        sample=GROUPS_SAMPLE,
    )
