"""Rows of tickets: the requester, the subject, the latest author and the first words of the message."""

import csv
import io
import re
from typing import Any

from tests.api.minimal import number
from tests.console.test_worklist import headers
from tests.console.visitor import Visitor, text_of
from tests.service import Api


def received(nora: Api, body: str, subject: str, sender: str = "Rosa Row <rosa@rows.example>") -> dict[str, Any]:
    raw = f"From: {sender}\nSubject: {subject}\nMessage-Id: <{number()}@rows.example>\n\n{body}"
    return nora.parse(raw.encode()).ok().json


def words(row: str) -> str:
    """Its text as a reader sees it."""
    return text_of(row).replace(" :", ":")


def row(visitor: Visitor, subject: str) -> str:
    """The HTML of the only row whose ticket has this subject."""
    page = visitor.get("/inbox", params={"v": "open", "q": f'subject:"{subject}"'})
    [found] = re.findall(r"<tr>\s*<td class=\"check\">.*?</tr>", page.text, re.DOTALL)
    return str(found)


def test_a_row_shows_the_requester_and_the_first_words(signed_in: Visitor, nora: Api) -> None:
    received(nora, "Dear team,\n\nthe pump\nleaks.\n\nOn Monday Ida wrote:\n> It runs.\n-- \nRosa", "Pump of Monday")
    shown = row(signed_in, "Pump of Monday")
    assert "Rosa Row" in text_of(shown) and "the pump leaks." in text_of(shown)
    assert not any(each in text_of(shown) for each in ("Dear team", "It runs", "Ida wrote"))
    assert "unanswered" in shown and "waiting for a reply" in text_of(shown)


def test_a_row_leaves_out_what_stands_for_pictures(signed_in: Visitor, nora: Api) -> None:
    received(nora, "[cid:logo.png@01DB.8F]\nHi,\n\n[image: pump.png]\nthe pump [1] leaks.", "Pump with a logo")
    shown = words(row(signed_in, "Pump with a logo"))
    assert "the pump [1] leaks." in shown and "logo.png" not in shown and "image:" not in shown


def test_a_row_names_who_wrote_last(signed_in: Visitor, nora: Api) -> None:
    id = received(nora, "It leaks.", "Pump of Tuesday")["id"]
    nora.post(
        "/rest/tickets/reply.json", ticket_id=id, content="A **new** [seal](https://kite.example) is on its way."
    ).ok()
    mine = row(signed_in, "Pump of Tuesday")
    assert "You: A new seal is on its way." in words(mine) and "unanswered" not in mine
    nora.as_("milo").post("/rest/tickets/reply.json", ticket_id=id, content="It left today.").ok()
    assert "Milo: It left today." in words(row(signed_in, "Pump of Tuesday"))
    mask = nora.record("ticket", id)["mask"]
    received(nora, "I work with Rosa. Thanks!", f"[#{mask}] Pump of Tuesday", "Bo <bo@rows.example>")
    answered = row(signed_in, "Pump of Tuesday")
    assert "Bo: I work with Rosa. Thanks!" in words(answered) and "unanswered" in answered


def test_a_row_escapes_what_people_write(signed_in: Visitor, nora: Api) -> None:
    received(nora, "<script>alert(1)</script> & more", "<b>Pump</b> of Friday", '"<i>Eve</i>" <eve@rows.example>')
    shown = row(signed_in, "<b>Pump</b> of Friday")
    assert "<script" not in shown and "<i>" not in shown and "<b>Pump" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in shown


def test_columns_without_a_difference_are_left_out(signed_in: Visitor, nora: Api) -> None:
    for name in ("Port", "Starboard"):
        received(nora, "It squeaks.", f"Rowlock {name}")
    listed = {"v": "open", "q": "subject:Rowlock*"}

    def shown(**more: str) -> list[str]:
        return headers(signed_in.get("/inbox", params={**listed, **more}).text)

    assert shown() == ["Ticket", "Updated"]
    assert shown(columns="_label,state,owner") == ["Ticket", "Status", "Owner"], "these were asked for"
    [first, *_] = nora.search("ticket", "subject:Rowlock*").ok()["results"]
    nora.update("ticket", first["id"], owner_id=nora.ids["milo"]).ok()
    assert shown() == ["Ticket", "Owner", "Updated"]
    file = signed_in.get("/inbox", params={**listed, "format": "csv"}).text.lstrip("\ufeff")
    assert next(csv.reader(io.StringIO(file))) == ["id", "_label", "state", "place", "owner", "updated"]


def test_a_row_counts_messages_and_marks_a_draft(signed_in: Visitor, nora: Api) -> None:
    ticket = received(nora, "It drips.", "Pump of Sunday")
    assert 'class="count"' not in row(signed_in, "Pump of Sunday")
    nora.post("/rest/tickets/reply.json", ticket_id=ticket["id"], content="Since when?").ok()
    shown = row(signed_in, "Pump of Sunday")
    assert "2 messages" in text_of(shown) and "Draft" not in text_of(shown)
    page = f"/tickets/{ticket['mask']}"
    [message, *_] = nora.found("message", f"ticket.id:{ticket['id']}")
    form = {"kind": "reply", "message": str(message), "content": "Half a sen", "_xsrf": signed_in.token(page)}
    assert signed_in.post(f"{page}/draft", form).status_code == 200
    assert "Draft" in text_of(row(signed_in, "Pump of Sunday"))
