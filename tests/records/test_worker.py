"""Workers: their address, password, administrators, and the references to a deleted one."""

import pytest

from server import passwords
from server.access.logins import WORKER_LOGIN
from server.errors import Conflict, Forbidden, Invalid, Required
from server.people import profile

WORKER = {"first_name": "Ana", "language": "en_US", "timezone": "Europe/Prague"}


def login_of(desk, id):
    row = desk.read(lambda tx: tx.first(WORKER_LOGIN, worker_id=id))
    return row and (row[WORKER_LOGIN.position["password_hash"]], row[WORKER_LOGIN.position["changed_at"]])


def test_an_address_is_created_from_its_text_and_belongs_to_the_worker(desk, ids):
    ana = desk.create("worker", email="Ana@Desk.example", **WORKER)
    address = desk.record("address", ana["address_id"])
    assert (address["email"], address["worker_id"]) == ("ana@desk.example", ana["id"])


def test_a_known_address_is_accepted_by_id_and_no_longer_sends(desk, ids):
    transport = desk.create("mail_transport", name="None", extension_id="core.mail.transport.null")["id"]
    address = desk.create("address", email="ana@desk.example", mail_transport_id=transport)["id"]
    ana = desk.create("worker", email_id=address, **WORKER)
    assert ana["address_id"] == address
    assert desk.row("address", address)["mail_transport_id"] == 0


def test_address_id_stands_for_email_id(desk, ids):
    address = desk.create("address", email="ana@desk.example")["id"]
    assert desk.create("worker", address_id=address, **WORKER)["address_id"] == address


def test_an_address_of_another_worker_is_refused(desk, ids):
    with pytest.raises(Conflict, match="belongs to"):
        desk.create("worker", email="milo@desk.example", **WORKER)
    milo_address = desk.record("worker", ids["milo"])["address_id"]
    with pytest.raises(Conflict, match="belongs to"):
        desk.create("worker", email_id=milo_address, **WORKER)
    with pytest.raises(Conflict, match="belongs to"):
        desk.update("worker", ids["olga"], email_ids=[milo_address])


def test_an_address_that_a_group_sends_from_is_refused(desk, ids):
    transport = desk.create("mail_transport", name="None", extension_id="core.mail.transport.null")["id"]
    address = desk.create("address", email="help@desk.example", mail_transport_id=transport)["id"]
    desk.update("group", ids["support"], reply_address_id=address)
    with pytest.raises(Conflict, match=f"group {ids['support']} sends"):
        desk.create("worker", email_id=address, **WORKER)


def test_an_address_is_required_and_stays_required(desk, ids):
    with pytest.raises(Required):
        desk.create("worker", **WORKER)
    with pytest.raises(Required):
        desk.update("worker", ids["milo"], email="")


def test_additional_addresses_replace_the_previous_ones(desk, ids):
    first, second = (desk.create("address", email=f"{name}@desk.example")["id"] for name in ("one", "two"))
    desk.update("worker", ids["milo"], email_ids=[first])
    desk.update("worker", ids["milo"], email_ids=[second])
    main = desk.record("worker", ids["milo"])["address_id"]
    shown = desk.record("worker", ids["milo"], expand="emails")["emails"]
    assert sorted(shown) == sorted(str(id) for id in (main, second))
    assert desk.row("address", first)["worker_id"] == 0


def test_a_password_is_stored_as_a_hash_apart_from_the_worker(desk, ids):
    shown = desk.update("worker", ids["milo"], password="correct horse")
    stored, changed_at = login_of(desk, ids["milo"])
    assert passwords.verify(stored, "correct horse") and changed_at > 0
    assert not passwords.verify(stored, "correct house")
    assert "password" not in shown and not [name for name in desk.row("worker", ids["milo"]) if "password_hash" in name]


def test_a_password_is_hashed_before_the_transaction(registry):
    prepared = registry.type("worker").before({"password": "correct horse", "title": "x"})
    assert isinstance(prepared["password"], passwords.HashedPassword) and prepared["title"] == "x"
    assert passwords.verify(prepared["password"].text, "correct horse")
    assert "argon2" not in repr(prepared)


