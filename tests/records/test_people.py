"""Addresses, contacts and organizations: their relations, and that words of one find the others."""

import pytest

from server.errors import AdminOnly, Conflict, Forbidden, Invalid, Required
from server.mailroom import mail_setup


@pytest.fixture
def everyone(desk, ids):
    desk.create("role", name="Everyone", privs_mode="all", member_query_worker="isDisabled:no")
    return ids


def test_an_address_is_stored_in_lower_case_with_its_domain(desk):
    shown = desk.create("address", email="Ana@KITE.example", host="nonsense")
    assert shown["email"] == shown["address"] == "ana@kite.example" and shown["host"] == "kite.example"
    assert shown["is_contact"] is False and "_label" not in shown
    assert desk.update("address", shown["id"], email="ana@lark.example")["host"] == "lark.example"
    assert desk.found("address", "lark") == [shown["id"]] and desk.found("address", "kite") == []


@pytest.mark.parametrize(
    ("email", "error"),
    [("ana", Invalid), ("", Required), ("a@x.example, b@x.example", Invalid), ("ANA@x.example", Conflict)],
)
def test_invalid_new_addresses_are_refused(desk, email, error):
    desk.create("address", email="ana@x.example")
    with pytest.raises(error):
        desk.create("address", email=email)


def a_ticket(desk, **fields):
    return desk.create(
        "ticket", subject="Boat", group_id=desk.create("group", name="Boats")["id"], expand="requesters", **fields
    )


WRITTEN = "Joe Kite <Joe@Kite.example>"
WRITES = {
    "address": lambda desk: desk.create("address", email=WRITTEN)["id"],
    "address changed": lambda desk: desk.update(
        "address", desk.create("address", email="a@x.example")["id"], email=WRITTEN
    )["id"],
    "contact": lambda desk: desk.create("contact", first_name="Joe", email=WRITTEN)["email_id"],
    "worker": lambda desk: desk.create("worker", first_name="Joe", email=WRITTEN, language="en_US", timezone="UTC")[
        "address_id"
    ],
    "message": lambda desk: desk.create(
        "message", ticket_id=a_ticket(desk)["id"], sender=WRITTEN, content="Hi", headers="A: b"
    )["sender_id"],
    "sender of ours": lambda desk: (
        mail_setup.set_sender(desk.context(), WRITTEN, 0, True),
        desk.found("address", "email:joe@kite.example")[0],
    )[1],
    "ticket": lambda desk: int(next(iter(a_ticket(desk, participants=WRITTEN)["requesters"]))),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("is_known", (False, True), ids=("new", "known"))
def test_an_address_with_a_display_name_is_found_by_its_address(desk, ids, write, is_known):
    known = desk.create("address", email="joe@kite.example")["id"] if is_known else 0
    if (is_known and write is WRITES["address"]) or (is_known and write is WRITES["address changed"]):
        with pytest.raises(Conflict):
            write(desk)
        return
    written = write(desk)
    assert desk.row("address", written)["email"] == "joe@kite.example" and written == (known or written)


@pytest.mark.parametrize(
    "text", ("a@x.example, b@x.example", "Joe <joe>", "Kite, Joe <joe@x.example>", "Joe joe@x.example", " <> ")
)
def test_ambiguous_addresses_are_refused(desk, text):
    for uri, fields in (("address", {}), ("contact", {"first_name": "Joe"})):
        with pytest.raises(Invalid, match="is not an email address"):
            desk.create(uri, email=text, **fields)


def test_white_space_is_not_an_address(desk, ids):
    for fields in ({"email": "  "}, {"email": "\t"}):
        with pytest.raises(Invalid):
            desk.update("worker", ids["milo"], **fields)
        with pytest.raises(Invalid):
            desk.create("address", **fields)


def test_an_address_gets_the_organization_of_its_contact_by_default(desk):
    contact = desk.create("contact", first_name="Ana", org="Kite")["id"]
    org = desk.row("contact", contact)["org_id"]
    assert desk.create("address", email="a@x.example", contact_id=contact)["org_id"] == org
    assert desk.create("address", email="b@x.example", contact_id=contact, org_id=0)["org_id"] is None
    lark = desk.create("address", email="c@x.example", contact_id=contact, org="Lark")
    assert lark["org_id"] not in (0, org)
    assert desk.update("address", lark["id"], org="")["org_id"] is None


def test_only_administrators_change_addresses_of_workers_and_of_the_desk(desk, everyone):
    made = desk.create("address", email="a@x.example")["id"]
    assert desk.update("address", made, by=everyone["milo"], is_banned=1)["is_banned"] == 1
    with pytest.raises(AdminOnly):
        desk.update("address", made, by=everyone["milo"], worker_id=everyone["nora"])
    assert desk.update("address", made, by=everyone["nora"], worker_id=everyone["olga"])["worker_id"]


def test_only_administrators_delete_an_address(desk, everyone):
    made = desk.create("address", email="a@x.example")["id"]
    with pytest.raises(Forbidden):
        desk.delete("address", made, by=everyone["milo"])
    desk.delete("address", made, by=everyone["nora"])
    assert desk.found("address", "email:a@x.example") == []


def test_a_contact_gets_its_address(desk):
    shown = desk.create("contact", first_name="Ana", last_name="Kite", email="Ana@Kite.example", expand="email_,emails")
    address = shown["email_id"]
    assert shown["name"] == shown["_label"] == "Ana Kite"
    assert shown["email_contact_id"] == shown["id"] and shown["emails"] == {str(address): "ana@kite.example"}
    assert desk.record("address", address, expand="_label")["_label"] == "Ana Kite <ana@kite.example>"
    names = desk.record("address", address, expand="full_name")
    assert (names["first_name"], names["last_name"], names["full_name"]) == ("Ana", "Kite", "Ana Kite")


@pytest.mark.parametrize("by_id", [True, False])
def test_an_address_is_the_main_one_of_one_contact_only(desk, by_id):
    address = desk.create("address", email="ana@kite.example")["id"]
    desk.create("contact", first_name="Ana", email_id=address)
    fields = {"email_id": address} if by_id else {"email": "ana@kite.example"}
    with pytest.raises(Conflict):
        desk.create("contact", first_name="Bob", **fields)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"first_name": ""}, Required), ({"dob": "1980-13-01"}, Invalid), ({"gender": "X"}, Invalid),
        ({"timezone": "Mars/Base"}, Invalid), ({"language": "klingon"}, Invalid), ({"updated_at": 5}, Invalid),
        ({"language": "xx_US"}, Invalid), ({"language": "en_QQ"}, Invalid), ({"language": "en_Qqqq_US"}, Invalid),
    ],
)  # fmt: skip
def test_invalid_contacts_are_refused(desk, fields, error):
    with pytest.raises(error):
        desk.create("contact", **{"first_name": "Ana"} | fields)


