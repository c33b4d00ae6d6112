"""GET /rest/changes.json: the events of each write, their order and their readers. The same events as a stream are
tested in tests/web/test_streams.py."""

from collections.abc import Callable
from typing import Any

import pytest

from server.record_types.registry import load
from tests.api.minimal import MINIMAL, made, number
from tests.api.test_tokens import token_for
from tests.service import Api
from tests.telling import telling_types

REGISTRY = load()
KEPT = [each.uri for each in REGISTRY if each.uri in MINIMAL and not each.is_silent]
TICKETS_ONLY = """
tickets:
  label: Follow tickets
  endpoints: [changes, "records/tickets/*"]
blind:
  label: Follow nothing
  endpoints: [changes]
"""


class Log:
    """The events that a caller can read from now on."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.cursor = api.get("/rest/changes.json").ok()["cursor"]

    def new_events(self, **params: Any) -> list[tuple[str, str, int]]:
        """Returns (event, type, id) of everything written since the last call."""
        found: list[tuple[str, str, int]] = []
        more = True
        while more:
            page = self.api.get("/rest/changes.json", since=self.cursor, **params).ok()
            found += [(each["event"], each["type"], each["id"]) for each in page["results"]]
            self.cursor, more = page["cursor"], page["more"]
        return found


def ticket(api: Api, **more: Any) -> int:
    return made(api, "ticket", **more)


def merged(api: Api) -> set[tuple[str, str, int]]:
    first, second = (ticket(api) for _ in range(2))
    message = made(api, "message", ticket_id=second)
    comment = made(api, "comment", target__context="ticket", target_id=second)
    api.post("/rest/tickets/merge.json", **{"ticket_ids[]": [first, second]}).ok()
    return {("updated", "ticket", first), ("updated", "ticket", second), ("updated", "comment", comment),
            ("updated", "message", message)}  # fmt: skip


def deleted(api: Api, uri: str) -> set[tuple[str, str, int]]:
    id = made(api, uri)
    api.remove(uri, id).ok()
    return {("created", uri, id), ("deleted", uri, id)}


def changed(api: Api, uri: str, **fields: Any) -> set[tuple[str, str, int]]:
    id = made(api, uri)
    api.update(uri, id, **fields).ok()
    return {("created", uri, id), ("updated", uri, id)}


def soft_deleted(api: Api) -> set[tuple[str, str, int]]:
    id = ticket(api)
    api.remove("ticket", id).ok()
    return {("updated", "ticket", id)}


def mailed(api: Api) -> set[tuple[str, str, int]]:
    raw = f"From: ana@example.com\nTo: help@desk.example\nSubject: Pump\nMessage-ID: <{number()}@x>\n\nIt leaks.\n"
    id = api.parse(raw).ok()["id"]
    return {("created", "ticket", id), ("created", "message", api.found("message", f"ticket.id:{id}")[0])}


def packaged(api: Api) -> set[tuple[str, str, int]]:
    name = f"Packed {number()}"
    document = {"package": {"name": name, "revision": 1}, "records": [{"uid": "a", "_context": "org", "name": name}]}
    api.call("POST", "/rest/packages/import.json", json={"package_json": document}).ok()
    return {("created", "org", api.found("org", f'name:"{name}"')[0])}


def moved(api: Api) -> set[tuple[str, str, int]]:
    """Deleting a group moves its tickets to the default group."""
    group = made(api, "group")
    id = ticket(api, group_id=group)
    api.remove("group", group).ok()
    return {("updated", "ticket", id), ("deleted", "group", group)}


def disowned(api: Api) -> set[tuple[str, str, int]]:
    """Deleting a worker publishes an update of the records that they owned."""
    worker = made(api, "worker")
    task = made(api, "task", owner_id=worker)
    api.remove("worker", worker).ok()
    return {("updated", "task", task), ("deleted", "worker", worker)}


def answered(api: Api) -> set[tuple[str, str, int]]:
    """A message changes the counts of its ticket."""
    id = ticket(api)
    log = Log(api)
    message = made(api, "message", ticket_id=id)
    assert ("updated", "ticket", id) in log.new_events(types="ticket")
    return {("created", "message", message)}


def linked(api: Api) -> set[tuple[str, str, int]]:
    """A link is shown on both records."""
    one, other = made(api, "org"), made(api, "org")
    log = Log(api)
    api.post("/rest/contexts/link.json", on=f"org:{one}", targets=f'["org:{other}"]').ok()
    assert set(log.new_events()) == {("updated", "org", one), ("updated", "org", other)}
    api.post("/rest/contexts/link.json", on=f"org:{one}", targets=f'["org:{other}"]').ok()
    assert log.new_events() == []
    api.post("/rest/contexts/unlink.json", on=f"org:{one}", targets=f'["org:{other}"]').ok()
    return {("updated", "org", one), ("updated", "org", other)}


def created_with_links(api: Api) -> set[tuple[str, str, int]]:
    other = made(api, "org")
    log = Log(api)
    task = made(api, "task", links=[f"org:{other}", f"worker:{api.ids['milo']}"])
    told = log.new_events()
    assert [event for event, *which in told if which == ["task", task]] == ["created"]
    return {("updated", "org", other), ("created", "task", task)}


def requested(api: Api) -> set[tuple[str, str, int]]:
    id = ticket(api)
    log = Log(api)
    api.call("PUT", f"/rest/tickets/{id}/requester.json", data={"email": "ana@example.com"}).ok()
    assert ("updated", "ticket", id) in log.new_events()
    api.call("DELETE", f"/rest/tickets/{id}/requester.json", params={"email": "ana@example.com"}).ok()
    assert log.new_events() == [("updated", "ticket", id)]
    return {("created", "ticket", id)}


def joined(api: Api) -> set[tuple[str, str, int]]:
    group = made(api, "group")
    roster = {"groups": {str(group): {"workers": {str(api.ids["milo"]): "member"}}}}
    log = Log(api)
    api.call("PUT", "/rest/groups/members.json", json={"json": roster}).ok()
    assert log.new_events() == [("updated", "group", group)]
    api.remove("group", group).ok()
    return {("created", "group", group), ("deleted", "group", group)}


WRITES: list[tuple[str, Callable[[Api], set[tuple[str, str, int]]]]] = [
    ("a change", lambda api: changed(api, "org", name="Kite")),
    ("a change of links alone", lambda api: changed(api, "org", links=[f"org:{made(api, 'org')}"])),
    ("a delete", lambda api: deleted(api, "task")),
    ("a ticket that is deleted, which keeps it", soft_deleted),
    ("a merge", merged),
    ("a mail", mailed),
    ("a package", packaged),
    ("a group that goes", moved),
    ("a worker who goes", disowned),
    ("a message", answered),
    ("a link", linked),
    ("a record that is created with links", created_with_links),
    ("a requester", requested),
    ("a member", joined),
]


@pytest.mark.parametrize(("what", "write"), WRITES, ids=[name for name, _ in WRITES])
def test_every_write_has_its_events(api: Api, what: str, write: Callable[[Api], set[tuple[str, str, int]]]) -> None:
    log = Log(api)
    expected = write(api)
    assert expected <= set(log.new_events())
    assert log.new_events() == []


def test_a_transaction_reports_a_record_once_and_no_empty_change(api: Api) -> None:
    log = Log(api)
    org = made(api, "org", name="Kite")
    assert log.new_events() == [("created", "org", org)]
    api.update("org", org, name="Kite").ok()
    assert log.new_events() == []
    assert api.update("org", org, name="").status == 422  # rolled back
    assert log.new_events() == []


def test_pages_follow_each_other_without_a_gap(api: Api) -> None:
    log = Log(api)
    orgs = [made(api, "org") for _ in range(5)]
    page = api.get("/rest/changes.json", since=log.cursor, limit=2).ok()
    assert (page["count"], page["limit"], page["more"]) == (2, 2, True)
    assert page["results"][0].keys() == {"type", "id", "event", "at"}
    assert [id for _, _, id in log.new_events(limit=2)] == orgs
    assert api.get("/rest/changes.json", since=log.cursor, limit=2).ok()["more"] is False


def test_types_restrict_the_events_and_the_cursor_is_after_all_others(api: Api) -> None:
    log = Log(api)
    org, task = made(api, "org"), made(api, "task")
    made(api, "org")
    page = api.get("/rest/changes.json", since=log.cursor, types="tasks,ticket").ok()
    assert [(each["type"], each["id"]) for each in page["results"]] == [("task", task)]
    assert page["cursor"] == Log(api).cursor
    assert ("created", "org", org) in log.new_events(types=" org , task,")


WRONG = [
    ({"since": "x"}, 422, "since: 'x' is not a cursor"),
    ({"since": "-1"}, 422, "is not a cursor"),
    ({"since": "1.5"}, 422, "is not a cursor"),
    ({"since": "\u0661"}, 422, "is not a cursor"),
    ({"since": str(2**63)}, 422, "is not a cursor"),
    ({"since": str(2**63 - 1)}, 410, "no longer stored"),
    ({"since[]": "1"}, 422, "since"),
    ({"since_time": "soonish"}, 422, "since_time: "),
    ({"since_time": "-1 hour", "since": "1"}, 422, "either since or since_time"),
    ({"types": "tickt"}, 422, "did you mean 'ticket'?"),
    ({"types": "automation_log"}, 422, "are not stored"),
    ({"types[x]": "ticket"}, 422, "types"),
]


@pytest.mark.parametrize(("params", "status", "text"), WRONG)
def test_invalid_values_are_reported(api: Api, params: dict[str, str], status: int, text: str) -> None:
    response = api.get("/rest/changes.json", **params)
    assert response.status == status and text in response["message"]
    if status == 410:
        assert response["__error"] == "ERROR_GONE"


def test_changes_can_begin_at_a_time(api: Api) -> None:
    org = made(api, "org")
    page = api.get("/rest/changes.json", since_time="-1 minute", limit=500).ok()
    while page["more"]:
        page = api.get("/rest/changes.json", since=page["cursor"], limit=500).ok()
    assert ("created", "org", org) in [(each["event"], each["type"], each["id"]) for each in page["results"]]
    assert api.get("/rest/changes.json", since_time="+1 day").ok()["results"] == []


# -- readers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", telling_types(KEPT))
def test_callers_get_events_of_readable_records_only(actors: dict[str, Api], api: Api, uri: str) -> None:
    logs = {name: Log(actors[name]) for name in ("nora", "milo", "olga", "tina")}
    id = made(api, uri)
    for name, log in logs.items():
        told = [each for each in log.new_events() if each[1:] == (uri, id)]
        may_read = actors[name].record(uri, id).status == 200
        assert [event for event, _, _ in told[:1]] == (["created"] if may_read else []), name


def test_events_of_tickets_in_private_groups_go_to_their_members(actors: dict[str, Api], api: Api) -> None:
    nora, milo = Log(api), Log(actors["milo"])
    id = ticket(api, group_id=api.ids["private"])
    message = made(api, "message", ticket_id=id)
    api.update("ticket", id, subject="Salaries").ok()
    assert {("created", "ticket", id), ("created", "message", message)} <= set(nora.new_events())
    assert not [each for each in milo.new_events() if each[1:] in (("ticket", id), ("message", message))]
    api.update("ticket", id, group_id=api.ids["support"]).ok()
    assert ("updated", "ticket", id) in milo.new_events()
    api.update("ticket", id, group_id=api.ids["private"]).ok()
    assert ("updated", "ticket", id) not in milo.new_events()


def test_deletions_are_reported_to_callers_who_could_read_the_record(actors: dict[str, Api], api: Api) -> None:
    """Records without an owner are reported to callers who may read the whole type."""
    group = made(api, "group", is_private=1)
    api.update("group", group, members={"member": str(api.ids["olga"])}).ok()
    owned = made(api, "snippet", owner__context="group", owner_id=group)
    own = made(api, "snippet", owner__context="worker", owner_id=api.ids["olga"])
    task = made(api, "task")
    logs = {name: Log(actors[name]) for name in ("nora", "olga", "milo")}
    for uri, id in (("snippet", owned), ("snippet", own), ("task", task)):
        api.remove(uri, id).ok()
    gone = {name: {each for each in log.new_events() if each[0] == "deleted"} for name, log in logs.items()}
    all_three = {("deleted", "snippet", owned), ("deleted", "snippet", own), ("deleted", "task", task)}
    assert gone["nora"] >= all_three and gone["olga"] >= all_three
    assert gone["milo"] & all_three == {("deleted", "task", task)}
    api.remove("group", group).ok()


def test_a_token_gets_events_of_the_types_that_its_scopes_cover(api: Api) -> None:
    app = made(api, "oauth_app", scopes=TICKETS_ONLY)
    follower, blind = (token_for(api, app=app, scopes=name) for name in ("tickets", "blind"))
    log, nothing = Log(follower), Log(blind)
    id = ticket(api)
    made(api, "org")
    assert {each[1] for each in log.new_events()} == {"ticket"}
    assert nothing.new_events() == []
    response = follower.get("/rest/changes.json", types="ticket,org")
    assert (response.status, response["__error"]) == (403, "ERROR_SCOPE")
    assert ("created", "ticket", id) in Log(api).new_events() or follower.found("tickets", f"id:{id}") == [id]


def test_scopes_that_name_many_endpoints_count_too(api: Api) -> None:
    endpoints = ", ".join(f'"records/thing{number}/*"' for number in range(50))
    app = made(api, "oauth_app", scopes=f'many: {{label: M, endpoints: [changes, {endpoints}, "records/org/*"]}}')
    log = Log(token_for(api, app=app, scopes="many"))
    made(api, "task")
    org = made(api, "org")
    assert log.new_events() == [("created", "org", org)]


def test_callers_without_the_scope_or_a_token_are_refused(actors: dict[str, Api], api: Api) -> None:
    app = made(api, "oauth_app", scopes='tickets: {label: T, endpoints: ["records/*"]}')
    assert token_for(api, app=app, scopes="tickets").get("/rest/changes.json").status == 403
    assert actors["dora"].get("/rest/changes.json").status == 401
    assert Api(api.url, "svc_at_unknown").get("/rest/changes.json").status == 401
