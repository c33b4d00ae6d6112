"""Sent mails, and mails that a server refused, are counted by transport and sender."""

from server.record_types.shared.usage_buffer import usage_buffer
from tests.desk.conftest import Post
from tests.smtp_server import SmtpServer


def counted(desk: Post) -> list[tuple[str, dict[str, str], int]]:
    """Returns [(metric, dimensions, samples)] of mail since the last call."""
    samples = usage_buffer(desk.service.store).take().samples
    return [(key[0], dict(key[2]), each.count) for key, each in samples.items() if "mail" in key[0]]


def test_sent_mails_are_counted(desk: Post, smtp: SmtpServer) -> None:
    desk.compose()
    desk.compose()
    transport = desk.all("mail_transport")[0]["id"]
    dimensions = {"transport_id": str(transport), "sender_id": str(desk.sender)}
    assert counted(desk) == [("svc.mail.transport.deliveries", dimensions, 2)]


def test_refused_mails_are_counted(desk: Post, down: int) -> None:
    desk.compose()
    [(name, dimensions, count)] = counted(desk)
    assert (name, count) == ("svc.mail.transport.failures", 1)
    assert dimensions == {"transport_id": str(down), "sender_id": str(desk.sender)}


def test_a_mail_without_a_transport_is_not_counted(desk: Post) -> None:
    desk.compose()
    assert counted(desk) == []
