"""The shipped packages: each can be imported, and its contents work."""

import json
from collections.abc import Iterator

import pytest

from server.errors import NotFound
from server.packages import bundle
from server.queries import query_run
from server.records import records
from server.tickets.snippets import paste
from tests.packages.parcel import Tree, bring, counts
from tests.packages.test_import import ids_of, on
from tests.records.desk import Desk

RESPONDER = {"name": "Orders", "answers": "yes"}
STARTER = bundle.package("starter")


@pytest.fixture(scope="module")
def started(desk: Desk) -> dict[str, int]:
    """Returns {uid: id} of the starter's records."""
    return ids_of(bring(desk, STARTER))


def widgets() -> Iterator[Tree]:
    for page in STARTER["workspaces"]:
        for tab in page["tabs"]:
            yield from tab.get("widgets", ())


def worklists() -> Iterator[Tree]:
    for page in STARTER["workspaces"]:
        for tab in page["tabs"]:
            yield from tab.get("worklists", ())


def test_every_shipped_package_is_available_by_name():
    assert bundle.names() == ["starter", "webhook-responder"]
    with pytest.raises(NotFound, match="did you mean 'starter'"):
        bundle.package("startr")
    with pytest.raises(NotFound):
        bundle.package("../packages/starter")


def test_the_starter_has_no_prompts_and_creates_some_of_everything(desk, started):
    assert STARTER["package"]["configure"]["prompts"] == []
    kinds = {each["_context"] for each in STARTER["records"]}
    assert kinds == {"snippet", "automation"} and len(started) < 30
    (binding,) = on(desk, "automation_event", name="worker.authenticate.failed")
    assert "svc:automation:starter.login.failed" in binding["automations_kata"]


@pytest.mark.parametrize("widget", list(widgets()), ids=lambda each: each["label"])
def test_the_data_query_of_every_widget_works_without_tickets(widget, desk, ids):
    assert query_run.evaluate(desk.context(ids["nora"]), widget["params"]["data_query"])["data"] is not None


@pytest.mark.parametrize(
    ("context", "query"),
    [
        *((each["context"], each["query"]) for each in STARTER["saved_searches"]),
        *((each["model"]["context"], each["model"]["params_required_query"]) for each in worklists()),
    ],
)
def test_every_search_of_the_starter_runs(context, query, desk, ids):
    assert records.search(desk.context(ids["nora"]), context, records.SearchRequest(query))["total"] == 0


@pytest.mark.parametrize("worklist", list(worklists()), ids=lambda each: each["title"])
def test_every_column_of_a_worklist_is_a_key(worklist, desk):
    record_type = desk.registry.type(worklist["model"]["context"])
    known = {*record_type.fields, *record_type.nested_by_prefix, *(key.name for key in record_type.keys)}
    assert set(worklist["model"]["columns"]) <= known


def test_the_starter_has_snippets_that_fill_in(desk, started, ids):
    ticket = desk.create("ticket", subject="Leak", group_id=ids["support"])
    text = paste(desk.context(ids["nora"]), started["thanks"], ticket["id"])
    assert ticket["mask"] in text and "Nora" in text and "{{" not in text
    desk.delete("ticket", ticket["id"])


@pytest.mark.parametrize(("answers", "disabled"), [("yes", "no"), ("no", "yes")])
def test_the_responder_is_bound_to_its_own_webhook(answers, disabled, desk):
    made = ids_of(bring(desk, bundle.package("webhook-responder"), **(RESPONDER | {"answers": answers})))
    automation, hook = desk.row("automation", made["responder"]), desk.row("webhook_listener", made["webhook"])
    assert hook["name"] == "Orders" and len(hook["guid"]) >= 16
    assert f"uri: svc:automation:{automation['name']}\n  disabled@bool: {disabled}\n" in hook["automations_kata"]
    assert automation["extension_id"] == "svc.trigger.webhook.respond"


def test_the_responder_can_be_imported_again(desk):
    before = counts(desk)["automation"]
    for _ in range(2):
        bring(desk, json.loads(json.dumps(bundle.package("webhook-responder"))), **RESPONDER)
    assert counts(desk)["automation"] == before + 2
