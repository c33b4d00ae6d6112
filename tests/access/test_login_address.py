"""The address that a worker signs in with: however it is changed, the previous address counts until the worker opens a
link sent to the new one."""

import json
from collections.abc import Callable, Iterator

import pytest

from server.access import lockout
from server.context import Context
from server.errors import AdminOnly, Conflict, Invalid, NotAuthenticated, NotFound
from server.jobs.job_queue import JOB
from server.mail.mail_bytes import OutgoingMail
from server.people import login_following
from server.record_types.shared import entries
from server.sign_in import late_links, login_address, password_change, sign_in, sign_in_administration
from server.sign_in.login_address import CONFIRM_SECONDS, CONFIRM_SUBJECT, NOTICE_SUBJECT
from tests import databases
from tests.access.test_sign_in import PASSWORD, PEER
from tests.records.desk import NOW, Desk

OLD, NEW = "milo@desk.example", "milo.new@desk.example"
NORA = 1  # id of the first worker of a desk


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    made = Desk(tmp_path_factory.mktemp("address"))
    assert made.worker("Nora", is_superuser=1, password=PASSWORD) == NORA
    yield made
    made.close()


@pytest.fixture
def milo(desk: Desk) -> Iterator[int]:
    """A worker for one test; his addresses, mail and log entries are removed afterwards."""
    id = desk.worker("Milo", password=PASSWORD)
    yield id
    if desk.found("worker", f"id:{id}"):
        desk.delete("worker", id)
    gone = ("draft", "address", "activity_log")
    tables = [desk.registry.type(uri).table for uri in gone]
    for row in desk.read(lambda tx: tx.find(tables[1])):
        if row[0] != desk.row("worker", NORA)["email_id"]:
            desk.store.write(lambda tx, id=row[0]: tx.delete(tables[1], id=id))
    for table in (tables[0], tables[2], JOB, lockout.ATTEMPT):
        desk.store.write(lambda tx, table=table: tx.delete(table))


def by(desk: Desk, worker_id: int, seconds: int = 0) -> Context:
    ctx = desk.context(worker_id)
    return Context(ctx.service, ctx.actor, NOW + seconds, ctx.tz)


def by_text(desk: Desk, milo: int) -> None:
    desk.update("worker", milo, by=NORA, email=NEW)


def by_id(desk: Desk, milo: int) -> None:
    desk.update("worker", milo, by=NORA, email_id=desk.create("address", email=NEW)["id"])


def by_rename(desk: Desk, milo: int) -> None:
    desk.update("address", desk.row("worker", milo)["email_id"], by=NORA, email=NEW)


def by_service(desk: Desk, milo: int) -> None:
    """Changes the address as scripts, packages and jobs do."""
    desk.update("address", desk.row("worker", milo)["email_id"], email=NEW)


def by_themself(desk: Desk, milo: int) -> None:
    login_address.request(by(desk, milo), f" Milo <{NEW.upper()}> ", PASSWORD)


WAYS = [by_text, by_id, by_rename, by_service, by_themself]
Way = Callable[[Desk, int], None]


def mails(desk: Desk) -> list[tuple[int, str, str, str]]:
    """Runs the jobs that create mails; returns (draft id, to, subject, text) of each."""
    for row in desk.read(lambda tx: tx.find(JOB, kind=login_following.KIND)):
        payload = json.loads(row[JOB.position["payload"]])
        login_address._send_mails(desk.service, payload, NOW)
        desk.store.write(lambda tx, id=row[0]: tx.delete(JOB, id=id))
    record_type = desk.registry.type("draft")
    drafts = [record_type.record(row) for row in desk.read(lambda tx: tx.find(record_type.table))]
    return [(each["id"], each["to"], each["name"], each["params"]["content"]) for each in drafts]


def code(desk: Desk, seconds: int = 0) -> str:
    """Returns the code of the link in the last confirmation mail, as sent."""
    id, to, _, text = [each for each in mails(desk) if each[2] == CONFIRM_SUBJECT][-1]
    sent = late_links.fill_link(by(desk, 0, seconds), id, letter(to, text)).text
    return sent.partition("/confirm-address/")[2].split()[0]


def letter(to: str, text: str) -> OutgoingMail:
    return OutgoingMail("a@b", NOW, "", "desk@desk.example", (("", to),), "", text, "", "")


def signs_in(desk: Desk, email: str) -> bool:
    try:
        return bool(sign_in.by_password(by(desk, 0), email, PASSWORD, PEER))
    except NotAuthenticated:
        return False


