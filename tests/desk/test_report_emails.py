"""Reports by email: each week on the chosen day, in the zone of the worker, to those who may still see them."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import pytest

from server.errors import Forbidden, Invalid
from server.queries.reports import emails
from server.records import records
from tests.desk.conftest import Post
from tests.smtp_server import SmtpServer

JOBS = (emails.mail_report, emails.send_due)  # importing the module registers them
DAY = 86_400
FRIDAY, SATURDAY, MONDAY = 5, 6, 1  # the desk begins on a Friday


@pytest.fixture
def desk(desk: Post, smtp: SmtpServer) -> Post:
    desk.smtp(smtp.host, smtp.port)
    return desk


def sent(desk: Post, smtp: SmtpServer, seconds: int = 0) -> list[EmailMessage]:
    """Returns the mails that are sent by then."""
    before = len(smtp.messages)
    desk.run_due(seconds)
    desk.run_due()
    mails = [message_from_bytes(raw, policy=default) for _, _, raw in smtp.messages[before:]]
    return [each for each in mails if isinstance(each, EmailMessage)]


def part(mail: EmailMessage, kind: str) -> str:
    body = mail.get_body((kind,))
    assert body is not None
    return str(body.get_content())


def test_no_report_is_sent_without_a_choice(desk: Post, smtp: SmtpServer) -> None:
    assert sent(desk, smtp, 7 * DAY) == []


def test_a_report_is_sent_once_on_its_day(desk: Post, smtp: SmtpServer) -> None:
    desk.ticket_id(subject="Boat")
    nora = desk.context(desk.nora)
    emails.subscribe(nora, "overview", MONDAY)
    emails.subscribe(nora, "workers", FRIDAY)  # today's is not sent any more
    assert emails.weekday_of(nora, "overview") == MONDAY and emails.weekday_of(nora, "groups") == 0
    assert sent(desk, smtp) == [] and sent(desk, smtp, DAY) == []
    [mail] = sent(desk, smtp, 2 * DAY)
    assert mail["To"] == "nora@desk.example" and mail["Subject"] == "Overview, 2026-11-16 to 2026-11-22"
    assert "- Created: 1" in part(mail, "plain") and "/reports/overview" in part(mail, "plain")
    assert "/search/ticket?q=created" in part(mail, "html") and "<script" not in part(mail, "html")
    assert sent(desk, smtp) == [] and sent(desk, smtp, 3600) == []
    emails.subscribe(nora, "overview", 0)
    assert [each["Subject"] for each in sent(desk, smtp, 5 * DAY)] == ["Workers, 2026-11-20 to 2026-11-26"]  # late


def test_a_name_in_a_report_is_text(desk: Post, smtp: SmtpServer) -> None:
    group = desk.create("group", name="<b>Bold & co</b>")
    desk.create("ticket", subject="Boat", group_id=group)
    emails.subscribe(desk.context(desk.nora), "groups", SATURDAY)
    [mail] = sent(desk, smtp, DAY)
    assert "&lt;b&gt;Bold &amp; co&lt;/b&gt;" in part(mail, "html") and "<b>Bold" not in part(mail, "html")


def test_only_those_who_lead_get_reports(desk: Post, smtp: SmtpServer) -> None:
    with pytest.raises(Forbidden):
        emails.subscribe(desk.context(desk.milo), "overview", SATURDAY)
    records.update(desk.context(), "group", desk.support, {"members": {"manager": str(desk.milo)}})
    emails.subscribe(desk.context(desk.milo), "overview", SATURDAY)
    assert [each["To"] for each in sent(desk, smtp, DAY)] == ["milo@desk.example"]
    records.update(desk.context(), "group", desk.support, {"members": {"member": str(desk.milo)}})
    assert sent(desk, smtp, 7 * DAY) == []


@pytest.mark.parametrize(("name", "weekday"), [("nothing", 1), ("overview", 8), ("overview", -1)])
def test_an_unknown_report_or_day_is_refused(desk: Post, name: str, weekday: int) -> None:
    with pytest.raises(Invalid):
        emails.subscribe(desk.context(desk.nora), name, weekday)