def test_words_of_one_find_the_others_after_a_change(desk):
    contact = desk.create("contact", first_name="Ana", email="ana@kite.example", org="Kite")["id"]
    row = desk.row("contact", contact)
    desk.update("contact", contact, last_name="Lindqvist")
    desk.update("org", row["org_id"], name="Ostrava Tiles")
    desk.update("address", row["email_id"], email="ana@ostrava.example")
    assert desk.found("address", "lindqvist") == desk.found("address", "tiles") == [row["email_id"]]
    assert desk.found("contact", "tiles") == desk.found("contact", "ana@ostrava.example") == [contact]
    assert desk.found("contact", "ana@kite.example") == []


def test_references_to_a_deleted_record_are_cleared(desk, ids):
    contact = desk.create("contact", first_name="Ana", email="ana@kite.example", org="Kite")["id"]
    row = desk.row("contact", contact)
    ticket = desk.create("ticket", subject="Pump", group_id=ids["support"], org_id=row["org_id"])["id"]
    desk.delete("org", row["org_id"])
    assert desk.row("contact", contact)["org_id"] == desk.row("ticket", ticket)["org_id"] == 0
    assert desk.row("address", row["email_id"])["org_id"] == 0
    desk.delete("contact", contact)
    assert desk.row("address", row["email_id"])["contact_id"] == 0


def test_two_organizations_may_have_one_name(desk):
    first, second = (desk.create("org", name="Kite")["id"] for _ in range(2))
    assert desk.found("org", "kite") == [first, second]
    with pytest.raises(Invalid):
        desk.create("org", name="Kite", website="ftp://kite.example")


@pytest.mark.parametrize("language", ("en_US", "de", "pt-BR", "zh_Hant_TW", "es_419", "fil_PH", "sq_XK", "en_NA"))
def test_a_known_language(desk, ids, language):
    assert desk.update("worker", ids["milo"], language=language)["language"] == language
    assert desk.create("contact", first_name="Ana", language=language)["language"] == language


@pytest.mark.parametrize("language", ("xx", "xx_US", "en_QQ", "en_Qqqq", "EN_us", "klingon", "en_999"))
def test_an_unknown_language_is_refused(desk, ids, language):
    with pytest.raises(Invalid, match="language"):
        desk.update("worker", ids["milo"], language=language)


@pytest.mark.parametrize("text", ["Ann\nBcc: x@y", "Ann\n", "\rAnn", "Ann\u2028", "Ann\x85"])
@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("worker", "first_name"), ("worker", "last_name"), ("worker", "title"), ("contact", "first_name"),
        ("contact", "last_name"), ("contact", "title"), ("org", "name"), ("group", "name"), ("group", "reply_personal"),
        ("bucket", "name"), ("bucket", "reply_personal"),
    ],
)  # fmt: skip
def test_names_used_in_mail_headers_are_one_line(desk, uri, name, text):
    with pytest.raises(Invalid) as refused:
        desk.registry.type(uri).fields[name].coerce(text, None)
    assert refused.value.message == f"{name}: must be one line; remove the line breaks"
