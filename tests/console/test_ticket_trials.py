"""A ticket's page under attack and under bad luck: ids of other tickets in its forms, drafts of others, restarts,
merges. For the normal use of the forms see test_tickets.py."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.test_tickets import answer_to, stored, undo
from tests.console.visitor import Visitor, place
from tests.service import PASSWORD, Api, Server, people

names = pytest.mark.parametrize
SECRET = "What she earns"


def mailed(nora: Api, subject: str, **fields: Any) -> dict[str, Any]:
    """Creates a ticket by mail with an HTML part, its message as `message`."""
    head = f"From: Ana Lund <ana@kite.example>\nTo: support@desk.example\nSubject: {subject}\n"
    made = nora.parse(f"{head}Content-Type: text/html\n\n<p>{subject}: see <b>here</b>.</p>\n").ok()
    if fields:
        nora.update("ticket", made["id"], **fields).ok()
    [message] = nora.found("message", f"ticket.id:{made['id']}")
    return {**made.json, "message": message, "page": f"/tickets/{made['mask']}"}


@pytest.fixture
def ticket(nora: Api, request: pytest.FixtureRequest) -> dict[str, Any]:
    return mailed(nora, f"Pump of {request.node.name[-60:]}")


@pytest.fixture(scope="module")
def hidden(nora: Api) -> dict[str, Any]:
    """A ticket that milo must not know of, with a draft of nora's as `draft`."""
    made = mailed(nora, SECRET, group_id=nora.ids["private"])
    params = {"content": SECRET, "in_reply_message_id": made["message"]}
    draft = nora.create("draft", type="ticket.reply", name=SECRET, to="ana@kite.example", ticket_id=made["id"],
                        params=params, worker_id=nora.ids["nora"])  # fmt: skip
    return {**made, "draft": draft.ok()["id"]}


@pytest.fixture
def milo(visitor: Visitor) -> Visitor:
    """A member of Support in a browser."""
    assert visitor.sign_in("milo@desk.example").status_code == 303
    return visitor


# -- ids of hidden tickets --------------------------------------------------------------------------------------------


@names("path", ["/messages/{message}/body", "/messages/{message}/source", "/drafts/{draft}/preview"])
def test_a_document_of_a_hidden_ticket_is_not_found(milo: Visitor, hidden: dict[str, Any], path: str) -> None:
    response = milo.get(path.format(**hidden))
    assert response.status_code in (403, 404) and SECRET not in response.text


@names(("path", "fields"), [
    ("answer", {"message": "{message}"}), ("answer", {"draft": "{draft}", "revision": ""}),
    ("answer", {"draft": "{draft}", "do": "discard"}), ("answer", {"draft": "{draft}", "do": "preview"}),
    ("draft", {"draft": "{draft}"}), ("split", {"message": "{message}"}), ("take-back", {"draft": "{draft}"}),
    ("merge", {"other": "{id}"}), ("merge", {"other": "{mask}"}),
])  # fmt: skip
def test_the_id_of_a_hidden_ticket_in_ones_own_form_does_nothing(
    milo: Visitor, nora: Api, ticket: dict[str, Any], hidden: dict[str, Any], path: str, fields: dict[str, str]
) -> None:
    def all_of_it() -> list[Any]:
        messages = nora.search("message", f"ticket.id:{hidden['id']}").ok()["results"]
        return [stored(nora, hidden), messages, nora.record("draft", hidden["draft"], "content,params").ok().json]

    before = all_of_it()
    sent = {name: value.format(**hidden) for name, value in fields.items()}
    response = milo.send(f"{ticket['page']}/{path}", answer_to(ticket, **sent), page=ticket["page"])
    assert response.status_code < 500 and SECRET not in response.text
    assert all_of_it() == before


def test_several_replies_at_once_leave_out_a_hidden_ticket(
    milo: Visitor, nora: Api, ticket: dict[str, Any], hidden: dict[str, Any]
) -> None:
    before = stored(nora, hidden)
    path = f"/inbox/reply?ids={ticket['id']},{hidden['id']}"
    assert SECRET not in milo.get(path).text and hidden["mask"] not in milo.get(path).text
    form = {"ids[]": [str(ticket["id"]), str(hidden["id"])], "content": "It is fixed.", "status": "2"}
    response = milo.send("/inbox/reply", form, page=path)
    assert response.status_code < 500 and SECRET not in response.text
    assert SECRET not in milo.get("/inbox").text
    assert stored(nora, hidden) == before
    assert nora.search("draft", f"ticket.id:{hidden['id']} is.queued:yes").ok()["total"] == 0


