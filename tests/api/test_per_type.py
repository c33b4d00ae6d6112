"""Endpoints of one record type each: the same records as the records API, with fields at the top level."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from server.app import endpoints
from server.web.rest.legacy.families import FAMILIES, Family
from server.web.routes import ENDPOINTS
from tests.api.minimal import MINIMAL, made, number
from tests.service import Api, Reply
from tests.telling import telling

ENVELOPE = {"__build", "__status", "__version"}
CHANGES: dict[str, tuple[str, Any]] = {
    "address": ("is_banned", 1), "contact": ("first_name", "Bea"), "html_template": ("name", "Note"),
    "notification": ("is_read", 1), "org": ("name", "Alder Works"), "task": ("title", "Sweep"),
    "ticket": ("subject", "Lamp"), "worker": ("title", "Lead"), "saved_search": ("name", "Mine"),
    "snippet": ("title", "Thanks"),
}  # fmt: skip
TELLING = ("tickets", "orgs", "tasks", "comments", "contacts", "calendars")


def families(operation: str) -> list[Any]:
    every = {each.path: each for each in FAMILIES if operation in each.operations}
    return telling(every, [path for path in TELLING if path in every], "every type with addresses of its own")


def path(family: Family, name: Any) -> str:
    return f"/rest/{family.path}/{name}.json"


def payload(answer: Reply) -> dict[str, Any]:
    return {key: value for key, value in answer.ok().json.items() if key not in ENVELOPE}


def flat(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns fields as a form sends them at its top level."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            found |= {f"{name}[{key}]": each for key, each in value.items()}
        else:
            found[f"{name}[]" if isinstance(value, list) else name] = value
    return found


def search(api: Api, controller: str = "tasks", **form: Any) -> Reply:
    return api.post(f"/rest/{controller}/search.json", **form)


# -- one record --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", families("retrieve"))
def test_a_record_equals_the_one_of_the_records_api(family: Family, api: Api) -> None:
    id = made(api, family.uri)
    twins = {twin: api.record(family.uri, id)[key] for twin, key in family.twins}
    assert payload(api.get(path(family, id), expand="links")) == payload(api.record(family.uri, id, "links")) | twins
    assert api.get(path(family, 999999999)).status == 404
    assert api.get(path(family, "x1")).status == 404
    shown = api.get(path(family, id), show_meta=1).ok()
    assert set(shown["_labels"]) == set(shown["_types"]) >= {"id"}


@pytest.mark.parametrize("family", families("create"))
def test_fields_of_a_new_record_are_at_the_top_level(family: Family, api: Api) -> None:
    response = api.post(path(family, "create"), **flat(MINIMAL[family.uri](api)), expand="links", show_meta=1).ok()
    assert response["_type"] == family.uri and response["links"] == {} and "_labels" in response.json
    assert response.headers["Location"] == f"/rest/records/{family.uri}/{response['id']}.json"
    assert api.record(family.uri, response["id"]).ok()["id"] == response["id"]
    assert api.post(path(family, "create")).status == 422
    unknown = api.post(path(family, "create"), **flat(MINIMAL[family.uri](api)), nosuch=1)
    assert (unknown.status, unknown["errors"][0]["field"]) == (422, "nosuch")


@pytest.mark.parametrize("family", families("update"))
def test_a_record_is_changed_by_fields_at_the_top_level(family: Family, api: Api) -> None:
    id, (name, value) = made(api, family.uri), CHANGES[family.uri]
    assert api.put(path(family, id), **{name: value}).ok()[name] == value
    assert api.record(family.uri, id)[name] == value
    nothing = api.put(path(family, id))
    assert (nothing.status, nothing["__error"]) == (422, "ERROR_PARAM_REQUIRED")
    assert api.put(path(family, id), nosuch=1).status == 422
    assert api.put(path(family, 999999999), **{name: value}).status == 404


@pytest.mark.parametrize("family", families("delete"))
def test_deleting_a_record_returns_its_id(family: Family, api: Api) -> None:
    id = made(api, family.uri)
    assert payload(api.delete(path(family, id))) == {"id": id}
    if family.uri == "ticket":
        assert api.record("ticket", id).ok()["status"] == "deleted"
    else:
        assert api.record(family.uri, id).status == 404
    assert api.delete(path(family, 999999999)).status == 404


def test_custom_fields_and_links_are_fields_too(api: Api) -> None:
    field = made(api, "custom_field", context="task", name="Shelf")
    org = made(api, "org")
    sent = {"title": "Count", f"custom_{field}": "B 7", "links[]": f"org:{org}"}
    task = api.call("POST", "/rest/tasks/create.json", data=sent).ok()["id"]
    shown = api.record("task", task, "custom_,links").ok()
    assert shown[f"custom_{field}"] == "B 7" and shown["links"] == {"svc.contexts.org": [org]}
    api.put(f"/rest/tasks/{task}.json", **{f"custom_{field}": "C 1"}).ok()
    assert api.record("task", task, "custom_")[f"custom_{field}"] == "C 1"


def test_permissions_are_the_same_as_in_the_records_api(api: Api) -> None:
    milo, olga = api.as_("milo"), api.as_("olga")
    hidden, ticket = made(api, "ticket", group_id=api.ids["private"]), made(api, "ticket")
    assert olga.get(f"/rest/tickets/{hidden}.json").status == 403
    assert olga.put(f"/rest/tickets/{ticket}.json", subject="Mine").status == 403
    assert olga.delete(f"/rest/tickets/{ticket}.json").status == 403
    assert milo.put(f"/rest/workers/{api.ids['milo']}.json", is_superuser=1).status == 403
    assert milo.get(f"/rest/notifications/{made(api, 'notification')}.json").status == 403
    assert milo.put(f"/rest/notifications/{made(api, 'notification')}.json", is_read=1).status == 403


def test_a_ticket_is_moved_closed_and_assigned(api: Api) -> None:
    group = made(api, "group")
    [bucket] = api.found("bucket", f"group.id:{group}")
    org, ticket = made(api, "org"), made(api, "ticket")
    response = api.put(f"/rest/tickets/{ticket}.json", subject="Moved", group_id=group, bucket_id=bucket, status_id=2,
                     owner_id=0, org_id=org).ok()  # fmt: skip
    assert (response["group_id"], response["bucket_id"], response["status"], response["org_id"]) == (
        group, bucket, "closed", org,
    )  # fmt: skip


def test_a_value_that_is_not_text_is_refused(api: Api) -> None:
    template = made(api, "html_template")
    response = api.call("PUT", f"/rest/mail_html_templates/{template}.json", data=b"content=%ff",
                      headers={"Content-Type": "application/x-www-form-urlencoded"})  # fmt: skip
    assert response.status == 400, response
    api.call("PUT", f"/rest/mail_html_templates/{template}.json", data={"content": "<p>\u00e4</p>"}).ok()
    assert api.record("html_template", template, "content").ok()["content"] == "<p>\u00e4</p>"


# -- searches ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def word(nora: Api) -> str:
    """A word in the titles of four tasks; their importance is 10, 20, 30, 40, and nora and milo own two each."""
    found = f"zq{number()}x"
    for place, (title, due) in enumerate((("red", 0), ("red lamp", 86400), ("blue, lamp", 172800), ("50% off*", 0))):
        owner = nora.ids["nora" if place < 2 else "milo"]
        nora.create("task", title=f"{found} {title}", importance=10 * place + 10, due=due, owner_id=owner).ok()
    return found


@pytest.mark.parametrize("family", families("search"))
def test_a_search_returns_a_page(family: Family, api: Api) -> None:
    id = made(api, family.uri)
    response = search(api, family.path, q=f"id:{id}", show_meta=1, limit=5).ok()
    assert (response["page"], response["limit"]) == (1, 5)
    assert set(response["results_meta"]) == {"labels", "types"}
    if family.uri == "ticket":
        return
    [found] = response["results"]
    assert (response["count"], response["total"], found["id"], found["_type"]) == (1, 1, id, family.uri)
    assert all(found[twin] == found[key] for twin, key in family.twins)


CRITERIA: list[tuple[str, list[tuple[str, str, Any]], list[int]]] = [
    ("equal is the whole text", [("title", "=", "WORD red")], [10]),
    ("not equal", [("title", "!=", "WORD red")], [20, 30, 40]),
    ("no operator is equal", [("title", "", "WORD red")], [10]),
    ("like with a star", [("title", "like", "*lamp")], [20, 30]),
    ("like anywhere", [("title", "like", "lamp")], [20, 30]),
    ("not like", [("title", "not like", "*lamp")], [10, 40]),
    ("a percent sign is itself", [("title", "like", "*50% off*")], [40]),
    ("greater", [("importance", ">", 20)], [30, 40]),
    ("at least", [("importance", ">=", 20)], [20, 30, 40]),
    ("less", [("importance", "<", "20")], [10]),
    ("at most", [("importance", "<=", "20")], [10, 20]),
    ("in a JSON list", [("importance", "in", "[10, 40]")], [10, 40]),
    ("in a list with commas", [("importance", "in", "10, 40")], [10, 40]),
    ("not in", [("importance", "not in", "[10,40]")], [20, 30]),
    ("a text with a comma in a list", [("title", "in", '["WORD blue, lamp"]')], [30]),
    ("between", [("importance", "between", "[15, 30]")], [20, 30]),
    ("not between", [("importance", "not between", "15,30")], [10, 40]),
    ("dates between", [("due", "between", '["1970-01-02", "1970-01-02 12:00"]')], [20]),
    ("a date after", [("due", ">", "1970-01-02")], [30]),
    ("no date", [("due", "is null", "")], [10, 40]),
    ("a date", [("due", "is not null", "")], [20, 30]),
    ("by the name of a field", [("owner_id", "=", "NORA")], [10, 20]),
    ("by the name of a filter", [("owner.id", "=", "me")], [10, 20]),
    ("several hold at once", [("owner_id", "!=", "NORA"), ("title", "like", "lamp")], [30]),
    ("in any case", [("importance", "NOT  IN", "[10,40]")], [20, 30]),
    ("grammar in a value is text", [("title", "=", 'WORD red" OR id:>0')], []),
    ("brackets in a value are text", [("title", "like", "(id:>0)")], []),
]


@pytest.mark.parametrize(("criteria", "found"), [row[1:] for row in CRITERIA], ids=[row[0] for row in CRITERIA])
def test_criteria(criteria: list[tuple[str, str, Any]], found: list[int], word: str, api: Api) -> None:
    ids = {"WORD": word, "NORA": str(api.ids["nora"])}
    form: list[tuple[str, Any]] = [("q", word), ("sortBy", "importance")]
    for name, operator, value in criteria:
        text = str(value)
        for key, known in ids.items():
            text = text.replace(key, known)
        form += [("criteria[]", name), ("oper[]", operator), ("value[]", text)]
    response = api.call("POST", "/rest/tasks/search.json", data=form).ok()
    assert [each["importance"] for each in response["results"]] == found


def test_values_may_be_lists(word: str, api: Api) -> None:
    form = {"q": word, "criteria[0]": "importance", "oper[0]": "in", "value[0][]": ["10", "40"]}
    response = api.call("POST", "/rest/tasks/search.json", data=form).ok()
    assert sorted(each["importance"] for each in response["results"]) == [10, 40]
    sent = {"q": word, "criteria": ["importance"], "oper": ["in"], "value": [[10, 40]]}
    assert api.call("POST", "/rest/tasks/search.json", json=sent).ok()["total"] == 2


def test_custom_fields_are_criteria(api: Api) -> None:
    field = made(api, "custom_field", context="org", name="Shelf", type="N")
    org = api.create("org", name="Kite", **{f"custom_{field}": 77}).ok()["id"]
    for value, count in ((77, 1), (78, 0)):
        form = {"q": f"id:{org}", "criteria[]": f"custom_{field}", "oper[]": "=", "value[]": value}
        assert api.call("POST", "/rest/orgs/search.json", data=form).ok()["total"] == count


@pytest.mark.parametrize(
    ("form", "field", "hint"),
    [
        ({"criteria[]": "titel", "oper[]": "=", "value[]": "x"}, "criteria", "did you mean 'title'?"),
        ({"criteria[]": "importance", "oper[]": "=", "value[]": "high"}, "criteria", "whole number"),
        ({"criteria[]": "title", "oper[]": "lik", "value[]": "x"}, "oper", "did you mean 'like'?"),
        ({"criteria[]": "title", "oper[]": "="}, "value", "no value"),
        ({"criteria[]": "title", "value[]": ""}, "value", "no value"),
        ({"criteria[]": "importance", "oper[]": "between", "value[]": "1"}, "value", "two values"),
        ({"criteria[]": "importance", "oper[]": "in", "value[]": "[1"}, "value", "JSON"),
        ({"criteria[]": "importance", "oper[]": "in", "value[]": "1,,2"}, "value", "empty"),
        ({"criteria[0]": "importance", "oper[0]": "=", "value[0][]": "1"}, "value", "one value"),
        ({"criteria[]": "comments", "oper[]": "is null"}, "oper", "null"),
        ({"oper[]": "="}, "criteria", "place of a name"),
        ({"criteria[]": ["title"] * 201, "value[]": ["x"] * 201}, "criteria", "at most"),
        ({"sortBy": "titel"}, "sortBy", "did you mean 'title'?"),
        ({"subtotals[]": "nosuch"}, None, "nosuch"),
    ],
)
def test_unknown_criteria_are_named(form: dict[str, Any], field: str | None, hint: str, api: Api) -> None:
    response = api.call("POST", "/rest/tasks/search.json", data=form)
    assert (response.status, response["__error"]) == (422, "ERROR_SEARCH_FILTERS_INVALID"), response
    assert hint in response["message"] and "position" not in response.json
    assert field is None or response["errors"][0]["field"] == field


def test_a_mistake_in_q_has_its_position(api: Api) -> None:
    response = search(api, q="title:x nosuch:1", **{"criteria[]": "title", "value[]": "y"})
    assert (response.status, response["position"]) == (422, 8)


def test_order_pages_and_counts(word: str, api: Api) -> None:
    def importance(**form: Any) -> list[int]:
        return [each["importance"] for each in search(api, q=form.pop("q", word), **form).ok()["results"]]

    assert importance(sortBy="importance", sortAsc=0) == [40, 30, 20, 10]
    assert importance(sortBy="importance", sortAsc=0, limit=3, page=2) == [10]
    assert importance(sortBy="importance", sortAsc=0, q=f"{word} sort:importance") == [10, 20, 30, 40]
    assert importance(q=f"importance:10 OR importance:40 text:{word} sort:importance")[:1] == [10]
    response = search(api, q=word, expand="owner_", **{"subtotals[]": "owner.id"}).ok()
    assert sorted(each["hits"] for each in response["subtotals"]["owner.id"]) == [2, 2]
    assert {each["owner_first_name"] for each in response["results"]} == {"Nora", "Milo"}
    beyond = search(api, q=word, page=9).ok()
    assert (beyond["results"], beyond["count"], beyond["total"], beyond["page"]) == ([], 0, 4, 9)


def test_criteria_apply_in_addition_to_an_or_in_q(word: str, api: Api) -> None:
    form = {"q": f"title:{word}* OR id:>0", "criteria[]": "importance", "value[]": 40}
    found = search(api, **form, limit=500).ok()["results"]
    assert found and {each["importance"] for each in found} == {40}


def test_tickets_are_searched_in_the_callers_groups_most_recently_changed_first(api: Api) -> None:
    milo, group = api.as_("milo"), made(api, "group")
    first, second, elsewhere = (
        made(api, "ticket", subject="Kayak", updated=updated, group_id=group_id)
        for updated, group_id in ((2000, api.ids["support"]), (1000, api.ids["support"]), (3000, group))
    )
    ids = f"id:[{first},{second},{elsewhere}]"
    assert [each["id"] for each in search(milo, "tickets", q=ids).ok()["results"]] == [first, second]
    assert milo.found("ticket", ids) == [first, second, elsewhere]
    form = {"q": ids, "sortBy": "updated", "sortAsc": 1}
    assert [each["id"] for each in search(milo, "tickets", **form).ok()["results"]] == [second, first]
    assert search(api.as_("olga"), "tickets", q=ids).ok()["total"] == 0


MAIL = {"content": "Hi", "dont_send": 1}
ANSWERS: dict[str, Callable[[Api, int, int], Reply]] = {
    "compose": lambda api, ticket, message: api.post(
        "/rest/tickets/compose.json", subject="Boat", group_id=api.ids["support"], show_meta=1, **MAIL
    ),
    "reply": lambda api, ticket, message: api.post("/rest/tickets/reply.json", message_id=message, show_meta=1, **MAIL),
    "requester added": lambda api, ticket, message: api.put(
        f"/rest/tickets/{ticket}/requester.json", email="ola@kite.example", show_meta=1
    ),
    "requester removed": lambda api, ticket, message: api.call(
        "DELETE", f"/rest/tickets/{ticket}/requester.json", params={"email": "ola@kite.example", "show_meta": 1}
    ),
    "merge": lambda api, ticket, message: api.post(
        "/rest/tickets/merge.json", show_meta=1, **{"ticket_ids[]": [ticket, made(api, "ticket")]}
    ),
    "split": lambda api, ticket, message: api.post("/rest/tickets/split.json", message_id=message, show_meta=1),
    "comment": lambda api, ticket, message: api.post(
        "/rest/comments/create.json", context="ticket", context_id=ticket, comment="Hi", show_meta=1
    ),
    "upload": lambda api, ticket, message: api.post(
        "/rest/attachments/upload.json", file_name="a.txt", content=f"a{number()}", show_meta=1
    ),
    "me": lambda api, ticket, message: api.get("/rest/workers/me.json", show_meta=1),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_labels_and_types_of_keys_come_with_every_record(answer: Callable[[Api, int, int], Reply], api: Api) -> None:
    ticket = made(api, "ticket")
    messages = [made(api, "message", ticket_id=ticket) for _ in range(2)]
    shown = answer(api, ticket, messages[1]).ok()
    assert set(shown["_labels"]) == set(shown["_types"]) >= {"id"}


def test_expand_returns_labels_and_types_of_its_keys() -> None:
    endpoints()
    lacking = [each.path for each in ENDPOINTS if {"expand"} == {
        one.name for one in each.parameters if one.name in ("expand", "show_meta")
    }]  # fmt: skip
    assert lacking == [] and len(ENDPOINTS) > 50


# -- tickets -----------------------------------------------------------------------------------------------------------


def test_requesters_are_added_and_removed_by_address(api: Api) -> None:
    milo, ticket, email = api.as_("milo"), made(api, "ticket"), f"ola{number()}@kite.example"
    place = f"/rest/tickets/{ticket}/requester.json"
    for _ in range(2):
        response = milo.put(place, email=email.upper(), expand="requester_emails").ok()
        assert (response["id"], response["requester_emails"]) == (ticket, email)
    for _ in range(2):
        response = milo.call("DELETE", place, params={"email": email, "expand": "requester_emails"}).ok()
        assert response["requester_emails"] == ""
    entries = milo.search("activity_log", f"target.ticket:(id:{ticket}) sort:id").ok()["results"]
    assert [each["activity_point"] for each in entries] == ["ticket.participant.added", "ticket.participant.removed"]


def test_a_requester_may_have_a_display_name(api: Api) -> None:
    ticket, email = made(api, "ticket"), f"ola{number()}@kite.example"
    place, written = f"/rest/tickets/{ticket}/requester.json", f'"Kite, Ola" <{email.upper()}>'
    assert api.put(place, email=written, expand="requester_emails").ok()["requester_emails"] == email
    response = api.call("DELETE", place, params={"email": written, "expand": "requester_emails"}).ok()
    assert response["requester_emails"] == ""


@pytest.mark.parametrize(
    ("email", "status", "code"),
    [("", 422, "ERROR_PARAM_REQUIRED"), ("nobody", 422, "ERROR_PARAM_INVALID"),
     ("a@kite.example, b@kite.example", 422, "ERROR_PARAM_INVALID")],
)  # fmt: skip
def test_an_invalid_address_is_refused_as_requester(email: str, status: int, code: str, api: Api) -> None:
    response = api.put(f"/rest/tickets/{made(api, 'ticket')}/requester.json", email=email)
    assert (response.status, response["__error"], response["errors"][0]["field"]) == (status, code, "email"), response


def test_changing_requesters_requires_the_right_to_change_the_ticket(api: Api) -> None:
    ticket, olga = made(api, "ticket"), api.as_("olga")
    assert olga.put(f"/rest/tickets/{ticket}/requester.json", email="a@kite.example").status == 403
    assert olga.call("DELETE", f"/rest/tickets/{ticket}/requester.json", params={"email": "a@b.example"}).status == 403
    assert api.put("/rest/tickets/999999999/requester.json", email="a@kite.example").status == 404


def test_a_comment_on_a_ticket(api: Api) -> None:
    ticket = made(api, "ticket")
    response = api.as_("milo").post(f"/rest/tickets/{ticket}/comment.json", comment="Ask @nora").ok()
    assert payload(response) == {"ticket_id": ticket, "comment_id": response["comment_id"]}
    comment = api.record("comment", response["comment_id"]).ok()
    assert (comment["comment"], comment["author_id"], comment["target_id"]) == ("Ask @nora", api.ids["milo"], ticket)
    assert api.post(f"/rest/tickets/{ticket}/comment.json", comment=" ").status == 422
    assert api.post("/rest/tickets/999999999/comment.json", comment="x").status == 404
    hidden = made(api, "ticket", group_id=api.ids["private"])
    assert api.as_("olga").post(f"/rest/tickets/{hidden}/comment.json", comment="x").status == 403


def test_merge_keeps_the_oldest_ticket(api: Api) -> None:
    first, second, third = (made(api, "ticket", participants=f"a{number()}@kite.example") for _ in range(3))
    milo = api.as_("milo")
    response = milo.post("/rest/tickets/merge.json", **{"ticket_ids[]": [third, first, second]}, expand="requesters")
    assert response.ok()["id"] == first and len(response["requesters"]) == 3
    assert {api.record("ticket", id)["status"] for id in (second, third)} == {"deleted"}


@pytest.mark.parametrize(
    ("ids", "status"), [([], 422), (["OWN"], 422), (["OWN", "OWN"], 422), (["OWN", "x"], 422), (["OWN", "0"], 404),
                        (["OWN", "999999999"], 404), (["OWN", "HIDDEN"], 403), (["OWN", "FOREIGN"], 403)],
)  # fmt: skip
def test_tickets_that_cannot_be_merged(ids: list[str], status: int, api: Api) -> None:
    known = {"OWN": made(api, "ticket"), "HIDDEN": made(api, "ticket", group_id=api.ids["private"]),
             "FOREIGN": made(api, "ticket", group_id=made(api, "group"))}  # fmt: skip
    sent = [known.get(each, each) for each in ids]
    assert api.as_("milo").post("/rest/tickets/merge.json", **{"ticket_ids[]": sent}).status == status
    assert {api.record("ticket", id)["status"] for id in known.values()} == {"open"}


def test_split_moves_a_message_to_a_new_ticket(api: Api) -> None:
    ticket = made(api, "ticket")
    first, second = made(api, "message", ticket_id=ticket), made(api, "message", ticket_id=ticket)
    response = api.as_("milo").post("/rest/tickets/split.json", message_id=second).ok()
    assert (response["id"] != ticket, response["num_messages"], response["initial_message_id"]) == (True, 1, second)
    assert api.record("ticket", ticket)["num_messages"] == 1
    for message, status in ((first, 422), (999999999, 422), ("", 422), ("x", 422)):
        assert api.post("/rest/tickets/split.json", message_id=message).status == status


# -- notes, comments, files, fields ------------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", ["contact", "org", "task"])
def test_a_note_is_a_comment(uri: str, api: Api) -> None:
    id = made(api, uri)
    response = api.as_("milo").post(f"/rest/{uri}s/{id}/note.json", note="Call back").ok()
    assert response[f"{uri}_id"] == id
    comment = api.record("comment", response["note_id"]).ok()
    assert (comment["comment"], comment["target_id"], comment["author_id"]) == ("Call back", id, api.ids["milo"])
    assert api.post(f"/rest/{uri}s/{id}/note.json").status == 422
    assert api.post(f"/rest/{uri}s/999999999/note.json", note="x").status == 404


def test_a_comment_with_its_own_names_and_files(api: Api) -> None:
    org, milo = made(api, "org"), api.as_("milo")
    file = milo.post("/rest/attachments/upload.json", file_name="a.txt", content=f"a {number()}").ok()["id"]
    sent = {"context": "org", "context_id": org, "comment": "See the file", "file_id[]": file, "expand": "attachments"}
    response = milo.post("/rest/comments/create.json", **sent).ok()
    assert (response["comment"], response["target_id"], response["author_id"]) == ("See the file", org, api.ids["milo"])
    assert list(response["attachments"]) == [str(file)]
    assert response.headers["Location"] == f"/rest/records/comment/{response['id']}.json"
    other = sent | {"owner_context": "worker", "owner_context_id": api.ids["nora"]}
    assert milo.post("/rest/comments/create.json", **other).status == 403
    assert api.post("/rest/comments/create.json", **sent | {"owner_context": "worker",
                    "owner_context_id": api.ids["olga"]}).ok()["author_id"] == api.ids["olga"]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "field"), [({"context": "nosuch"}, "target__context"), ({"context_id": 999999999}, "target_id"),
                         ({"comment": ""}, "comment"), ({"file_id[]": 999999999}, "file_id"),
                         ({"file_id[]": "x"}, "file_id"), ({"nosuch": 1}, "nosuch")],
)  # fmt: skip
def test_refused_comments(wrong: dict[str, Any], field: str, api: Api) -> None:
    before = api.search("comment").ok()["total"]
    sent = {"context": "org", "context_id": made(api, "org"), "comment": "x"} | wrong
    response = api.post("/rest/comments/create.json", **sent)
    assert (response.status, response["errors"][0]["field"]) == (422, field), response
    assert api.search("comment").ok()["total"] == before


def test_an_unreadable_file_cannot_be_attached(api: Api) -> None:
    file = api.post("/rest/attachments/upload.json", file_name="a.txt", content=f"secret {number()}").ok()["id"]
    sent = {"context": "org", "context_id": made(api, "org"), "comment": "x", "file_id[]": file}
    assert api.as_("milo").post("/rest/comments/create.json", **sent).status == 422


def test_custom_fields_of_a_type_by_their_number(api: Api) -> None:
    options = json.dumps({"options": ["A", "B"]})
    field = made(api, "custom_field", context="contact", name="Shelf", type="X", pos=7, params=options)
    owner = {"owner__context": "worker", "owner_id": api.ids["milo"]}
    fieldset = made(api, "custom_fieldset", context="contact", name="Lease", **owner)
    inner = made(api, "custom_field", context="contact", name="Until", custom_fieldset_id=fieldset)
    found = payload(api.get("/rest/customfields/contacts.json"))
    assert found[f"custom_{field}"] == {
        "id": field, "name": "Shelf", "type": "X", "pos": 7, "context": "svc.contexts.contact",
        "custom_fieldset_id": 0, "options": ["A", "B"],
    }  # fmt: skip
    assert found[f"custom_{inner}"]["custom_fieldset_id"] == fieldset and found[f"custom_{inner}"]["options"] == []
    assert f"custom_{inner}" not in payload(api.as_("olga").get("/rest/customfields/svc.contexts.contact.json"))
    assert api.get("/rest/customfields/nosuch.json").status == 404


# -- lists and snippets ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", families("list"))
def test_a_list_has_pages_and_an_order(family: Family, api: Api) -> None:
    first, second = made(api, family.uri), made(api, family.uri)
    response = api.get(path(family, "list"), sortBy="id", sortAsc=0, limit=1, show_meta=1).ok()
    assert [each["id"] for each in response["results"]] == [second] and response["total"] >= 2
    [before] = api.get(path(family, "list"), sortBy="id", sortAsc=0, limit=1, page=2).ok()["results"]
    assert before["id"] == first
    assert (response["limit"], response["page"], set(response["results_meta"])) == (1, 1, {"labels", "types"})
    assert api.get(path(family, "list"), sortBy="nosuch").status == 422


def test_a_pasted_snippet_is_filled_in_and_counted(api: Api) -> None:
    org = made(api, "org", name="Kite <Sons>")
    snippet = made(api, "snippet", context="org", content="Hello {{name}}")
    place = f"/rest/snippets/{snippet}/paste.json"
    assert payload(api.as_("milo").get(place, context_id=org)) == {"text": "Hello Kite <Sons>"}
    assert api.record("snippet", snippet)["total_uses"] == 1
    for sent, status in (({}, 422), ({"context_id": "x"}, 422), ({"context_id": 999999999}, 404)):
        assert api.get(place, **sent).status == status
    assert api.get("/rest/snippets/999999999/paste.json").status == 404
    assert api.record("snippet", snippet)["total_uses"] == 1
