"""Mailboxes: their values, and a password that is never shown."""

import pytest

from server.errors import AdminOnly, Forbidden, HelpdeskError

MAILBOX = {"name": "Support", "host": "mail.desk.example", "username": "support", "password": "s3cret"}


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"name": ""}, "name"), ({"host": ""}, "host"), ({"host": "mail example"}, "host"), ({"port": 0}, "port"),
        ({"port": 65536}, "port"), ({"protocol": "smtp"}, "protocol"), ({"protocol": ""}, "protocol"),
        ({"username": ""}, "username"), ({"timeout_secs": 3601}, "timeout_secs"), ({"password": "x" * 129}, "password"),
        ({"connected_account_id": 99}, "connected_account_id"), ({"is_enabled": "5"}, "is_enabled"),
    ],
)  # fmt: skip
def test_invalid_values_are_refused_by_name(desk, fields, name):
    with pytest.raises(HelpdeskError, match=f"^{name}"):
        desk.create("mailbox", **MAILBOX | fields)
    made = desk.create("mailbox", **MAILBOX)["id"]
    with pytest.raises(HelpdeskError, match=f"^{name}"):
        desk.update("mailbox", made, **fields)


def test_omitted_values_have_their_default(desk):
    shown = desk.create("mailbox", **MAILBOX)
    assert (shown["protocol"], shown["port"], shown["is_enabled"], shown["num_fails"]) == ("pop3", 110, 1, 0)


def test_the_password_is_stored_and_not_shown(desk):
    shown = desk.create("mailbox", **MAILBOX)
    assert "s3cret" not in str(shown) and "password" not in shown
    assert desk.row("mailbox", shown["id"])["password"] == "s3cret"
    desk.update("mailbox", shown["id"], name="Other")
    assert desk.row("mailbox", shown["id"])["password"] == "s3cret"
    with pytest.raises(HelpdeskError, match="password"):
        desk.found("mailbox", "password:s3cret")
    with pytest.raises(HelpdeskError, match="password"):
        desk.found("mailbox", "sort:password")


@pytest.mark.parametrize(
    "elsewhere", [{"host": "evil.example"}, {"port": 995}, {"username": "other"}, {"protocol": "pop3"}]
)
def test_the_password_is_sent_to_no_other_server_or_login(desk, elsewhere):
    id = desk.create("mailbox", **MAILBOX, protocol="imap-ssl")["id"]
    with pytest.raises(HelpdeskError, match=r"^password must be sent again"):
        desk.update("mailbox", id, **elsewhere)
    desk.update("mailbox", id, password="new", **elsewhere)
    assert desk.row("mailbox", id)["password"] == "new"


def test_only_administrators_use_mailboxes(desk, ids):
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    id = desk.create("mailbox", by=ids["nora"], **MAILBOX)["id"]
    assert desk.found("mailbox", "", by=ids["milo"]) == []
    with pytest.raises(Forbidden):
        desk.record("mailbox", id, by=ids["milo"])
    with pytest.raises(AdminOnly):
        desk.create("mailbox", by=ids["milo"], **MAILBOX)
