"""Administrators delete an address after the uses were reported; the records that used it stay."""

import pytest

from tests.api.minimal import made, number
from tests.service import Api


def path(id: int, confirm: bool = False) -> str:
    return f"/rest/records/address/{id}.json{'?confirm=1' if confirm else ''}"


def test_the_uses_of_an_address_are_reported_and_stay(api: Api) -> None:
    email = f"c{number()}@kite.example"
    ticket = api.parse(f"From: Cara <{email}>\r\nSubject: Boat\r\n\r\nHello").ok()
    [address] = api.found("address", f"email:{email}")
    refused = api.call("DELETE", path(address))
    assert refused.status == 409
    assert f"{email} is used by messages (1), tickets as requester (1)" in refused["message"], refused
    assert "Send confirm=1" in refused["message"]
    assert api.call("DELETE", path(address, confirm=True)).ok()
    assert api.record("address", address).status == 404
    message = api.record("message", ticket["last_message_id"]).ok()
    assert message["sender_id"] == 0
    shown = api.record("ticket", ticket["id"], "requesters").ok()
    assert shown["requesters"] == {} or shown["requesters"] == []
    entries = api.search("activity_log", "activity:address.deleted sort:-id", limit=1).ok()["results"]
    assert email in entries[0]["_label"]


def test_an_unused_address_is_deleted_at_once(api: Api) -> None:
    address = made(api, "address")
    assert api.as_("milo").call("DELETE", path(address, confirm=True)).status == 403
    api.call("DELETE", path(address)).ok()
    assert api.record("address", address).status == 404


@pytest.mark.parametrize("confirm", [False, True])
def test_the_address_of_a_worker_and_a_sender_cannot_be_deleted(confirm: bool, api: Api) -> None:
    [worker] = api.found("address", "email:milo@desk.example")
    [sender] = api.found("address", "email:support@localhost")
    for address, told in ((worker, "belongs to worker"), (sender, "is a sender address of the helpdesk")):
        refused = api.call("DELETE", path(address, confirm=confirm))
        assert refused.status == 409 and told in refused["message"], refused
