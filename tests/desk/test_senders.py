"""The sender of a group's mail: the default sender, which it follows, or an address that can send."""

from typing import Any

import pytest

from server.errors import Invalid
from server.first_start import setup
from server.mailroom import mail_setup
from server.records import records
from server.records.service_settings import put
from server.upkeep import checkup_mail
from tests.desk.conftest import Post
from tests.smtp_server import SmtpServer

NULL = "core.mail.transport.null"


def warnings(desk: Post) -> list[str]:
    found = checkup_mail.of_mail(desk.service, desk.now, lambda what, look: None)
    return [str(each.found) for each in found if each.state == "warning"]


def default_transport(desk: Post, server: SmtpServer) -> int:
    params = {"host": server.host, "port": str(server.port), "timeout": "60"}
    fields = {"name": "Relay", "extension_id": "core.mail.transport.smtp", "params": params}
    return int(records.create(desk.context(desk.nora), "mail_transport", fields)["id"])


def group(desk: Post, **fields: Any) -> int:
    return int(records.create(desk.context(desk.nora), "group", {"name": "Sales", **fields})["id"])


def test_groups_follow_the_default_sender(desk: Post) -> None:
    with SmtpServer() as smtp:
        default_transport(desk, smtp)
        later = group(desk)
        desk.compose()
        assert smtp.take()[0] == "support@desk.example"
        mail_setup.set_sender(desk.context(desk.nora), "help@kite.example", 0, is_default=True)
        for id in (desk.support, later):
            desk.compose(group_id=id)
            assert smtp.take()[0] == "help@kite.example"
        assert desk.shown("group", later)["replyto_id"] == 0


def test_an_address_on_the_default_transport_can_be_chosen(desk: Post) -> None:
    sales = desk.address("sales@desk.example")
    with pytest.raises(Invalid, match="has no mail transport, and the service has no default one"):
        group(desk, reply_address_id=sales)
    assert desk.shown("group", group(desk, reply_address_id=desk.sender))["replyto_id"] == desk.sender
    with SmtpServer() as smtp:
        default_transport(desk, smtp)
        id = group(desk, name="Sales 2", reply_address_id=sales)
        _, ticket = desk.compose(group_id=id)
        assert smtp.take()[0] == "sales@desk.example"
        listed = {each.email: each.transport_id for each in mail_setup.senders(desk.context(desk.nora))}
        assert listed == {"support@desk.example": 0, "sales@desk.example": 0}
        desk.add_requester(ticket, "sales@desk.example")  # a mail to all addresses may do this
        desk.reply(desk.received(ticket))
        assert smtp.take()[1] == ("ann@kite.example",)


@pytest.mark.parametrize("address", ["nora@desk.example", 999])
def test_an_address_that_cannot_be_a_sender_is_refused(desk: Post, address: str | int) -> None:
    with SmtpServer() as smtp:
        default_transport(desk, smtp)
        id = desk.address(address) if isinstance(address, str) else address
        with pytest.raises(Invalid, match="reply_address_id"):
            group(desk, reply_address_id=id)


@pytest.mark.parametrize(
    ("copies", "left"),
    [(["Support", "Sales", "Parts"], []), (["Sales", "Parts"], ["Sales"]), ([], [])],
)
def test_copies_of_the_default_sender_follow_it_after_an_upgrade(
    desk: Post, copies: list[str], left: list[str]
) -> None:
    """Mail to that address still goes to the same place: Support is the default group."""
    for name in ("Sales", "Parts"):
        group(desk, name=name)
    for each in desk.all("group"):
        if each["name"] in copies:
            desk.write(lambda writing, id=each["id"]: writing.set("group", id, {"reply_address_id": desk.sender}))
    desk.write(lambda writing: put(writing.tx, setup.FOLLOWS_KEY, False))
    setup.prepare(desk.context())
    assert [each["name"] for each in desk.all("group") if each["reply_address_id"]] == left
    sales = desk.one("group", name="Sales")["id"]
    desk.write(lambda writing: writing.set("group", sales, {"reply_address_id": desk.sender}))
    setup.prepare(desk.context())
    assert desk.one("group", name="Sales")["reply_address_id"] == desk.sender  # only once: a later choice stays


def test_the_check_up_names_groups_without_a_reply_address_or_transport(desk: Post) -> None:
    assert warnings(desk) == ["no mail transport is configured: mail is waiting"]
    mail_setup.set_sender(desk.context(desk.nora), "support@localhost", 0, is_default=True)
    assert "nobody outside can reply to email from Support (support@localhost)" in warnings(desk)
    mail_setup.set_sender(desk.context(desk.nora), "support@desk.example", 0, is_default=True)
    way = desk.create("mail_transport", name="Nowhere", extension_id=NULL)  # never the default by itself
    assert warnings(desk) == ["no mail transport accepts email from Support (support@desk.example)"]
    mail_setup.set_default_transport(desk.context(desk.nora), way)
    assert warnings(desk) == []
    desk.write(lambda writing: writing.set("bucket", desk.inbox, {"reply_address_id": desk.address("box@depot")}))
    assert warnings(desk) == ["nobody outside can reply to email from Inbox (box@depot)"]
