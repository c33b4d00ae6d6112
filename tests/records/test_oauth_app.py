"""OAuth apps and mail transports: secrets that are stored and never shown."""

import hashlib
import re

import pytest

from server.errors import Conflict, Forbidden, Invalid, Required

APP = {"name": "Stock", "callback_url": "https://stock.example/back\nhttp://127.0.0.1/back"}
SMTP = {"host": "mail.example", "port": "587", "encryption": "starttls", "username": "desk", "password": "s3cret-word"}


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_id_and_secret_are_generated_and_the_secret_is_shown_once(desk):
    shown = desk.create("oauth_app", **APP)
    assert re.fullmatch("[a-z0-9]{32}", shown["client_id"])
    assert re.fullmatch("[a-z0-9]{64}", shown["client_secret"])
    row = desk.row("oauth_app", shown["id"])
    assert row["client_secret_hash"] == digest(shown["client_secret"])
    assert shown["client_secret"] not in str(row)
    again = desk.record("oauth_app", shown["id"])
    assert [name for name in again if "secret" in name] == []


def test_a_secret_that_was_sent_is_hashed_and_not_shown(desk):
    shown = desk.create("oauth_app", client_secret="chosen", client_id="stock", **APP)
    assert "client_secret" not in shown
    assert desk.row("oauth_app", shown["id"])["client_secret_hash"] == digest("chosen")
    with pytest.raises(Conflict, match="client_id"):
        desk.create("oauth_app", client_id="STOCK", **APP)


def test_a_blank_client_id_is_generated_once_and_stays(desk):
    shown = desk.create("oauth_app", client_id="", **APP)
    assert len(shown["client_id"]) == 32
    assert desk.update("oauth_app", shown["id"], client_id="")["client_id"] == shown["client_id"]


def test_a_new_secret_leaves_the_previous_one_valid(desk):
    first = desk.create("oauth_app", **APP)
    assert "client_secret" not in desk.update("oauth_app", first["id"], name="Stocks")
    second = desk.update("oauth_app", first["id"], client_secret="")
    row = desk.row("oauth_app", first["id"])
    assert row["client_secret_hash"] == digest(second["client_secret"])
    assert row["previous_secret_hash"] == digest(first["client_secret"])


def test_a_public_app_has_no_secret_until_it_becomes_confidential(desk):
    shown = desk.create("oauth_app", is_public=1, **APP)
    assert "client_secret" not in shown and desk.row("oauth_app", shown["id"])["client_secret_hash"] == ""
    assert "client_secret" in desk.update("oauth_app", shown["id"], is_public=0)
    desk.update("oauth_app", shown["id"], is_public=1)
    row = desk.row("oauth_app", shown["id"])
    assert (row["client_secret_hash"], row["previous_secret_hash"]) == ("", "")


def test_scopes_are_api_by_default(desk):
    shown = desk.create("oauth_app", **APP)
    assert shown["scopes"].startswith('"api":')
    with pytest.raises(Invalid, match="scopes"):
        desk.update("oauth_app", shown["id"], scopes="a: [")
    with pytest.raises(Invalid, match="scopes"):
        desk.update("oauth_app", shown["id"], scopes="")


def test_any_callback_except_an_empty_one_is_accepted(desk):
    assert desk.create("oauth_app", name="A", callback_url="myapp:back")["callback_url"] == "myapp:back"
    with pytest.raises(Required):
        desk.create("oauth_app", name="A", callback_url="")


def test_only_administrators_see_apps_and_transports(desk, ids):
    app = desk.create("oauth_app", **APP)["id"]
    desk.create("mail_transport", name="Out", extension_id="core.mail.transport.null")
    assert desk.found("oauth_app", "", by=ids["milo"]) == desk.found("mail_transport", "", by=ids["milo"]) == []
    with pytest.raises(Forbidden):
        desk.record("oauth_app", app, by=ids["milo"])


# -- mail transports


def smtp(desk, **params):
    return desk.create("mail_transport", name="Out", extension_id="core.mail.transport.smtp", params=SMTP | params)


def test_settings_are_stored_and_never_shown(desk):
    shown = smtp(desk)
    assert "params" not in shown and "s3cret-word" not in str(shown)
    assert desk.row("mail_transport", shown["id"])["params"]["password"] == "s3cret-word"


@pytest.mark.parametrize("params", [{"host": ""}, {"port": "many"}, {"encryption": "rot13"}, {"colour": "red"}])
def test_settings_that_the_transport_refuses_are_refused(desk, params):
    with pytest.raises(Invalid, match="params"):
        smtp(desk, **params)


def test_smtp_needs_settings(desk):
    with pytest.raises(Invalid, match="params"):
        desk.create("mail_transport", name="Out", extension_id="core.mail.transport.smtp")
    with pytest.raises(Invalid, match="extension_id"):
        desk.create("mail_transport", name="Out", extension_id="core.mail.transport.pigeon")


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        ({"timeout": "9"}, True),
        ({"host": "evil.example"}, False),
        ({"username": "x"}, False),
        ({"encryption": "tls"}, True),
        ({"encryption": "none"}, False),
    ],
)
def test_an_omitted_password_stays_for_the_same_login(desk, changed, kept):
    id = smtp(desk)["id"]
    params = {name: value for name, value in SMTP.items() if name != "password"}
    desk.update("mail_transport", id, params=params | changed)
    assert ("password" in desk.row("mail_transport", id)["params"]) is kept


def test_a_deleted_transport_is_removed_from_its_addresses(desk):
    id = smtp(desk)["id"]
    address = desk.create("address", email="help@desk.example", mail_transport_id=id)["id"]
    desk.delete("mail_transport", id)
    assert desk.row("address", address)["mail_transport_id"] == 0
