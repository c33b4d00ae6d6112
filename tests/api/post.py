"""A running helpdesk with a mail server, for tests of mail over HTTP. It does not test what records look like."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NamedTuple

from tests.service import Api, Reply, Server, people
from tests.smtp_server import SmtpServer

SENDER = "support@localhost"  # default sender of a new helpdesk, whose address is an IP number
WRITTEN = ("ticket", "message", "draft", "address", "comment", "activity_log", "attachment", "notification")
Form = list[tuple[str, Any]]
_numbers = itertools.count(1)


FILE_BYTES = 8 * 1024 * 1024  # largest part of a file in a mail that is stored


class Mail(NamedTuple):
    """A mail that the helpdesk sent, with its envelope."""

    sender: str
    recipients: tuple[str, ...]
    message: EmailMessage


class Post:
    """api: nora's client. smtp: the mail server that receives the helpdesk's mail."""

    def __init__(self, server: Server, api: Api, smtp: SmtpServer) -> None:
        self.server, self.api, self.smtp = server, api, smtp

    def take(self) -> Mail:
        """Returns the next mail."""
        sender, recipients, raw = self.smtp.take()
        return Mail(sender, recipients, read(raw))

    def mail(self) -> EmailMessage:
        """Returns the next mail, parsed."""
        return self.take().message

    def ticket(self, **values: Any) -> tuple[int, int]:
        """Creates a ticket without mailing anything; returns the ids of the ticket and its message."""
        known = {"group_id": self.api.ids["support"], "to": customer(), "subject": "Boat", "content": "Hello"}
        made = self.api.compose(**known | values, dont_send=1).ok()
        return made["id"], made["latest_message_id"]


def read(raw: bytes) -> EmailMessage:
    found = message_from_bytes(raw, policy=policy.default)
    assert isinstance(found, EmailMessage)
    return found


def text_of(mail: EmailMessage, kind: str = "plain") -> str:
    body = mail.get_body((kind,))
    assert body is not None
    return str(body.get_content())


def without_delivery(answer: Reply) -> dict[str, Any]:
    """Returns the record in a response of compose or reply, without the delivery state."""
    return {key: value for key, value in answer.json.items() if key != "delivery"}


def customer() -> str:
    """Returns an address that has not written before."""
    return f"ann{next(_numbers)}@kite.example"


def transport(api: Api, port: int) -> int:
    """Routes mail of the default sender to a server on this port; returns the transport's id."""
    params = {"host": "127.0.0.1", "port": port, "encryption": "none", "timeout": 5}
    id = api.create("mail_transport", name="Relay", extension_id="core.mail.transport.smtp", params=params).ok()["id"]
    (sender,) = api.found("address", f"email:{SENDER}")
    api.update("address", sender, mail_transport_id=id).ok()
    return int(id)


def written(api: Api) -> dict[str, int]:
    """Returns the number of records of each type, to compare before and after a request that must change nothing."""
    return {uri: api.search(uri, "", limit=1).ok()["total"] for uri in WRITTEN}


def names(answer: Reply, field: str, code: str = "ERROR_PARAM_INVALID") -> None:
    """Asserts that the response is 422 and names the parameter."""
    assert (answer.status, answer["__error"]) == (422, code), answer
    assert [each["field"] for each in answer["errors"]] == [field] and field in answer["message"]


def requesters(api: Api, ticket_id: int) -> list[str]:
    shown = api.record("ticket", ticket_id, expand="requester_emails").ok()["requester_emails"]
    return sorted(filter(None, shown.split(", ")))


def upload(api: Api, name: str, content: bytes, kind: str = "application/octet-stream") -> int:
    """Uploads a file as browsers do; returns its id."""
    response = api.call(
        "POST", "/rest/attachments/upload.json", data={"file_name": name}, files={"content": (name, content, kind)}
    )
    return int(response.ok()["file_id"])


@contextmanager
def post_office(folder: Path) -> Iterator[Post]:
    """A helpdesk with its people that delivers mail to a mail server of the tests."""
    with SmtpServer() as smtp:
        server = Server(folder / "data", env={"HELPDESK_MAIL_FILE_BYTES": str(FILE_BYTES)})
        try:
            api = server.set_up()
            people(api)
            transport(api, smtp.port)
            yield Post(server, api, smtp)
        finally:
            code = server.stop()
        assert code == 0