def linked_to(desk: Desk, milo: int) -> set[str]:
    """Returns the addresses that a link for a forgotten password is sent to, for either name."""
    for email in (OLD, NEW):
        password_change.ask_for_link(by(desk, 0), email, PEER)
    desk.store.write(lambda tx: None)  # the request does not wait for its writes
    for row in desk.read(lambda tx: tx.find(JOB, kind=password_change.KIND)):
        password_change._send_link(desk.service, json.loads(row[JOB.position["payload"]]), NOW)
        desk.store.write(lambda tx, id=row[0]: tx.delete(JOB, id=id))
    return {to for _, to, subject, _ in mails(desk) if subject == password_change.SUBJECT}


def log_entries(desk: Desk) -> list[tuple[str, str]]:
    """Returns (point, text) of the log entries about sign-in addresses, in order."""
    return [
        (each["activity_point"].rpartition(".")[2], entries.plain_text(each["params"]))
        for each in desk.log()
        if each["activity_point"].startswith("worker.login_address.")
    ]


@pytest.mark.parametrize("way", WAYS)
def test_until_confirmation_the_previous_address_counts(desk: Desk, milo: int, way: Way) -> None:
    way(desk, milo)
    assert signs_in(desk, OLD) and not signs_in(desk, NEW)
    assert linked_to(desk, milo) == {OLD}
    assert {(to, subject) for _, to, subject, _ in mails(desk)} >= {(NEW, CONFIRM_SUBJECT), (OLD, NOTICE_SUBJECT)}
    sign_in_administration.invite(by(desk, NORA), milo)
    assert [to for _, to, subject, _ in mails(desk) if subject == sign_in_administration.SUBJECT] == [OLD]


@pytest.mark.parametrize("way", WAYS)
def test_after_confirmation_the_new_address_counts(desk: Desk, milo: int, way: Way) -> None:
    way(desk, milo)
    link = desk.store.write(lambda tx: password_change.password_links.create(tx, milo, NOW))
    login_address.confirm(by(desk, milo), code(desk))
    assert signs_in(desk, NEW) and not signs_in(desk, OLD) and linked_to(desk, milo) == {NEW}
    assert desk.record("worker", milo, expand="address_")["address_email"] == NEW
    with pytest.raises(NotFound):
        password_change.worker_of_link(desk.service, link, NOW)
    assert [point for point, _ in log_entries(desk)] == ["asked", "changed"]
    assert log_entries(desk)[-1][1] == f"Milo changed the sign-in address of Milo from {OLD} to {NEW}"


def test_additional_addresses_cannot_be_used_to_sign_in(desk: Desk, milo: int) -> None:
    """They were never confirmed, whether the worker or an administrator added them."""
    desk.update("worker", milo, by=NORA, email_ids=[desk.create("address", email=NEW)["id"]])
    assert signs_in(desk, OLD) and not signs_in(desk, NEW) and linked_to(desk, milo) == {OLD}


def test_the_log_names_the_worker_who_requested_the_change(desk: Desk, milo: int) -> None:
    by_rename(desk, milo)
    assert log_entries(desk) == [("asked", f"Nora requested that Milo sign in with {NEW} instead of {OLD}")]
    [changed] = desk.log("address.email.changed")
    assert entries.plain_text(changed["params"]) == f"Nora changed the address {OLD} to {NEW}"


def test_a_link_works_once_for_some_days_and_only_for_its_worker(desk: Desk, milo: int) -> None:
    by_text(desk, milo)
    first = code(desk)
    for worker_id, at in ((NORA, 0), (milo, CONFIRM_SECONDS)):
        with pytest.raises(NotFound):
            login_address.confirm(by(desk, worker_id, at), first)
    second = code(desk)
    for wrong in (first, "", "x" * 300):
        with pytest.raises(NotFound):
            login_address.confirm(by(desk, milo), wrong)
    login_address.confirm(by(desk, milo), second)
    with pytest.raises(NotFound):
        login_address.confirm(by(desk, milo), second)


def test_the_code_is_in_no_row(desk: Desk, milo: int) -> None:
    by_text(desk, milo)
    found = databases.everything(desk.service.settings.data).values()
    assert any(b"milo@desk.example" in content for content in found)
    assert not any(code(desk).encode() in content for content in found)


@pytest.mark.parametrize("way", [by_text, by_rename, by_themself])
def test_a_withdrawn_change_leaves_everything_as_it_was(desk: Desk, milo: int, way: Way) -> None:
    way(desk, milo)
    link = code(desk)
    login_address.cancel(by(desk, milo), milo)
    assert signs_in(desk, OLD) and linked_to(desk, milo) == {OLD}
    assert login_address.waiting(by(desk, milo), milo) is None
    with pytest.raises(NotFound):
        login_address.confirm(by(desk, milo), link)
    assert log_entries(desk)[-1] == ("dropped", f"Milo withdrew the request that Milo sign in with {NEW}")


