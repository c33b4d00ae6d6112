"""Record types, activity events and entries, links: the endpoints below contexts/."""

import json
from typing import Any

import pytest

from server.record_types.shared.points import ADMINISTRATIVE, POINTS, RESERVED, WORK
from tests.api.minimal import made, number
from tests.service import Api, Reply

LIST, EVENTS = "/rest/contexts/list.json", "/rest/contexts/activity/events.json"
CREATE = "/rest/contexts/activity/create.json"


def listed(api: Api) -> dict[str, Any]:
    return {each["alias"]: each for each in api.get(LIST).ok()["results"]}


def write(api: Api, on: str, point: str = "custom.other", urls: Any = None, /, **variables: Any) -> Reply:
    sent = {"on": on, "activity_point": point, "variables": json.dumps(variables)}
    return api.post(CREATE, **sent, **({"urls": json.dumps(urls)} if urls is not None else {}))


def change(api: Api, name: str, on: str, *targets: str) -> Reply:
    return api.post(f"/rest/contexts/{name}.json", on=on, targets=json.dumps(targets))


def links(api: Api, uri: str, id: int) -> dict[str, list[int]]:
    found = api.record(uri, id, "links").ok()["links"]
    assert isinstance(found, dict)
    return found


def unread(api: Api) -> list[tuple[str, int]]:
    found = api.search("notification", f"worker.id:{api.get('/rest/workers/me.json')['id']} sort:-id", limit=50).ok()
    return [(each["activity_point"], each["target_id"]) for each in found["results"]]


# -- types -------------------------------------------------------------------------------------------------------------


def test_every_record_type_is_listed_with_its_features(api: Api) -> None:
    found = listed(api)
    assert {"ticket", "org", "worker", "activity_log"} <= set(found)
    org = found["org"]
    assert (org["id"], org["name"], org["plugin_id"]) == ("svc.contexts.org", "Organization", "svc.core")
    assert org["params"]["names"] == {"organization": "singular", "organizations": "plural"}
    assert org["params"]["acl"] == ["create", "delete", "update"]
    assert {"custom_fields", "links", "records", "search"} <= set(org["params"]["options"])
    assert found["address"]["params"]["acl"] == ["create", "update"]
    assert found["activity_log"]["params"] == {
        "names": {"activity log": "singular", "activity logs": "plural"}, "acl": [], "options": ["records", "search"],
    }  # fmt: skip
    assert found["call"]["plugin_id"] == "svc.calls"


def test_custom_fields_are_listed_with_their_type_or_fieldset(api: Api) -> None:
    field = made(api, "custom_field", context="asset", name="Shelf", type="D", params='{"options":["A","B"]}')
    owner = {"owner__context": "worker", "owner_id": api.ids["milo"]}
    fieldset = made(api, "custom_fieldset", context="asset", name="Lease", **owner)
    inner = made(api, "custom_field", context="asset", name="Until", custom_fieldset_id=fieldset)
    asset = listed(api)["asset"]
    [shown] = [each for each in asset["custom_fields"] if each["id"] == field]
    assert (shown["name"], shown["type"], shown["type_label"]) == ("Shelf", "D", "Picklist")
    assert shown["params"]["options"] == ["A", "B"]
    assert inner not in [each["id"] for each in asset["custom_fields"]]
    [own] = [each for each in asset["custom_fieldsets"] if each["id"] == fieldset]
    assert (own["name"], [each["id"] for each in own["custom_fields"]]) == ("Lease", [inner])
    assert fieldset in [each["id"] for each in listed(api.as_("milo"))["asset"]["custom_fieldsets"]]
    assert fieldset not in [each["id"] for each in listed(api.as_("olga"))["asset"]["custom_fieldsets"]]


def test_types_without_custom_fields_have_no_key_for_them(api: Api) -> None:
    found = listed(api)
    assert "custom_fields" not in found["html_template"] and found["html_template"]["custom_fieldsets"] == []


def test_a_new_record_type_is_listed_at_once(api: Api) -> None:
    name = f"boat{number()}"
    record = api.create("custom_record", name=name.capitalize(), name_plural=f"{name.capitalize()}s", uri=name).ok()
    assert listed(api)[name]["name"] == name.capitalize()
    boat = api.create(name, name="Dory").ok()["id"]
    org = made(api, "org")
    change(api, "link", f"{name}:{boat}", f"org:{org}").ok()
    assert links(api, "org", org) == {f"svc.contexts.custom_record.{record['id']}": [boat]}


# -- events ------------------------------------------------------------------------------------------------------------


