"""A mail server that accepts connections and never responds: the desk continues, stops in time, and sends the mail
later."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.service import Api, Server
from tests.smtp_server import SmtpServer

THREADS = 4
REPLIES = 3 * THREADS
ENV = {"HELPDESK_WORKER_THREADS": str(THREADS), "HELPDESK_INLINE_STEPS": "0", "HELPDESK_STOP_SECONDS": "2"}


@pytest.fixture
def silent() -> Iterator[SmtpServer]:
    with SmtpServer() as server:
        server.hang()
        yield server


def by(api: Api, mail: SmtpServer) -> int:
    """The id of an address whose mail leaves through a mail server."""
    params = {"host": mail.host, "port": str(mail.port), "timeout": "300"}
    made = api.create("mail_transport", name="Relay", extension_id="core.mail.transport.smtp", params=params).ok()
    return int(api.create("address", email=f"help{mail.port}@desk.example", mail_transport_id=made["id"]).ok()["id"])


def group_by(api: Api, mail: SmtpServer) -> int:
    """The id of a group whose mail leaves through a mail server."""
    return int(api.create("group", name=f"Group {mail.port}", reply_address_id=by(api, mail)).ok()["id"])


def compose(api: Api, group: int, n: int = 0, **values: str) -> None:
    made = Api(api.url, api.token).compose(
        group_id=group, to=f"ann{n}@kite.example", subject="Boat", content="Hello", **values
    )
    assert made.ok()["_type"] == ("draft" if values else "ticket")


def test_the_desk_goes_on_while_a_mail_server_hangs(data: Path, silent: SmtpServer) -> None:
    """More mails hang than there are threads for requests: searches, and mail through another server, still work."""
    server = Server(data, env=ENV)
    with SmtpServer() as other:
        api = server.set_up()
        hanging, quick = group_by(api, silent), group_by(api, other)
        with ThreadPoolExecutor(REPLIES) as clients:
            all_made = [clients.submit(compose, api, hanging, n) for n in range(REPLIES)]
            assert silent.wait_for_hanging(1)
            assert api.search("ticket").ok()["total"] >= 1
            for made in all_made:
                made.result()
        assert silent.messages == []
        assert api.search("draft", "is.queued:yes").ok()["total"] == REPLIES
        assert api.search("comment").ok()["total"] == 0  # none has failed
        compose(api, quick)
        assert other.take().recipients == ("ann0@kite.example",)
        silent.go_on()
        sent = {silent.take().recipients[0] for _ in range(REPLIES)}
    assert sent == {f"ann{n}@kite.example" for n in range(REPLIES)}
    assert server.stop() == 0


@pytest.mark.parametrize("values", [{}, {"send_at": "+1 second"}])
def test_a_server_stops_while_mail_hangs_and_sends_it_after_the_next_start(
    data: Path, silent: SmtpServer, values: dict[str, str]
) -> None:
    """Mail is sent by a request or by the scheduler, on daemon threads."""
    server = Server(data, env=ENV)
    api = server.set_up()
    compose(api, group_by(api, silent), **values)
    assert silent.wait_for_hanging(1)
    assert server.stop() == 0
    assert "Traceback" not in data.with_name(f"{data.name}.log").read_text()
    silent.go_on()
    again = Server(data, env=ENV)
    assert silent.take().recipients == ("ann0@kite.example",)
    assert again.stop() == 0
