"""Mail that workers submit through the parser: the author of its words, the response, and the logged submitter."""

from collections.abc import Iterator

import pytest

from tests.api.post import customer
from tests.service import Api

NOTHING = {"id": 0, "mask": "", "last_message_id": 0}


def mail(sender: str, text: str = "It leaks.", **headers: str) -> bytes:
    named = {"From": sender, "To": "support@localhost", "Subject": "Boat"} | headers
    return ("".join(f"{name.replace('_', '-')}: {value}\n" for name, value in named.items()) + f"\n{text}\n").encode()


def ids(answer: dict[str, object]) -> dict[str, object]:
    return {name: answer[name] for name in NOTHING}


@pytest.fixture(scope="module")
def private(nora: Api) -> Iterator[int]:
    """A group that only nora may read."""
    id = int(nora.create("group", name="Board", is_private=1).ok()["id"])
    yield id
    nora.update("group", id, is_private=0).ok()


@pytest.mark.parametrize("sender", ["nora@desk.example", "milo@desk.example", "olga@desk.example"])
@pytest.mark.parametrize("caller", ["nora", "milo", "olga"])
def test_mail_of_a_worker_is_theirs_only_if_they_submitted_it(
    nora: Api, actors: dict[str, Api], sender: str, caller: str
) -> None:
    made = actors[caller].parse(mail(sender, Subject=f"Boat of {sender}, by {caller}")).ok()
    message = nora.record("message", made["last_message_id"]).ok()
    is_own = sender.startswith(caller) and caller != "nora"  # an administrator submits mail that a mail server accepted
    assert message["worker_id"] == (nora.ids[caller] if is_own else 0) and message["is_outgoing"] == 0
    assert any("nothing proves" in note for note in message["notes"]) is not is_own
    assert any(f"worker {nora.ids[caller]}" in note for note in message["notes"]) is (caller != "nora")


def test_the_submitter_of_a_mail_is_in_the_log(nora: Api, actors: dict[str, Api]) -> None:
    email = customer()
    made = actors["milo"].parse(mail(email)).ok()
    found = nora.search("activity_log", f"target.ticket:(id:{made['id']}) sort:id", expand="_label").ok()["results"]
    told = {each["activity_point"]: (each["_label"], each["actor_id"]) for each in found}
    label, actor_id = told["ticket.message.handed_in"]
    assert actor_id == nora.ids["milo"] and email in label and label.startswith("Milo")
    assert "ticket.message.inbound" in told


def test_an_unreadable_ticket_is_not_revealed(nora: Api, actors: dict[str, Api], private: int) -> None:
    email = customer()
    id = f"m.{email}"
    made = nora.parse(mail(email, Message_ID=f"<{id}>")).ok()
    nora.update("ticket", made["id"], group_id=private).ok()
    reply = mail(email, "And again.", In_Reply_To=f"<{id}>", Message_ID=f"<2.{id}>")
    for raw in (reply, reply, mail(customer(), Subject=f"Re: [#{made['mask']}]"), mail(email, Message_ID=f"<{id}>")):
        assert ids(actors["olga"].parse(raw).ok().json) == NOTHING
    assert nora.record("ticket", made["id"]).ok()["num_messages"] == 3
    assert ids(nora.parse(reply).ok().json)["id"] == made["id"]


def test_a_name_in_from_becomes_a_contact_that_is_shown_everywhere(nora: Api) -> None:
    email = customer()
    made = nora.parse(mail(f'"Kite, Ann" <{email}>')).ok()
    shown = nora.record("ticket", made["id"], expand="requesters").ok()["requesters"]
    assert [each["name"] for each in shown.values()] == ["Ann Kite"]
    message = nora.record("message", made["last_message_id"], expand="sender_").ok()
    assert (message["from_name"], message["sender__label"]) == ("Kite, Ann", f"Ann Kite <{email}>")
    assert message["sender_display_name"] == "Kite, Ann"
    assert len(nora.found("contact", f'"Ann Kite" email:(email:{email})')) == 1
    assert len(nora.found("address", f"email:{email} kite")) == 1