def test_every_activity_event_is_listed_with_whether_it_can_be_written(api: Api) -> None:
    found = {each["id"]: each for each in api.as_("olga").get(EVENTS).ok()["results"]}
    assert set(found) == set(POINTS)
    assert {id for id, each in found.items() if each["options"] == ["api_create"]} == set(WORK) - RESERVED
    assert found["task.status.completed"] == {
        "id": "task.status.completed", "name": "Task completed", "options": ["api_create"],
        "text": {"key": "activities.task.status.completed", "value": "{{actor}} completed task {{target}}"},
    }  # fmt: skip


def test_each_event_of_the_list_can_be_written(api: Api) -> None:
    org = made(api, "org")
    writable = {id: point for id, point in WORK.items() if id not in RESERVED}
    for id, point in writable.items():
        entry = write(api, f"org:{org}", id.upper(), **dict.fromkeys(point.placeholders, "x")).ok()["entry"]
        assert entry["activity_point"] == id
    assert api.search("activity_log", f"target.org:(id:{org})").ok()["total"] == len(writable)


@pytest.mark.parametrize("id", sorted(RESERVED))
def test_events_that_only_the_service_writes_are_refused(id: str, api: Api) -> None:
    org = made(api, "org")
    for caller in (api, api.as_("olga")):
        refused = write(caller, f"org:{org}", id, **dict.fromkeys(POINTS[id].placeholders, "x"))
        assert (refused.status, refused["errors"][0]["field"]) == (422, "activity_point"), refused
        assert "are written by the service alone" in refused["message"]
    assert api.search("activity_log", f"target.org:(id:{org})").ok()["total"] == 0


def test_entries_of_administrative_actions_are_refused(api: Api) -> None:
    """Administrators rely on these entries; a worker who could write them could accuse others."""
    for id, point in ADMINISTRATIVE.items():
        refused = write(api.as_("milo"), f"org:{made(api, 'org')}", id, **dict.fromkeys(point.placeholders, "x"))
        assert refused.status == 422 and "by the service alone" in refused["message"], id


# -- entries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["org", "orgs", "svc.contexts.org", "ORG"])
def test_an_entry_is_written_in_the_callers_name(name: str, api: Api) -> None:
    org, milo = made(api, "org"), api.as_("milo")
    urls = {"message": "https://stock.example/42", "actor": "https://evil.example/"}
    entry = write(milo, f"{name}:{org}", "custom.other", urls, message="Stock count done", more="kept", actor="Nora")
    entry = entry.ok()["entry"]
    assert entry["variables"] == {"message": "Stock count done", "more": "kept"}
    assert entry["urls"] == {"message": "https://stock.example/42"}
    assert entry["message"] == {
        "plaintext": "Stock count done",
        "html": '<a href="https://stock.example/42">Stock count done</a>',
    }
    kept = api.record("activity_log", entry["id"], "_label").ok()
    assert (kept["actor_id"], kept["target_id"], kept["_label"]) == (milo.ids["milo"], org, "Stock count done")
    assert kept["params"]["variables"]["actor"] == "Milo Test"


@pytest.mark.parametrize(
    ("url", "html"),
    [
        ("https://a.example/?a=1&b=2", '<a href="https://a.example/?a=1&amp;b=2">&lt;b&gt;x&lt;/b&gt;</a>'),
        ("HTTP://a.example/", '<a href="HTTP://a.example/">&lt;b&gt;x&lt;/b&gt;</a>'),
        ("javascript:alert(1)", "&lt;b&gt;x&lt;/b&gt;"),
        (" javascript:alert(1)", "&lt;b&gt;x&lt;/b&gt;"),
        ("data:text/html,x", "&lt;b&gt;x&lt;/b&gt;"),
        ("//a.example/", "&lt;b&gt;x&lt;/b&gt;"),
        ('https://a.example/"onmouseover="alert(1)',
         '<a href="https://a.example/&quot;onmouseover=&quot;alert(1)">&lt;b&gt;x&lt;/b&gt;</a>'),
        ("https://a.example/ onmouseover=x", "&lt;b&gt;x&lt;/b&gt;"),
        ("ctx://nosuch:5", "&lt;b&gt;x&lt;/b&gt;"),
    ],
)  # fmt: skip
def test_texts_are_escaped_and_only_safe_addresses_are_links(url: str, html: str, api: Api) -> None:
    entry = write(api, f"org:{made(api, 'org')}", "custom.other", {"message": url}, message="<b>x</b>").ok()["entry"]
    assert entry["message"]["html"] == html
    assert entry["urls"] == ({"message": url} if html.startswith("<a") or url.startswith("ctx:") else {})


