"""A running helpdesk and a mail server behind it, for tests of mail through HTTP. Not for what records look like."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from tests.service import Api, Reply, Server, people
from tests.smtp_server import SmtpServer

SENDER = "support@localhost"  # of a new helpdesk, whose address is an IP number
WRITTEN = ("ticket", "message", "draft", "address", "comment", "activity_log", "attachment", "notification")
Form = list[tuple[str, Any]]
_numbers = itertools.count(1)


FILE_BYTES = 8 * 1024 * 1024  # kept at most of a file in a mail


class Post:
    """`api` is nora's client; mail that the helpdesk sends arrives at `smtp`."""

    def __init__(self, server: Server, api: Api, smtp: SmtpServer) -> None:
        self.server, self.api, self.smtp = server, api, smtp

    def take(self) -> tuple[str, tuple[str, ...], EmailMessage]:
        """The next mail: envelope sender, recipients, the mail."""
        sender, recipients, raw = self.smtp.take()
        return sender, recipients, read(raw)

    def mail(self) -> EmailMessage:
        """The next mail."""
        return self.take()[2]

    def ticket(self, **values: Any) -> tuple[int, int]:
        """A ticket that nothing was mailed for, and its message."""
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
    """The record that compose and reply answer, without what became of the mail."""
    return {key: value for key, value in answer.json.items() if key != "delivery"}


def customer() -> str:
    """An address that nobody wrote from before."""
    return f"ann{next(_numbers)}@kite.example"


def transport(api: Api, port: int) -> int:
    """Let the mail of the default sender leave by a server on this port; answers the transport's id."""
    params = {"host": "127.0.0.1", "port": port, "encryption": "none", "timeout": 5}
    id = api.create("mail_transport", name="Relay", extension_id="core.mail.transport.smtp", params=params).ok()["id"]
    (sender,) = api.found("address", f"email:{SENDER}")
    api.update("address", sender, mail_transport_id=id).ok()
    return int(id)


def written(api: Api) -> dict[str, int]:
    """How many records of each type there are: the same before and after what must leave nothing."""
    return {uri: api.search(uri, "", limit=1).ok()["total"] for uri in WRITTEN}


def names(answer: Reply, field: str, code: str = "ERROR_PARAM_INVALID") -> None:
    """The answer is 422 and names the parameter."""
    assert (answer.status, answer["__error"]) == (422, code), answer
    assert [each["field"] for each in answer["errors"]] == [field] and field in answer["message"]


def requesters(api: Api, ticket_id: int) -> list[str]:
    shown = api.record("ticket", ticket_id, expand="requester_emails").ok()["requester_emails"]
    return sorted(filter(None, shown.split(", ")))


def upload(api: Api, name: str, content: bytes, kind: str = "application/octet-stream") -> int:
    """Keep a file, sent as browsers do; answers its id."""
    answer = api.call(
        "POST", "/rest/attachments/upload.json", data={"file_name": name}, files={"content": (name, content, kind)}
    )
    return int(answer.ok()["file_id"])


@contextmanager
def post_office(folder: Path) -> Iterator[Post]:
    """A helpdesk with its people, whose mail arrives at a mail server."""
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