@names(
    "ids", ["", "x", "\u00b2", "9" * 30, "1,9223372036854775808", ",".join(map(str, range(1500))), "0", "-1", "1 OR 2"]
)
def test_unknown_ids_are_refused_with_a_message(signed_in: Visitor, ids: str) -> None:
    assert signed_in.get("/inbox/reply", params={"ids": ids}).status_code in (200, 400, 422)


def test_a_colleagues_draft_is_readable_and_not_overwritten_unseen(
    milo: Visitor, signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    """Workers who may change the ticket see the draft; without its revision they cannot overwrite it."""
    token = {"_xsrf": signed_in.token(ticket["page"])}
    kept = signed_in.post(f"{ticket['page']}/draft", answer_to(ticket, content="Words of Nora") | token).json()
    assert "Words of Nora" in milo.get(ticket["page"]).text
    fields = answer_to(ticket, content="Words of Milo", draft=str(kept["draft"]), revision="")
    told = milo.post(f"{ticket['page']}/draft", fields | {"_xsrf": milo.token(ticket["page"])}).json()
    assert "draft" not in told and told["conflict"]
    milo.send(f"{ticket['page']}/answer", {**fields, "do": "discard"}, page=ticket["page"])
    assert nora.record("draft", kept["draft"], "content").ok()["content"] == "Words of Nora"


def test_a_snippet_is_used_only_by_a_form(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    """Reading counts nothing, since a link of a stranger could be followed."""
    id = nora.create("snippet", title="Thanks", content="Thank you for {{subject}}.", context="ticket",
                     owner__context="app", owner_id=0).ok()["id"]  # fmt: skip
    assert signed_in.get(f"/-/snippets/{id}").status_code in (404, 405)
    assert signed_in.post(f"/-/snippets/{id}", {"ticket": ticket["id"]}).status_code == 403
    assert nora.record("snippet", id)["total_uses"] == 0
    response = signed_in.send(f"/-/snippets/{id}", {"ticket": ticket["id"]}, page=ticket["page"])
    assert response.json()["text"].startswith("Thank you for Pump of test_a_snippet")
    assert nora.record("snippet", id)["total_uses"] == 1


# -- other actions ----------------------------------------------------------------------------------------------------


def test_place_and_organization_are_saved_and_undone(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    org = nora.create("org", name="Kite Ltd").ok()["id"]
    bucket = nora.create("bucket", name="Pumps", group_id=nora.ids["support"]).ok()["id"]
    before = stored(nora, ticket)
    for name, column, value in (("org", "org_id", org), ("place", "bucket_id", bucket)):
        form = {"name": name, "value": str(value), f"was_{column}": str(before[column])}
        assert signed_in.send(f"{ticket['page']}/set", form, page=ticket["page"]).status_code == 303
        assert stored(nora, ticket)[column] == value
        undo(signed_in, ticket["page"])
        assert stored(nora, ticket)[column] == before[column]


def test_a_deleted_ticket_is_restored(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    form = {"name": "status", "was_status_id": "0", "was_reopen_date": "0", "value": "deleted"}
    signed_in.send(f"{ticket['page']}/set", form, page=ticket["page"])
    assert stored(nora, ticket)["status"] == "deleted"
    undo(signed_in, ticket["page"])
    assert stored(nora, ticket)["status"] == "open"


def test_a_note_is_shown_on_the_ticket_and_a_blank_one_is_refused(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    page = f"{ticket['page']}?answer=note"
    response = signed_in.send(f"{ticket['page']}/note", {"note": "Ask the workshop <b>first</b>"}, page=page)
    assert response.status_code == 303
    assert "Ask the workshop &lt;b&gt;first&lt;/b&gt;" in signed_in.get(ticket["page"]).text
    assert signed_in.send(f"{ticket['page']}/note", {"note": "  "}, page=page).status_code == 422
    assert len(nora.found("comment", f"on.ticket:(id:{ticket['id']})")) == 1


# -- no text is lost --------------------------------------------------------------------------------------------------


def test_an_undone_reply_is_in_the_form_with_its_copies_and_files(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    form = answer_to(ticket, cc="bo@kite.example", bcc="cy@kite.example", status="2", owner="Milo Test")
    form |= {"_xsrf": signed_in.token(ticket["page"])}
    signed_in.post(f"{ticket['page']}/answer", form, files={"files[]": ("plan.txt", b"A plan.", "text/plain")})
    assert nora.search("draft", f"ticket.id:{ticket['id']} is.queued:yes").ok()["total"] == 1
    undo(signed_in, ticket["page"])
    written = signed_in.get(ticket["page"]).text.partition('id="answer"')[2]
    for text in ("It is on its way.", "bo@kite.example", "cy@kite.example", "plan.txt"):
        assert text in written, text
    kept = nora.search("draft", f"ticket.id:{ticket['id']}", expand="content").ok()
    assert kept["total"] == 1, "one draft, not one more"
    preview = signed_in.get(f"/drafts/{kept['results'][0]['id']}/preview")
    assert "It is on its way." in preview.text


def test_undo_preserves_later_changes_of_a_colleague(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    signed_in.send(f"{ticket['page']}/answer", answer_to(ticket, status="2", owner="Milo Test"), page=ticket["page"])
    assert (stored(nora, ticket)["status"], stored(nora, ticket)["owner_id"]) == ("closed", nora.ids["milo"])
    nora.update("ticket", ticket["id"], owner_id=nora.ids["olga"]).ok()
    undo(signed_in, ticket["page"])
    assert (stored(nora, ticket)["status"], stored(nora, ticket)["owner_id"]) == ("open", nora.ids["olga"])


def test_a_draft_stays_when_its_ticket_is_merged_into_another(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    later = mailed(nora, "Pump again")
    token = {"_xsrf": signed_in.token(later["page"])}
    kept = signed_in.post(f"{later['page']}/draft", answer_to(later, content="Half a sentence") | token).json()
    response = signed_in.send(f"{later['page']}/merge", {"other": ticket["mask"]}, page=f"{later['page']}/merge")
    assert place(response) == ticket["page"]
    assert place(signed_in.get(later["page"])) == ticket["page"], "the old mask leads on"
    assert "Half a sentence" in signed_in.get(ticket["page"]).text
    form = answer_to(later, content="A whole sentence", draft=str(kept["draft"]), revision=kept["revision"])
    told = signed_in.post(f"{later['page']}/draft", form | token).json()
    assert told["draft"] == kept["draft"], "a tab that stood open goes on writing"


@names(("do", "status"), [("send", 303), ("discard", 422)])
def test_text_of_another_tab_is_preserved(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], do: str, status: int
) -> None:
    token = {"_xsrf": signed_in.token(ticket["page"])}
    path = f"{ticket['page']}/draft"
    first = signed_in.post(path, answer_to(ticket, content="One") | token).json()
    known = {"draft": str(first["draft"]), "revision": first["revision"]}
    signed_in.post(path, answer_to(ticket, content="Words of the other tab", **known) | token)
    response = signed_in.post(f"{ticket['page']}/answer", answer_to(ticket, content="One", do=do, **known) | token)
    assert response.status_code == status
    assert "Words of the other tab" in signed_in.get(ticket["page"]).text.partition('id="answer"')[2]
    newest = nora.record("draft", first["draft"], "content").ok()
    assert newest["content"] == "Words of the other tab"


def test_only_the_seen_revision_of_a_draft_is_discarded(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    token = {"_xsrf": signed_in.token(ticket["page"])}
    kept = signed_in.post(f"{ticket['page']}/draft", answer_to(ticket) | token).json()
    form = answer_to(ticket, do="discard", draft=str(kept["draft"]), revision=kept["revision"])
    assert signed_in.post(f"{ticket['page']}/answer", form | token).status_code == 303
    assert nora.search("draft", f"id:{kept['draft']}").ok()["total"] == 0


def test_a_missing_draft_is_reported_and_its_text_stays(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    token = {"_xsrf": signed_in.token(ticket["page"])}
    kept = signed_in.post(f"{ticket['page']}/draft", answer_to(ticket) | token).json()
    nora.remove("draft", kept["draft"]).ok()
    form = answer_to(ticket, content="Words of mine", draft=str(kept["draft"]), revision=kept["revision"])
    shown = signed_in.post(f"{ticket['page']}/answer", {**form, "do": "draft"} | token)
    assert shown.status_code in (303, 422)
    assert "Words of mine" in (shown.text if shown.status_code == 422 else signed_in.get(ticket["page"]).text)


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The data of a service that was killed during a reply, and the ticket."""
    server = Server(tmp_path / "data")
    nora = server.set_up()
    people(nora)
    nora.update("worker", nora.ids["milo"], password=PASSWORD).ok()
    ticket = mailed(nora, "Pump")
    milo = Visitor(server.url)
    milo.sign_in("milo@desk.example")
    form = answer_to(ticket, content="Not yet sent", cc="bo@kite.example") | {"_xsrf": milo.token(ticket["page"])}
    assert milo.post(f"{ticket['page']}/draft", form).json()["draft"]
    server.kill()
    yield tmp_path / "data", ticket


def test_a_draft_survives_a_kill_of_the_service(killed: tuple[Path, dict[str, Any]]) -> None:
    data, ticket = killed
    server = Server(data)
    milo = Visitor(server.url)
    milo.sign_in("milo@desk.example")
    page = milo.get(ticket["page"]).text
    assert "Not yet sent" in page and "bo@kite.example" in page
    assert server.stop() == 0
