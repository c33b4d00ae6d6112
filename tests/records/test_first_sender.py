"""Which address sends email by default once a mailbox has been connected."""

import pytest

from server.mailroom import mail_connection
from server.records import service_settings
from server.records.service_settings import DEFAULT_SENDER


@pytest.mark.parametrize(("email", "has_transport", "is_lacking"), [
    ("help@desk.example", False, True), ("help@desk.example", True, False), ("help@localhost", True, True),
])  # fmt: skip
def test_a_connected_address_is_offered_as_default_sender_while_none_could_send(
    desk, ids, email, has_transport, is_lacking
):
    address = desk.create("address", email=email)["id"]
    desk.store.write(lambda tx: service_settings.put(tx, DEFAULT_SENDER, address))
    if has_transport:
        desk.create("mail_transport", name="None", extension_id="core.mail.transport.null")
    assert mail_connection.lacks_sender(desk.context(ids["nora"])) == is_lacking