@pytest.mark.parametrize("password", ["short", "x" * 256])
def test_a_password_out_of_bounds_is_refused(desk, ids, password):
    with pytest.raises(Invalid, match="password"):
        desk.update("worker", ids["milo"], password=password)
    assert login_of(desk, ids["milo"]) is None


def test_a_blank_password_changes_nothing(desk, ids):
    desk.update("worker", ids["milo"], password="correct horse")
    before = login_of(desk, ids["milo"])
    desk.update("worker", ids["milo"], password="", title="Clerk")
    assert login_of(desk, ids["milo"]) == before


@pytest.mark.parametrize("fields", [{"is_superuser": 0}, {"is_disabled": 1}])
def test_the_last_administrator_stays_one(desk, ids, fields):
    with pytest.raises(Conflict, match="last administrator"):
        desk.update("worker", ids["nora"], **fields)
    desk.update("worker", ids["milo"], is_superuser=1)
    desk.update("worker", ids["nora"], **fields)


def test_the_last_administrator_and_oneself_cannot_be_deleted(desk, ids):
    with pytest.raises(Conflict, match="last administrator"):
        desk.delete("worker", ids["nora"])
    desk.update("worker", ids["milo"], is_superuser=1)
    with pytest.raises(Conflict, match="yourself"):
        desk.delete("worker", ids["nora"], by=ids["nora"])
    desk.delete("worker", ids["nora"], by=ids["milo"])


def test_only_administrators_write_workers(desk, ids):
    with pytest.raises(Forbidden):
        desk.update("worker", ids["milo"], by=ids["milo"], is_superuser=1)
    with pytest.raises(Forbidden):
        desk.create("worker", by=ids["milo"], email="ana@desk.example", **WORKER)


def test_references_to_a_deleted_worker_are_cleared(desk, ids):
    milo = ids["milo"]
    task = desk.create("task", title="Count the stock", owner_id=milo)["id"]
    address = desk.record("worker", milo)["address_id"]
    desk.create("notification", worker_id=milo, activity_point="custom.other", params={"message": "Look"})
    desk.delete("worker", milo)
    assert desk.record("task", task)["owner_id"] == 0
    assert desk.row("address", address)["worker_id"] == 0
    assert desk.found("notification", "") == []
    assert desk.record("group", ids["support"], expand="members")["members"] == {}


def test_me_is_the_caller(desk, ids):
    assert desk.found("worker", "me", by=ids["milo"]) == [ids["milo"]]
    assert desk.found("worker", "milo") == [ids["milo"]]
    assert desk.found("worker", "berg") == [ids["nora"]]


def test_a_worker_has_a_name_and_shows_groups_and_roles(desk, ids):
    role = desk.create("role", name="Clerks", member_query_worker="firstName:milo")["id"]
    shown = desk.record("worker", ids["nora"], expand="groups")
    assert (shown["_label"], shown["full_name"], shown["groups"]) == ("Nora Berg", "Nora Berg", {})
    shown = desk.record("worker", ids["milo"], expand="groups,roles")
    assert [each["name"] for each in shown["groups"].values()] == ["Support"]
    assert list(shown["roles"]) == [str(role)]


@pytest.mark.parametrize(
    "name", [{"first_name": "NORA", "last_name": "berg"}, {"first_name": "Nora Berg", "last_name": ""}]
)
def test_a_worker_cannot_take_the_name_of_another_worker(desk, ids, name):
    milo, known = desk.context(ids["milo"]), {"first_name": "Milo", "last_name": ""}
    with pytest.raises(Conflict, match="another worker's name"):
        profile.change(milo, name)
    desk.update("worker", ids["olga"], **known)  # an administrator may; afterwards an unchanged name is valid
    profile.change(milo, known | {"timezone": "Asia/Tokyo"})
    assert desk.record("worker", ids["milo"])["timezone"] == "Asia/Tokyo"
