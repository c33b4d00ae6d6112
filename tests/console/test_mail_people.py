"""The authors of email on the page of its ticket: names, unverified workers, and authors of forwarded email."""

from typing import Any

from tests.api.post import customer
from tests.console.visitor import Visitor, text_of
from tests.service import Api

FORWARD = """please handle

---------- Forwarded message ---------
From: Carl Customer <AUTHOR>
Date: Tue, 24 Nov 2026 at 09:00
Subject: Pump broken

The pump is broken.
"""


def received(nora: Api, sender: str, text: str = "It leaks.", **headers: str) -> tuple[int, str]:
    """Delivers a mail; returns the id of the ticket, and its path."""
    named = {"From": sender, "To": "support@localhost", "Subject": f"Boat of {sender}"} | headers
    head = "".join(f"{name}: {value}\n" for name, value in named.items())
    made = nora.parse(f"{head}\n{text}\n".encode()).ok()
    return made["id"], f"/tickets/{made['mask']}"


def requesters(nora: Api, id: int) -> list[Any]:
    return [each["email"] for each in nora.record("ticket", id, expand="requesters").ok()["requesters"].values()]


def test_a_customer_is_shown_by_name(signed_in: Visitor, nora: Api) -> None:
    email = customer()
    _id, path = received(nora, f'"Kite, Ann" <{email}>')
    page = signed_in.get(path).text
    assert '<strong dir="auto">Ann Kite</strong>' in page and f"Ann Kite {email}" in text_of(page)
    assert "submitted an email" not in text_of(page) and "unproven sender" not in text_of(page)


def test_a_forged_worker_address_is_marked_and_sets_no_name(signed_in: Visitor, nora: Api) -> None:
    _id, path = received(nora, "The Boss <milo@desk.example>")
    page = signed_in.get(path).text
    assert "unproven sender" in text_of(page) and "The Boss" not in page.partition("<h1")[2].replace(
        "Boat of The Boss", ""
    )


def test_the_author_of_a_forwarded_email_replaces_the_worker_and_back(signed_in: Visitor, nora: Api) -> None:
    email = customer()
    id, path = received(nora, "milo@desk.example", FORWARD.replace("AUTHOR", email), Subject="Fwd: Pump broken")
    page = signed_in.get(path).text
    assert "Make them the requester" in page and f"&lt;{email}&gt;" in page
    message = nora.record("ticket", id).ok()["initial_message_id"]
    assert signed_in.send(f"{path}/requester/original", {"message": message}, page=path).status_code == 303
    assert requesters(nora, id) == [email] and "Make them the requester" not in signed_in.get(path).text
    undo = {"email": email, "before": "milo@desk.example"}
    assert signed_in.send(f"{path}/requester/original/undo", undo, page=path).status_code == 303
    assert requesters(nora, id) == ["milo@desk.example"]
