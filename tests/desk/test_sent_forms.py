"""Sent contact forms: limits for networks and addresses, tokens and their age, files that are too old, automations."""

import hashlib
from typing import Any

import pytest

from server.errors import Invalid, TooLarge, TooMany
from server.help_center import contact_forms, form_tokens, submitting, visitor_files
from server.help_center.contact_forms import PublicForm
from server.help_center.form_tokens import FormToken
from server.help_center.form_values import CheckedForm
from server.record_types.shared import brands
from server.store.blobs import BLOB
from tests.desk.conftest import Post

DAY = 86400


@pytest.fixture
def form(desk: Post) -> PublicForm:
    brand = desk.create("brand", name="Kite", languages="en", is_public=1)
    id = desk.create("contact_form", name="Write to us", brand_id=brand, group_id=desk.support, is_on=1, has_files=1)
    found = contact_forms.form_by_id(desk.service, id)
    assert found is not None
    return found


def token(desk: Post, form: PublicForm) -> FormToken:
    return form_tokens.new_token(desk.service, form.id, desk.now)


def send(desk: Post, form: PublicForm, by: FormToken | None = None, confirms: bool = False, **given: str) -> str:
    network = given.pop("network", "192.0.2.1")
    values: dict[str, Any] = {
        "name": "Ann",
        "email": "ann@kite.example",
        "subject": "Boat",
        "message": "Leaks.",
    } | given
    (brand,) = desk.read(brands.all_brands)
    submission = submitting.submission(
        desk.context(),
        form,
        by or token(desk, form),
        CheckedForm(**values, customs={}),
        network=network,
        confirms=confirms,
    )
    outcome: str = desk.service.store.write(submission.ready(brand, "en"))
    return outcome


def file(desk: Post, by: FormToken, content: bytes = b"x", network: str = "192.0.2.1") -> visitor_files.WaitingFile:
    return visitor_files.store(
        desk.service, by, network, desk.now, name="a.txt", mime_type="text/plain", content=content
    )


def test_a_network_and_an_address_send_a_number_of_forms_an_hour(desk, form):
    desk.set(contact_forms_per_hour=3)
    for number in range(3):
        assert send(desk, form, email=f"a{number}@kite.example") == "ticket"
    with pytest.raises(TooMany):
        send(desk, form, email="b@kite.example")
    send(desk, form, email="b@kite.example", network="192.0.2.2")
    desk.now += 3601
    send(desk, form, email="b@kite.example")
    desk.set(contact_forms_per_hour=0)
    for number in range(form_tokens.MAX_HOURLY_OF_ADDRESS - 1):
        send(desk, form, email="b@kite.example", network=f"198.51.100.{number}")
    with pytest.raises(TooMany):
        send(desk, form, email="B@kite.example", network="203.0.113.1")


def test_networks_and_addresses_are_stored_as_digests(desk, form):
    send(desk, form)
    (row,) = desk.read(lambda tx: tx.find(form_tokens.SENT_FORM))
    assert "192.0.2.1" not in str(row) and "ann@" not in str(row)


def test_a_token_belongs_to_its_form_and_expires(desk, form):
    issued = token(desk, form)

    def read(form_id: int, text: str, later: int = 0) -> FormToken | None:
        return form_tokens.token_of(desk.service, form_id, text, desk.now + later)

    assert read(form.id, issued.text) == issued and issued.age(desk.now + 5) == 5
    assert read(form.id, issued.text, DAY) == issued and read(form.id, issued.text, DAY + 1) is None
    assert read(form.id + 1, issued.text) is None and read(form.id, issued.text, -3600) is None
    forged = issued.text.replace(f".{issued.issued_at}.", f".{issued.issued_at + 1}.")
    assert read(form.id, forged) is None and read(form.id, "") is None


def test_a_proof_is_bound_to_its_token(desk, form):
    issued, number = token(desk, form), 0
    while int.from_bytes(hashlib.sha256(f"{issued.text}:{number}".encode()).digest()[:8], "big") >> 47:
        number += 1
    assert form_tokens.is_proven(issued, str(number))
    assert not form_tokens.is_proven(token(desk, form), str(number)) and not form_tokens.is_proven(issued, "")


def test_files_without_a_form_are_deleted_with_their_bytes(desk, form):
    used, unused = token(desk, form), token(desk, form)
    file(desk, used, b"used")
    file(desk, unused, b"unused")
    send(desk, form, used)
    (attachment,) = desk.all("attachment")
    assert attachment["name"] == "a.txt" and visitor_files.waiting(desk.service, used) == []
    before = len(desk.read(lambda tx: tx.find(BLOB)))
    assert visitor_files.forget_old(desk.service, desk.now + visitor_files.RETAINED_SECONDS - 1) is not None
    assert len(visitor_files.waiting(desk.service, unused)) == 1
    assert visitor_files.forget_old(desk.service, desk.now + visitor_files.RETAINED_SECONDS) is None
    assert visitor_files.waiting(desk.service, unused) == []
    assert len(desk.read(lambda tx: tx.find(BLOB))) == before - 1


def test_files_of_a_form_and_of_a_network_are_bounded(desk, form):
    issued = token(desk, form)
    for _ in range(visitor_files.MAX_FORM_FILES):
        file(desk, issued)
    with pytest.raises(Invalid, match="at most 10 files"):
        file(desk, issued)
    desk.set(max_attachment_bytes=2048)
    other = token(desk, form)
    file(desk, other, b"x" * 2000)
    with pytest.raises(TooLarge):
        file(desk, other, b"x" * 100)
    desk.set(max_attachment_bytes=10**9)
    most = visitor_files.max_bytes(desk.service)
    for _ in range(visitor_files.MAX_NETWORK_BYTES // most - 1):
        file(desk, token(desk, form), b"x" * most, "198.51.100.7")
    file(desk, token(desk, form), b"x" * most, "198.51.100.7")
    with pytest.raises(TooMany):
        file(desk, token(desk, form), b"x" * most, "198.51.100.7")


def test_an_unconfirmed_form_is_deleted(desk, form):
    issued = token(desk, form)
    assert send(desk, form, issued, confirms=True) == "mail" and desk.all("ticket") == []
    assert len(desk.read(lambda tx: tx.find(submitting.WAITING_FORM))) == 1
    submitting.forget_waiting(desk.service, desk.now + visitor_files.RETAINED_SECONDS)
    assert desk.read(lambda tx: tx.find(submitting.WAITING_FORM)) == []
    assert send(desk, form, issued, confirms=True) == "mail", "a repeated form says the same and stores nothing"
    assert desk.read(lambda tx: tx.find(submitting.WAITING_FORM)) == []


def test_a_form_whose_group_is_gone_goes_the_usual_way(desk, form):
    desk.update("contact_form", form.id, group_id=999)
    found = contact_forms.form_by_id(desk.service, form.id)
    assert send(desk, found) == "ticket" and desk.one("ticket")["group_id"] == desk.support
