"""The form of a group offers the addresses that can send: those with a mail transport, and those of our domains."""

import pytest

from tests.console.visitor import Visitor, text_of
from tests.service import Api

NULL = "core.mail.transport.null"
NEW = "/admin/people/groups/new"


@pytest.mark.parametrize("path", [NEW, "/admin/people/groups/{support}"])
def test_a_group_can_choose_an_address_on_the_default_transport(path: str, signed_in: Visitor, nora: Api) -> None:
    path = path.format(support=nora.ids["support"])
    sales, foreign = (f"sales{len(path)}@localhost", f"sales{len(path)}@kite.example")
    for email in (sales, foreign):
        nora.create("address", email=email).ok()
    default = {"email": "support@localhost", "transport": "0", "is_default": "1"}
    signed_in.send("/admin/mail/senders", default, page="/admin/mail")
    made = nora.create("mail_transport", name="Nowhere", extension_id=NULL, params={}).ok()["id"]
    try:
        assert sales not in text_of(signed_in.get(path).text)
        signed_in.send("/admin/mail/default", {"transport": str(made)}, page="/admin/mail")
        page = signed_in.get(path)
        assert page.status_code == 200
        assert "The default sender (support@localhost)" in text_of(page.text)
        assert sales in text_of(page.text) and foreign not in text_of(page.text)
    finally:
        signed_in.send("/admin/mail/default", {"transport": "0"}, page="/admin/mail")
        nora.remove("mail_transport", made).ok()