def test_an_address_of_a_record_links_to_its_page(api: Api) -> None:
    org = made(api, "org")
    entry = write(api, f"org:{org}", "custom.other", {"message": f"ctx://svc.contexts.org:{org}"}, message="x").ok()
    page = api.record("org", org)["record_url"]
    assert entry["entry"]["message"]["html"] == f'<a href="{page}">x</a>'


def test_checks_of_an_entry_come_in_their_order(api: Api) -> None:
    org, olga = made(api, "org"), api.as_("olga")
    hidden = made(api, "ticket", group_id=api.ids["private"])
    good = {"on": f"org:{org}", "activity_point": "task.created", "variables": '{"target": "x"}', "urls": "{}"}
    before = api.search("activity_log").ok()["total"]
    wrong: list[tuple[dict[str, Any], int, str, str]] = [
        ({"on": ""}, 422, "ERROR_PARAM_REQUIRED", "on"),
        ({"on": "org"}, 422, "ERROR_PARAM_INVALID", "on"),
        ({"on": "nosuch:1"}, 422, "ERROR_PARAM_INVALID", "on"),
        ({"on": f"org:{org}x"}, 422, "ERROR_PARAM_INVALID", "on"),
        ({"on": "org:999999999"}, 422, "ERROR_PARAM_INVALID", "on"),
        ({"on": f"ticket:{hidden}"}, 422, "ERROR_PARAM_INVALID", "on"),
        ({"activity_point": ""}, 422, "ERROR_PARAM_REQUIRED", "activity_point"),
        ({"activity_point": "task.creatd"}, 422, "ERROR_PARAM_INVALID", "activity_point"),
        ({"variables": "{"}, 400, "ERROR_PARAM_INVALID", "variables"),
        ({"variables": "[]"}, 422, "ERROR_PARAM_INVALID", "variables"),
        ({"variables": '{"target": ["x"]}'}, 422, "ERROR_PARAM_INVALID", "variables"),
        ({"urls": "{"}, 400, "ERROR_PARAM_INVALID", "urls"),
        ({"urls": "7"}, 422, "ERROR_PARAM_INVALID", "urls"),
        ({"variables": '{"target": ""}'}, 422, "ERROR_PARAM_REQUIRED", "target"),
        ({"variables": "{}"}, 422, "ERROR_PARAM_REQUIRED", "target"),
        ({"variables": '{"target": "' + "x" * 70000 + '"}'}, 422, "ERROR_PARAM_INVALID", "variables"),
    ]
    for sent, status, code, field in wrong:
        response = olga.post(CREATE, **good | sent)
        assert (response.status, response["__error"], response["errors"][0]["field"]) == (status, code, field), (
            sent,
            response,
        )
    order = ["on", "activity_point", "variables", "urls"]
    bad = {"on": "org", "activity_point": "x", "variables": "{", "urls": "{"}
    for place, name in enumerate(order):
        response = olga.post(CREATE, **good | {each: bad[each] for each in order[place:]})
        assert response["errors"][0]["field"] == name
    assert "did you mean 'task.created'?" in olga.post(CREATE, **good | {"activity_point": "task.creatd"})["message"]
    assert api.search("activity_log").ok()["total"] == before


def test_watchers_and_the_owner_are_notified_and_never_the_actor(api: Api) -> None:
    task = made(api, "task", owner_id=api.ids["olga"])
    change(api, "link", f"task:{task}", f"worker:{api.ids['milo']}", f"worker:{api.ids['nora']}").ok()
    write(api, f"task:{task}", message="Look").ok()
    assert unread(api.as_("milo"))[0] == unread(api.as_("olga"))[0] == ("custom.other", task)
    assert ("custom.other", task) not in unread(api)


# -- links -------------------------------------------------------------------------------------------------------------


