"""Bindings of events to automations: administrators read them, and automations are added and removed one by one."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.service import Api, Reply

_numbers = itertools.count(1)


def automation(api: Api, trigger: str = "mail.sent") -> Reply:
    fields = {
        "name": f"bound.n{next(_numbers)}",
        "extension_id": f"svc.trigger.{trigger}",
        "script": "start:\n  log: x\n",
    }
    return api.create("automation", **fields).ok()


@pytest.fixture
def event(api: Api) -> int:
    """mail.sent, without bindings."""
    [id] = [
        each["id"]
        for each in api.search("automation_event", "limit:100").ok()["results"]
        if each["name"] == "mail.sent"
    ]
    api.update("automation_event", id, automations_kata="").ok()
    return int(id)


def bind(api: Api, made: Reply, **params: object) -> Reply:
    return api.post(f"/rest/automations/{made['id']}/bind.json", **params)


def unbind(api: Api, made: Reply, **params: object) -> Reply:
    return api.post(f"/rest/automations/{made['id']}/unbind.json", **params)


def text_of(api: Api, id: int, uri: str = "automation_event") -> str:
    return str(api.record(uri, id, "automations_kata")["automations_kata"])


def test_administrators_get_bindings_on_request(api: Api, event: int) -> None:
    made = automation(api)
    kata = f"# Ours.\nautomation/a:\n  uri: svc:automation:{made['name']}\n"
    api.update("automation_event", event, automations_kata=kata).ok()
    assert text_of(api, event) == kata
    assert "automations_kata" not in api.record("automation_event", event).ok().json
    milo = api.as_("milo").record("automation_event", event, "automations_kata").ok().json
    assert milo["name"] == "mail.sent" and "automations_kata" not in milo


def test_each_author_adds_and_removes_an_entry(api: Api, event: int) -> None:
    kata = "# Theirs, with a comment.\nautomation/theirs:\n  uri: {{'x'}}\n  disabled@bool: {{message_id == 1}}\n"
    api.update("automation_event", event, automations_kata=kata).ok()
    one, two = automation(api), automation(api)
    names = [each["name"].replace(".", "_") for each in (one, two)]
    entries = [
        f"automation/{name}:\n  uri: svc:automation:{each['name']}\n"
        for name, each in zip(names, (one, two), strict=True)
    ]
    reply = bind(api, one).ok()
    assert (reply["type"], reply["id"], reply["entries"]) == ("automation_event", event, ["theirs", names[0]])
    assert reply["automations_kata"] == text_of(api, event) == kata + entries[0]
    assert bind(api, one).ok()["entries"] == ["theirs", names[0]], "bound twice it is there once"
    assert bind(api, two, name="first", position=0).ok()["entries"] == ["first", "theirs", names[0]]
    assert unbind(api, one).ok()["entries"] == ["first", "theirs"]
    assert unbind(api, one).ok()["entries"] == ["first", "theirs"]
    unbind(api, two).ok()
    assert text_of(api, event) == kata


def test_simultaneous_changes_lose_nothing(api: Api, event: int) -> None:
    made = [automation(api) for _ in range(12)]
    with ThreadPoolExecutor(6) as threads:
        assert {reply.status for reply in threads.map(lambda each: bind(api, each), made)} == {200}
    kata = text_of(api, event)
    assert all(f"uri: svc:automation:{each['name']}\n" in kata for each in made)
    with ThreadPoolExecutor(6) as threads:
        assert {reply.status for reply in threads.map(lambda each: unbind(api, each), made)} == {200}
    assert text_of(api, event) == ""


@pytest.mark.parametrize(
    ("trigger", "uri", "param"),
    [("automation.timer", "automation_timer", "timer_id"), ("webhook.respond", "webhook_listener", "webhook_id")],
)
def test_timers_and_webhooks_are_named(trigger: str, uri: str, param: str, api: Api) -> None:
    made, holder = automation(api, trigger), api.create(uri, name="Holder").ok()["id"]
    missing = bind(api, made)
    assert (missing.status, missing["errors"][0]["field"]) == (422, param)
    assert bind(api, made, **{param: 999_999}).status == 404
    reply = bind(api, made, **{param: holder}).ok()
    assert (reply["type"], reply["id"]) == (uri, holder)
    assert f"uri: svc:automation:{made['name']}\n" in text_of(api, holder, uri)
    assert unbind(api, made, **{param: holder}).ok()["entries"] == []


def test_refused_changes(api: Api, event: int) -> None:
    made, other = automation(api), automation(api)
    bind(api, other, name="taken").ok()
    for params, status, field in (
        ({"name": "a b"}, 422, "name"),
        ({"name": "taken"}, 409, "name"),
    ):
        reply = bind(api, made, **params)
        assert (reply.status, reply.json.get("errors", [{}])[0].get("field", field)) == (status, field), (
            reply.response.text
        )
    assert bind(api, automation(api, "automation.function"))["message"].startswith("automations with the trigger")
    for act in (bind, unbind):
        assert act(api.as_("milo"), made).status == 403
    assert api.post("/rest/automations/999999/bind.json").status == 404
    assert text_of(api, event).count("uri:") == 1


def test_changes_are_in_the_activity_log(api: Api, event: int) -> None:
    made = automation(api)
    bind(api, made).ok()
    [entry] = api.search("activity_log", "activity:automation_event.changed limit:1 sort:-id").ok()["results"]
    assert entry["target_id"] == event