def test_a_change_reverted_by_an_administrator_leaves_nothing_pending(desk: Desk, milo: int) -> None:
    by_text(desk, milo)
    desk.update("worker", milo, by=NORA, email=OLD)
    assert login_address.waiting(by(desk, NORA), milo) is None and linked_to(desk, milo) == {OLD}
    assert mails(desk)[0][2] == password_change.SUBJECT  # the reverted change caused no mail


def test_a_second_change_counts_from_the_confirmed_one(desk: Desk, milo: int) -> None:
    by_text(desk, milo)
    first = code(desk)
    desk.update("worker", milo, by=NORA, email="third@desk.example")
    assert linked_to(desk, milo) == {OLD}
    with pytest.raises(NotFound):
        login_address.confirm(by(desk, milo), first)
    assert log_entries(desk)[-1][1].endswith(f"third@desk.example instead of {OLD}")


def test_mail_that_waited_too_long_carries_no_link(desk: Desk, milo: int) -> None:
    """Links that were in the queue when the address changed no longer work."""
    password_change._send_link(desk.service, {"worker_id": milo}, NOW)
    by_text(desk, milo)
    drafts = {subject: (id, to, text) for id, to, subject, text in mails(desk)}
    login_address.confirm(by(desk, milo), code(desk))
    for subject in (password_change.SUBJECT, CONFIRM_SUBJECT):
        id, to, text = drafts[subject]
        with pytest.raises(Invalid, match="drop the email"):
            late_links.fill_link(by(desk, 0), id, letter(to, text))


def test_a_worker_without_a_password_has_no_address_to_confirm(desk: Desk, milo: int) -> None:
    """A mistyped address of a worker who never signed in is corrected at once, and the invitation goes to the new
    one."""
    ida = desk.worker("Ida")
    desk.update("worker", ida, by=NORA, email="ida.right@desk.example")
    assert login_address.waiting(by(desk, NORA), ida) is None and log_entries(desk)[-1][0] == "changed"
    sign_in_administration.invite(by(desk, NORA), ida)
    assert mails(desk)[-1][1] == "ida.right@desk.example"
    desk.delete("worker", ida)


def test_the_sign_in_address_belongs_to_no_one_else(desk: Desk, milo: int) -> None:
    by_rename(desk, milo)
    with pytest.raises(Conflict, match=f"belongs to worker {milo}"):
        desk.worker("Eve", email=OLD)
    desk.create("address", email=OLD)
    assert linked_to(desk, milo) == {OLD} and signs_in(desk, OLD)


@pytest.mark.parametrize(
    ("email", "error"),
    [
        ("nowhere", Invalid), ("a@b.example, c@d.example", Invalid), (OLD.upper(), Invalid),
        ("nora@desk.example", Conflict), ("desk@desk.example", Conflict),
    ],
)  # fmt: skip
def test_addresses_that_cannot_be_used_to_sign_in(desk: Desk, milo: int, email: str, error: type[Exception]) -> None:
    transport = desk.create("mail_transport", name="None", extension_id="core.mail.transport.null")["id"]
    address = desk.create("address", email="desk@desk.example", mail_transport_id=transport)["id"]
    desk.create("group", name="Support", reply_address_id=address)
    with pytest.raises(error):
        login_address.request(by(desk, milo), email, PASSWORD)
    with pytest.raises(NotAuthenticated):
        login_address.request(by(desk, milo), NEW, "wrong")
    assert login_address.waiting(by(desk, milo), milo) is None and mails(desk) == []


def test_only_administrators_change_addresses_of_others(desk: Desk, milo: int) -> None:
    olga = desk.worker("Olga")
    by_text(desk, milo)
    for refused in (login_address.waiting, login_address.send_again, login_address.cancel):
        with pytest.raises(AdminOnly):
            refused(by(desk, olga), milo)
    login_address.send_again(by(desk, NORA), milo)
    assert [subject for _, _, subject, _ in mails(desk)].count(CONFIRM_SUBJECT) == 2
    desk.delete("worker", olga)


def test_deleting_a_worker_deletes_their_pending_change(desk: Desk, milo: int) -> None:
    by_text(desk, milo)
    desk.delete("worker", milo)
    assert desk.read(lambda tx: sign_in.worker_with(by(desk, 0), tx, OLD)) == 0
    assert mails(desk) == []
