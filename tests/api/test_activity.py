"""The entries of the activity log and the notified workers, for every cause: one row each. Then the notifications as
their worker sees them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from server.record_types.shared.points import ADMINISTRATIVE, WORK
from tests.api.minimal import made, number
from tests.api.post import customer
from tests.service import Api

LIST = "/rest/notifications/list.json"
Ids = dict[str, int]
Doing = Callable[[Api, Ids], Any]


@dataclass(frozen=True)
class Cause:
    """An action of milo. entries: (point, name of the target) of all new entries, "" for no target; new: the target
    was created by the action. told: {worker: points} of all notifications."""

    name: str
    do: Doing
    entries: list[tuple[str, str]]
    told: dict[str, list[str]]


def update(uri: str, **fields: Any) -> Doing:
    return lambda milo, ids: milo.update(uri, ids[uri], **{
        name: ids.get(value, value) if isinstance(value, str) else value for name, value in fields.items()
    }).ok()  # fmt: skip


def links(uri: str, *targets: str) -> Doing:
    """Links or unlinks targets, each given as `[-]<type>:<name in ids>`."""

    def do(milo: Api, ids: Ids) -> None:
        sent = [f"{head}:{ids[name]}" for head, _, name in (each.partition(":") for each in targets)]
        milo.update(uri, ids[uri], links=sent).ok()

    return do


def comment(uri: str, text: str) -> Doing:
    return lambda milo, ids: milo.create("comment", target__context=uri, target_id=ids[uri], comment=text).ok()


def requester(method: str, email: str) -> Doing:
    place = "/rest/tickets/{}/requester.json"
    return lambda milo, ids: milo.call(method, place.format(ids["ticket"]), params={"email": email}).ok()


def received(milo: Api, ids: Ids) -> None:
    mask = milo.record("ticket", ids["ticket"])["mask"]
    milo.parse(f"From: {customer()}\r\nSubject: Re: [#{mask}] Pump\r\n\r\nStill leaking.\r\n").ok()


def told_all(point: str) -> dict[str, list[str]]:
    return {"nora": [point], "olga": [point]}


def status(word: str, number: int) -> Cause:
    point = f"ticket.status.{word}"
    return Cause(f"a ticket becomes {word}", update("ticket", status_id=number), [(point, "ticket")], told_all(point))


# nora owns the ticket, and olga and milo watch it; olga watches the task, and nora owns it; milo is always the actor.
CAUSES = [
    status("waiting", 1),
    status("closed", 2),
    status("deleted", 3),
    Cause("a ticket opens again", lambda milo, ids: milo.update("ticket", ids["shut"], status_id=0).ok(),
          [("ticket.status.open", "shut")], {"nora": ["ticket.status.open"]}),
    Cause("a ticket is given to somebody", update("ticket", owner_id="olga"), [("ticket.owner.assigned", "ticket")],
          {"olga": ["ticket.owner.assigned"]}),
    Cause("a ticket is given to nobody", update("ticket", owner_id=0), [("ticket.owner.unassigned", "ticket")],
          {"olga": ["ticket.owner.unassigned"]}),
    Cause("milo takes it himself", update("ticket", owner_id="milo"), [("ticket.owner.assigned", "ticket")],
          {"olga": ["ticket.owner.assigned"]}),
    Cause("a ticket moves", update("ticket", bucket_id="bucket"), [("ticket.moved", "ticket")],
          told_all("ticket.moved")),
    Cause("only its subject changes", update("ticket", subject="Other"), [], {}),
    Cause("a tag is added", update("ticket", tags="vip"), [("ticket.tag.added", "ticket")],
          told_all("ticket.tag.added")),
    Cause("a tag that is there", update("ticket", tags="BILLING"), [], {}),
    Cause("a tag is removed", update("ticket", tags="-billing"), [("ticket.tag.removed", "ticket")],
          told_all("ticket.tag.removed")),
    Cause("a requester is added", requester("PUT", "new@kite.example"), [("ticket.participant.added", "ticket")],
          told_all("ticket.participant.added")),
    Cause("a requester is added by a field", update("ticket", participants="newer@kite.example"),
          [("ticket.participant.added", "ticket")], told_all("ticket.participant.added")),
    Cause("a requester is taken away", requester("DELETE", "ana@kite.example"),
          [("ticket.participant.removed", "ticket")], told_all("ticket.participant.removed")),
    Cause("a reply", lambda milo, ids: milo.reply(message_id=ids["message"], content="Soon.", dont_send=1).ok(),
          [("ticket.message.outbound", "ticket")], told_all("ticket.message.outbound")),
    Cause("a reply that closes", lambda milo, ids: milo.reply(message_id=ids["message"], content="Done.", dont_send=1,
                                                              status=2).ok(),
          [("ticket.message.outbound", "ticket"), ("ticket.status.closed", "ticket")],
          {name: ["ticket.message.outbound", "ticket.status.closed"] for name in ("nora", "olga")}),
    Cause("mail comes in", received, [("ticket.message.handed_in", "ticket"), ("ticket.message.inbound", "ticket")],
          {name: ["ticket.message.inbound"] for name in ("milo", "nora", "olga")}),
    Cause("the words of a message are changed", update("message", content="Other words"),
          [("ticket.message.changed", "ticket")], told_all("ticket.message.changed")),
    Cause("a message is moved", update("message", ticket_id="shut"),
          [("ticket.message.moved", "shut"), ("ticket.message.moved", "ticket")],
          {"nora": ["ticket.message.moved"] * 2, "olga": ["ticket.message.moved"]}),
    Cause("a message is split off", lambda milo, ids: milo.post("/rest/tickets/split.json",
                                                                message_id=ids["message"]).ok(),
          [("ticket.split", "new ticket")], {"nora": ["ticket.split"]}),
    Cause("tickets are merged", lambda milo, ids: milo.post("/rest/tickets/merge.json", **{
        "ticket_ids[]": [ids["ticket"], ids["shut"]]}).ok(),
          [("ticket.merge", "shut"), ("ticket.participant.added", "shut"), ("ticket.status.deleted", "ticket"),
           ("ticket.status.open", "shut")],
          {"nora": ["ticket.merge", "ticket.participant.added", "ticket.status.deleted", "ticket.status.open"],
           "olga": ["ticket.merge", "ticket.status.open"]}),
    Cause("a ticket is deleted", lambda milo, ids: milo.remove("ticket", ids["ticket"]).ok(),
          [("record.deleted", "")], {}),
    Cause("a comment", comment("ticket", "Look"), [("comment.create", "ticket")], told_all("comment.create")),
    Cause("a comment that names", comment("org", "@olga @milo @dora @nosuch"), [("comment.create", "org")],
          {"olga": ["comment.create"]}),
    Cause("a comment on a task", comment("task", "@olga"), [("comment.create", "task")], told_all("comment.create")),
    Cause("a note", lambda milo, ids: milo.post(f"/rest/tasks/{ids['task']}/note.json", note="Look").ok(),
          [("comment.create", "task")], told_all("comment.create")),
    Cause("a link", links("ticket", "org:org"), [("connection.link", "org"), ("connection.link", "ticket")],
          told_all("connection.link")),
    Cause("a link that is there", links("ticket", "call:call"), [], {}),
    Cause("a link taken away", links("ticket", "-call:call"),
          [("connection.unlink", "call"), ("connection.unlink", "ticket")], told_all("connection.unlink")),
    Cause("a watcher", links("ticket", "worker:nora"), [("watcher.assigned", "ticket")], told_all("watcher.assigned")),
    Cause("a watcher taken away", links("ticket", "-worker:olga"), [("watcher.unassigned", "ticket")],
          {"nora": ["watcher.unassigned"]}),
    Cause("milo watches", links("task", "worker:milo"), [("watcher.follow", "task")], told_all("watcher.follow")),
    Cause("milo watches no more", links("ticket", "-worker:milo"), [("watcher.unfollow", "ticket")],
          told_all("watcher.unfollow")),
    Cause("a task for somebody", lambda milo, ids: milo.create("task", title="Sweep", owner_id=ids["olga"]).ok(),
          [("task.created", "new task")], {"olga": ["task.created"]}),
    Cause("a task of one's own", lambda milo, ids: milo.create("task", title="Sweep", owner_id=ids["milo"]).ok(),
          [("task.created", "new task")], {}),
    Cause("a task is done", update("task", status="closed"), [("task.status.completed", "task")],
          told_all("task.status.completed")),
    Cause("a task is done already", lambda milo, ids: milo.create("task", title="x", status="closed").ok(),
          [("task.created", "new task")], {}),
    Cause("a task opens again", lambda milo, ids: [milo.update("task", ids["task"], status=word).ok()
                                                   for word in ("waiting", "open")],
          [("task.status.open", "task")], told_all("task.status.open")),
    Cause("a call", lambda milo, ids: milo.create("call", subject="Keys").ok(),
          [("call_entry.created", "new call")], {}),
    Cause("a record is deleted", lambda milo, ids: milo.remove("task", ids["task"]).ok(), [("record.deleted", "")], {}),
    Cause("an opportunity is won", update("opportunity", status="closed_won"),
          [("opp.status.closed_won", "opportunity")], {}),
    Cause("an opportunity is lost", update("opportunity", status="closed_lost"),
          [("opp.status.closed_lost", "opportunity")], {}),
    Cause("an opportunity is open again", lambda milo, ids: [
        milo.update("opportunity", ids["opportunity"], status=each).ok() for each in ("closed_won", "open")],
          [("opp.status.closed_won", "opportunity"), ("opp.status.open", "opportunity")], {}),
    Cause("time is archived and back", lambda milo, ids: [
        milo.update("time_entry", ids["time_entry"], is_closed=each).ok() for each in (1, 0)],
          [("timetracking.status.closed", "time_entry"), ("timetracking.status.open", "time_entry")], {}),
    Cause("an event on a calendar", lambda milo, ids: milo.create(
        "calendar_event", name="Fair", calendar_id=ids["calendar"], date_start="2026-05-15 10:00").ok(),
          [("calendar_event.created", "calendar")], {}),
    Cause("a recurring event", lambda milo, ids: milo.create(
        "calendar_event_recurring", name="Open", calendar_id=ids["calendar"], patterns="weekdays").ok(),
          [("calendar_event_recurring.created", "calendar")], {}),
    Cause("an entry by hand", lambda milo, ids: milo.post(
        "/rest/contexts/activity/create.json", on=f"task:{ids['task']}", activity_point="custom.other",
        variables='{"message": "Look"}').ok(), [("custom.other", "task")], told_all("custom.other")),
]  # fmt: skip
# Points that the service writes and other files test, or that only callers write.
ELSEWHERE = {
    "ticket.macro", "ticket.message.relay", "ticket.message.held", "ticket.answer.refused",
    "ticket.target.due", "ticket.target.missed",
    "ticket.rated", "ticket.rating.asked", "ticket.split.from", "ticket.unmerge", "ticket.status.named", "record.merge",
    "record.tag.added", "record.tag.removed",
    "automation.rule.off", "kb_article.published", "kb_article.unpublished",
    "group.acknowledgement.error", "connected_account.ended", "connected_service.secret.expires",
    "transport.delivery.error", "mailbox.check.error", "outgoing_webhook.switched_off",
    "worker.logged_in", "worker.logged_out", "worker.login.failed",
    "worker.login.locked",
    "worker.impersonated", "worker.seat_expired", "address.email.changed", "writing_assistant.called",
    "project_board.card.added", "project_board.card.moved", "project_board.card.removed",
}  # fmt: skip


@pytest.fixture(scope="module")
def unchanged(nora: Api) -> Ids:
    """The records that no cause changes."""
    found = {name: nora.ids[name] for name in ("nora", "milo", "olga")}
    found |= {uri: made(nora, uri) for uri in ("bucket", "org", "call", "time_entry")}
    return found | {"calendar": made(nora, "calendar", owner__context="worker", owner_id=found["milo"])}


@pytest.fixture(scope="module")
def contexts(nora: Api) -> dict[str, str]:
    """The contexts of record types, by their URIs."""
    return {each["alias"]: each["id"] for each in nora.get("/rest/contexts/list.json").ok()["results"]}


@pytest.fixture
def ids(api: Api, unchanged: Ids) -> Ids:
    """The records that the causes refer to, by name; those that some cause changes are created again for each."""
    found = dict(unchanged)
    found["shut"] = made(api, "ticket", participants="bea@kite.example")
    found["ticket"] = made(api, "ticket", participants="ana@kite.example", tags="billing")
    made(api, "message", ticket_id=found["ticket"])
    found["message"] = made(api, "message", ticket_id=found["ticket"])
    found["task"] = made(api, "task", owner_id=found["nora"], links=[f"worker:{found['olga']}"])
    watched = [f"worker:{found['olga']}", f"worker:{found['milo']}", f"call:{found['call']}"]
    api.update("ticket", found["ticket"], owner_id=found["nora"], links=watched).ok()
    api.update("ticket", found["shut"], owner_id=found["nora"], status_id=2).ok()
    found["opportunity"] = made(api, "opportunity")
    return found


def newest(api: Api, uri: str) -> int:
    listed = api.search(uri, "sort:-id", limit=1).ok()["results"]
    return listed[0]["id"] if listed else 0


def since(api: Api, uri: str, id: int) -> list[dict[str, Any]]:
    return list(api.search(uri, f"id:>{id} sort:id", limit=100).ok()["results"])


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_a_cause_writes_its_entries_and_notifications(
    cause: Cause, api: Api, ids: Ids, contexts: dict[str, str]
) -> None:
    entry, notification = newest(api, "activity_log"), newest(api, "notification")
    cause.do(api.as_("milo"), ids)
    types = {context: uri for uri, context in contexts.items()} | {"": ""}
    names = {(contexts[name], id): name for name, id in ids.items() if name in contexts}
    names |= {(contexts["ticket"], ids["shut"]): "shut", ("", 0): ""}
    written = []
    for each in since(api, "activity_log", entry):
        target = each["target__context"], each["target_id"]
        written.append((each["activity_point"], names.get(target, f"new {types[target[0]]}")))
    assert sorted(written) == sorted(cause.entries)
    told: dict[str, list[str]] = {}
    workers = {api.ids[name]: name for name in ("nora", "milo", "olga", "dora")}
    for each in since(api, "notification", notification):
        assert each["is_read"] == 0 and each["message"]
        told.setdefault(workers[each["assignee_id"]], []).append(each["activity_point"])
    assert {name: sorted(points) for name, points in told.items()} == cause.told


def test_every_point_has_a_cause_or_is_tested_elsewhere() -> None:
    caused = {point for cause in CAUSES for point, _ in cause.entries} - set(ADMINISTRATIVE)
    assert caused | ELSEWHERE == set(WORK) and caused & ELSEWHERE == set()


def test_a_watcher_who_can_no_longer_read_a_record_is_not_notified(api: Api) -> None:
    ticket, before = made(api, "ticket"), newest(api, "notification")
    api.update("ticket", ticket, links=[f"worker:{api.ids['olga']}", f"worker:{api.ids['dora']}"]).ok()
    api.update("ticket", ticket, group_id=api.ids["private"]).ok()
    api.create("comment", target__context="ticket", target_id=ticket, comment="@olga").ok()
    listed = since(api, "notification", before)
    told = [(each["assignee_id"], each["activity_point"]) for each in listed]
    assert told == [(api.ids["olga"], "watcher.assigned")] * 2  # for herself and for dora, who is disabled


# -- as their worker sees them -----------------------------------------------------------------------------------------


def notify(api: Api, name: str, text: str) -> int:
    """Creates a notification for a worker; returns its id."""
    task = made(api, "task", owner_id=0)
    before = newest(api, "notification")
    api.create("comment", target__context="task", target_id=task, comment=f"@{name} {text}").ok()
    [found] = since(api, "notification", before)
    return int(found["id"])


def test_the_list_has_only_ones_own_unread_notifications_newest_first(api: Api) -> None:
    milo = api.as_("milo")
    ids = [notify(api, "milo", str(number())) for _ in range(3)]
    other = notify(api, "olga", "not for milo")
    listed = milo.get(LIST, limit=3).ok()
    assert [each["id"] for each in listed["results"]] == ids[::-1] and listed["page"] == 1
    assert [each["id"] for each in milo.get(LIST, limit=2, page=2).ok()["results"]][:1] == ids[:1]
    assert other not in [each["id"] for each in milo.get(LIST, limit=500).ok()["results"]]
    assert other not in [each["id"] for each in api.get(LIST, limit=500).ok()["results"]]  # also for an administrator
    total = milo.get(LIST, unread=1).ok()["total"]
    milo.put(f"/rest/notifications/{ids[1]}.json", is_read=1).ok()
    unread = milo.get(LIST, unread=1, sortBy="created", sortAsc=0).ok()
    assert unread["total"] == total - 1 and ids[1] not in [each["id"] for each in unread["results"]]
    assert ids[1] in [each["id"] for each in milo.get(LIST, unread=0).ok()["results"]]
    assert milo.get(LIST, sortBy="nosuch").status == 422


@pytest.mark.parametrize("place", ["/rest/notifications/{}.json", "/rest/records/notification/{}.json"])
def test_a_notification_is_marked_as_read_by_its_worker(place: str, api: Api) -> None:
    id, milo = notify(api, "milo", "look"), api.as_("milo")
    fields = {"is_read": 1} if "records" not in place else {"fields[is_read]": 1}
    olga = api.as_("olga")
    assert (olga.get(place.format(id)).status, olga.put(place.format(id), **fields).status) == (403, 403)
    assert milo.put(place.format(id), **fields).ok()["is_read"] == 1
    assert milo.get(place.format(id)).ok()["is_read"] == 1


def test_a_notification_leads_to_its_record_and_to_its_mark(api: Api) -> None:
    id = notify(api, "milo", "<b>look</b>")
    found = api.as_("milo").get(f"/rest/notifications/{id}.json", expand="target_").ok()
    assert found["url"] == api.record("task", found["target_id"])["record_url"] == found["target_record_url"]
    assert found["url_markread"] == f"{found['url'].partition('/records')[0]}/notifications/{id}"
    assert found["message"].startswith("Nora Berg commented on task ") and "<b>" not in found["message_html"]
