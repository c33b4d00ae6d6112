"""An undone merge: messages, requesters, masks, watchers and counts are as before; later messages go to the ticket
that they belong to, and the message says so."""

import re
from typing import Any

import pytest

from server.tickets import unmerge
from tests.console.test_undo import press_undo
from tests.console.visitor import Visitor, place, text_of
from tests.records.desk import Desk
from tests.service import Api
from tests.telling import telling

names = pytest.mark.parametrize
COLUMNS = (
    "mask", "status_id", "reopen_date", "closed", "owner_id", "num_messages", "num_messages_in", "num_messages_out",
    "initial_message_id", "latest_message_id", "first_wrote_address_id", "last_wrote_address_id", "merged_into",
    "elapsed_status_open", "last_opened_at", "deleted_at", "initial_response_message_id",
)  # fmt: skip


@pytest.fixture
def three(nora: Api, request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """A waiting ticket and two open ones, with notes, watchers, a file, a link and a draft."""
    word = re.sub(r"\W", "", request.node.name)[-40:]
    made = []
    for number, who in enumerate(("ana", "bo", "cy")):
        raw = f"From: {who}@{word}.example\nTo: support@desk.example\nSubject: {word} {number}\n"
        ticket = nora.parse(f"{raw}Message-ID: <{number}@{word}.example>\n\nIt leaks {number}.\n").ok().json
        [message] = nora.found("message", f"ticket.id:{ticket['id']}")
        nora.create("comment", target__context="ticket", target_id=ticket["id"], comment=f"Note {number}").ok()
        nora.update("ticket", ticket["id"], links=[f"worker:{nora.ids['milo' if number else 'nora']}"]).ok()
        made.append({**ticket, "message": message, "page": f"/tickets/{ticket['mask']}", "who": who, "word": word})
    nora.update("ticket", made[0]["id"], status="waiting", reopen_date="+2 days").ok()
    nora.create("draft", type="ticket.reply", name="x", to="bo@x.example", ticket_id=made[1]["id"],
                worker_id=nora.ids["nora"], params={"content": "Soon"}).ok()  # fmt: skip
    return made


def state(nora: Api, desk: Desk, ticket: dict[str, Any]) -> dict[str, Any]:
    def read(tx: Any) -> dict[str, Any]:
        tickets = desk.registry.type("ticket")
        record = tickets.record(tx.get(tickets.table, ticket["id"]))
        return {name: record[name] for name in COLUMNS}

    on = f"ticket.id:{ticket['id']}"
    more = nora.record("ticket", ticket["id"], "requester_emails,watchers,links").ok().json
    return {
        **desk.store.read(read), "messages": nora.found("message", on), "drafts": nora.found("draft", on),
        "notes": sorted(nora.found("comment", f"on.ticket:(id:{ticket['id']})")), "links": more.get("links"),
        "requesters": more["requester_emails"], "watchers": more["watchers"],
    }  # fmt: skip


def merged(visitor: Visitor, tickets: list[dict[str, Any]]) -> str:
    form = {"ids[]": [str(each["id"]) for each in tickets]}
    response = visitor.send("/inbox/merge", form, page="/inbox")
    assert response.status_code == 303, text_of(response.text)
    return place(response)


def merge_of(visitor: Visitor, page: str) -> str:
    """Returns the id of the merge that the message of the next page undoes."""
    [merge] = set(re.findall(r'name="merge" value="([0-9]+)"', visitor.get(page).text))
    return str(merge)


def answer(nora: Api, ticket: dict[str, Any], who: str, text: str, to: str = "") -> int:
    """Delivers a reply to the message of a ticket; to: the Message-ID that it replies to."""
    raw = f"From: {who}@{ticket['word']}.example\nTo: support@desk.example\nSubject: Re: [#{ticket['mask']}] x\n"
    made = nora.parse(f"{raw}{f'In-Reply-To: {to}' if to else 'X-None: 1'}\n\n{text}\n").ok()
    return int(max(nora.found("message", f"ticket.id:{made['id']}")))


def test_a_merge_is_undone(signed_in: Visitor, nora: Api, desk: Desk, three: list[dict[str, Any]]) -> None:
    before = [state(nora, desk, each) for each in three]
    page = merged(signed_in, three)
    assert page == three[0]["page"] and state(nora, desk, three[0])["num_messages"] == 3
    press_undo(signed_in, page)
    after = [state(nora, desk, each) for each in three]
    for was, now in zip(before, after, strict=True):
        assert {name: (was[name], now[name]) for name in was if was[name] != now[name]} == {}
    assert signed_in.get(three[1]["page"]).status_code == 200, "the mask leads to its own ticket again"
    told = nora.search("activity_log", f"activity:ticket.unmerge target.ticket:(id:{three[1]['id']})").ok()
    assert told["total"] == 1


def test_messages_that_arrived_in_between_go_where_they_belong(
    signed_in: Visitor, nora: Api, desk: Desk, three: list[dict[str, Any]]
) -> None:
    page = merged(signed_in, three[:2])
    word = three[0]["word"]
    to_other = answer(nora, three[1], "bo", "Answer of Bo", f"<1@{word}.example>")
    to_kept = answer(nora, three[0], "ana", "Answer of Ana", f"<0@{word}.example>")
    by_sender = answer(nora, three[1], "bo", "By the mask alone")
    reply = nora.reply(message_id=to_other, content="For Bo", dont_send=1).ok()
    assert reply["id"] == three[0]["id"]
    merge = merge_of(signed_in, page)
    done = signed_in.send(f"{page}/unmerge", {"merge": merge}, page=page)
    told = text_of(signed_in.get(place(done)).text)
    assert "3 messages that arrived since were moved too. 1 message that arrived since stays here." in told
    other = nora.found("message", f"ticket.id:{three[1]['id']}")
    assert {to_other, by_sender} <= set(other) and len(other) == 4
    assert to_kept in nora.found("message", f"ticket.id:{three[0]['id']}")
    assert nora.record("ticket", three[0]["id"]).ok()["status"] == "open", "somebody wrote"


@names(
    "kind",
    telling(
        ["merged further", "more merged", "twice", "another ticket", "too old"],
        ("more merged", "twice"),
        "every reason",
    ),
)
def test_a_merge_that_cannot_be_undone_stays(
    signed_in: Visitor, nora: Api, desk: Desk, three: list[dict[str, Any]], kind: str
) -> None:
    page = merged(signed_in, three[:2] if kind != "merged further" else three[1:])
    merge = merge_of(signed_in, page)
    path = f"{page}/unmerge"
    if kind == "merged further":
        merged(signed_in, [three[0], three[1]])
        path = f"{three[0]['page']}/unmerge"
    elif kind == "more merged":
        merged(signed_in, [three[0], three[2]])
    elif kind == "twice":
        assert signed_in.send(path, {"merge": merge}, page=page).status_code == 303
    elif kind == "another ticket":
        path = f"{three[2]['page']}/unmerge"
    else:
        unmerge.forget_old(desk.service, 2**40)
    before = [state(nora, desk, each) for each in three]
    assert signed_in.send(path, {"merge": merge}, page="/account").status_code in (404, 409)
    assert [state(nora, desk, each) for each in three] == before


def test_undo_requires_the_right_to_change_the_tickets(
    visitor: Visitor, signed_in: Visitor, nora: Api, desk: Desk, three: list[dict[str, Any]]
) -> None:
    page = merged(signed_in, three)
    merge = merge_of(signed_in, page)
    visitor.sign_in("olga@desk.example")
    assert visitor.send(f"{page}/unmerge", {"merge": merge}, page="/account").status_code == 403