def test_link_and_unlink_return_the_record_and_its_targets(api: Api) -> None:
    ticket, org, task = made(api, "ticket"), made(api, "org"), made(api, "task")
    response = change(api, "link", f"svc.contexts.ticket:{ticket}", f"orgs:{org}", f"task:{task}").ok()
    shown = api.record("ticket", ticket, "_label").ok()
    assert response["on"] == {
        "context": "svc.contexts.ticket", "context_id": ticket,
        "meta": {"id": ticket, "name": f"[{shown['mask']}] {shown['subject']}", "permalink": shown["record_url"],
                 "owner_id": 0, "updated": shown["updated"]},
    }  # fmt: skip
    assert [(each["context"], each["context_id"]) for each in response["targets"]] == [
        ("svc.contexts.org", org),
        ("svc.contexts.task", task),
    ]
    back = change(api, "link", f"org:{org}", f"ticket:{ticket}").ok()
    assert (back["on"]["meta"]["name"], back["targets"][0]["meta"]) == (
        response["targets"][0]["meta"]["name"],
        response["on"]["meta"],
    )
    assert set(response["targets"][0]["meta"]) == {"id", "name", "permalink", "updated"}
    assert links(api, "ticket", ticket) == {"svc.contexts.org": [org], "svc.contexts.task": [task]}
    again = change(api, "link", f"ticket:{ticket}", f"org:{org}", f"task:{task}").ok()
    assert again.json == response.json
    change(api, "unlink", f"ticket:{ticket}", f"org:{org}", f"worker:{api.ids['milo']}").ok()
    assert links(api, "ticket", ticket) == {"svc.contexts.task": [task]}
    points = [
        each["activity_point"] for each in api.search("activity_log", f"target.org:(id:{org}) sort:id").ok()["results"]
    ]
    assert points == ["connection.link", "connection.unlink"]


def test_an_empty_list_links_nothing(api: Api) -> None:
    response = change(api, "link", f"task:{made(api, 'task')}").ok()
    assert response["targets"] == []


def test_a_link_to_or_from_a_worker_is_a_watcher_and_is_logged_on_the_record(api: Api) -> None:
    milo = api.ids["milo"]
    for on_worker in (False, True):
        task = made(api, "task")
        pair = (f"worker:{milo}", f"task:{task}") if on_worker else (f"task:{task}", f"worker:{milo}")
        change(api, "link", *pair).ok()
        assert list(api.record("task", task, "watchers").ok()["watchers"]) == [str(milo)]
        entries = api.search("activity_log", f"target.task:(id:{task}) sort:-id").ok()["results"]
        assert entries[0]["activity_point"] == "watcher.assigned"
        assert unread(api.as_("milo"))[0] == ("watcher.assigned", task)


@pytest.mark.parametrize("name", ["link", "unlink"])
@pytest.mark.parametrize(
    ("on", "targets", "status", "field"),
    [
        ("", "[]", 422, "on"),
        ("task", "[]", 422, "on"),
        ("nosuch:1", "[]", 422, "on"),
        ("task:999999999", "[]", 422, "on"),
        ("draft:{draft}", "[]", 422, "on"),
        ("task:{task}", "", 422, "targets"),
        ("task:{task}", "[", 400, "targets"),
        ("task:{task}", '{"a": "org:1"}', 422, "targets"),
        ("task:{task}", "[5]", 422, "targets"),
        ("task:{task}", '["org:{org}", "org:999999999"]', 422, "targets"),
        ("task:{task}", '["org:{org}", "-org:{org}"]', 422, "targets"),
        ("task:{task}", '["org:{org}", "nosuch:1"]', 422, "targets"),
        ("task:{task}", '["org:{org}", "ticket:{hidden}"]', 422, "targets"),
        ("task:{task}", '["org:{org}", "draft:{draft}"]', 422, "targets"),
        ("task:{task}", json.dumps(["org:{org}"] * 1001), 422, "targets"),
    ],
)
def test_all_references_are_checked_before_the_first_link(
    name: str, on: str, targets: str, status: int, field: str, api: Api
) -> None:
    milo = api.as_("milo")
    ids = {"task": made(api, "task"), "org": made(api, "org"), "draft": made(milo, "draft", worker_id=api.ids["milo"]),
           "hidden": made(api, "ticket", group_id=api.ids["private"])}  # fmt: skip
    for key, id in ids.items():
        on, targets = on.replace(f"{{{key}}}", str(id)), targets.replace(f"{{{key}}}", str(id))
    response = milo.post(f"/rest/contexts/{name}.json", on=on, targets=targets)
    assert (response.status, response["errors"][0]["field"]) == (status, field), response
    assert links(api, "task", ids["task"]) == links(api, "org", ids["org"]) == {}


def test_linking_requires_the_right_to_change_the_record(api: Api) -> None:
    ticket, org = made(api, "ticket"), made(api, "org")
    olga = api.as_("olga")
    olga.record("ticket", ticket).ok()
    assert change(olga, "link", f"ticket:{ticket}", f"org:{org}").status == 403
    assert links(api, "org", org) == {}
    change(api, "link", f"ticket:{ticket}", f"org:{org}").ok()
    assert change(olga, "unlink", f"ticket:{ticket}", f"org:{org}").status == 403
    assert links(api, "org", org) == {"svc.contexts.ticket": [ticket]}
