"""The devices of an account over HTTP: turning one on, its choices, quiet hours, and what others cannot do."""

from collections.abc import Iterator

import pytest

from server.access import push_devices
from server.notifying.quiet_hours import QUIET_HOURS
from server.records.notification_push import DEFAULT_KINDS
from tests.console.visitor import Visitor, place, text_of
from tests.push_service import AGENT, FakeBrowser
from tests.records.desk import Desk
from tests.service import PASSWORD, Api

NAME, PLACE = "Chrome on Android", "/account#notified"


@pytest.fixture
def ines(visitor: Visitor, nora: Api, desk: Desk) -> Iterator[Visitor]:
    """A worker whose phone is notified."""
    email = "ines.notified@desk.example"
    made = nora.create(
        "worker", first_name="Ines", email=email, language="en_US", timezone="Europe/Zurich", password=PASSWORD
    ).ok()
    nora.ids["ines"] = made["id"]
    visitor.session.headers["User-Agent"] = AGENT
    assert visitor.sign_in(email).status_code == 303
    browser = FakeBrowser("https://push.example/ines")
    assert place(visitor.send("/account/notified", browser.fields, page="/account")) == PLACE
    yield visitor
    nora.remove("worker", made["id"]).ok()


def device_of(desk: Desk, nora: Api) -> push_devices.PushDevice:
    [device] = desk.read(lambda tx: push_devices.of_worker(tx, nora.ids["ines"]))
    return device


def test_a_device_is_listed_and_can_be_tested_and_removed(ines: Visitor, nora: Api, desk: Desk) -> None:
    path = f"/account/notified/{device_of(desk, nora).id}"
    assert f"{NAME} ● this one" in text_of(ines.get("/account").text).replace("  ", " ")
    shown = text_of(nora.session.get(f"{ines.url}/account", timeout=60).text)
    assert NAME not in shown
    assert place(ines.send(f"{path}/test", page="/account")) == PLACE
    assert f"A test is on its way to {NAME}." in text_of(ines.get("/account").text)
    again = ines.send(f"{path}/test", page="/account")
    assert again.status_code == 429 and "The push service needs a pause" in again.text
    assert place(ines.send(f"{path}/remove", page="/account")) == PLACE
    assert f"{NAME} is no longer notified." in text_of(ines.get("/account").text)
    assert ines.send(f"{path}/remove", page="/account").status_code == 404


def test_each_device_has_its_own_choice(ines: Visitor, nora: Api, desk: Desk) -> None:
    device = device_of(desk, nora)
    path, name = f"/account/notified/{device.id}", f"pushed-{device.id}[]"
    assert device.kinds == DEFAULT_KINDS
    assert place(ines.send(path, {name: ["due", "note"]}, page="/account")) == PLACE
    assert device_of(desk, nora).kinds == ("note", "due")
    assert f'name="{name}" value="assigned"' in ines.get("/account").text
    wrong = ines.send(path, {name: ["nosuch"]}, page="/account")
    assert wrong.status_code == 422 and "Choose some of assigned" in wrong.text
    assert place(ines.send(path, {}, page="/account")) == PLACE
    assert device_of(desk, nora).kinds == ()


def test_quiet_hours_are_stored(ines: Visitor, nora: Api, desk: Desk) -> None:
    form = {"quiet": "1", "quiet_from": "21:30", "quiet_until": "06:00", "quiet_days[]": ["5", "6"]}
    assert place(ines.send("/account/quiet-hours", form, page="/account")) == PLACE
    row = desk.read(lambda tx: tx.first(QUIET_HOURS, worker_id=nora.ids["ines"]))
    assert row is not None and row[1:] == (1, 21 * 60 + 30, 6 * 60, "56")
    page = ines.get("/account").text
    assert 'value="21:30"' in page and "Times are in your time zone, Europe/Zurich." in page
    for wrong in ({"quiet_from": "25:00"}, {"quiet_until": "noon"}, {"quiet_until": "21:30"}):
        refused = ines.send("/account/quiet-hours", form | wrong, page="/account")
        assert refused.status_code == 422 and f'id="{next(iter(wrong))}-error"' in refused.text, wrong


def test_forms_of_other_sites_and_other_workers_change_nothing(ines: Visitor, nora: Api, desk: Desk) -> None:
    device = device_of(desk, nora)
    for path in ("", f"/{device.id}", f"/{device.id}/test", f"/{device.id}/remove"):
        address = f"/account/notified{path}"
        assert ines.post(address, {}, headers={"Origin": "https://evil.example"}).status_code == 403, path
        assert ines.post(address, {"endpoint": "https://evil.example/"}).status_code == 403, path  # no form token
    milo = Visitor(ines.url)
    assert milo.sign_in("milo@desk.example").status_code == 303
    for path in ("", "/test", "/remove"):
        assert milo.send(f"/account/notified/{device.id}{path}", page="/account").status_code == 404, path
    thief = FakeBrowser(device.subscription.endpoint, auth=b"f" * 16)
    taken = milo.send("/account/notified", thief.fields, page="/account")
    assert taken.status_code == 422 and "Another account is notified" in taken.text
    assert device_of(desk, nora) == device


def test_a_wrong_address_is_explained(ines: Visitor) -> None:
    fields, keys = FakeBrowser("https://push.example/other").fields, "keys of this browser cannot be read"
    for wrong, message in (
        ({"endpoint": "http://push.example/"}, "must be https"),
        ({"endpoint": "https://10.0.0.1/"}, "10.0.0.1 is not on the public internet"),
        ({"p256dh": "A"}, keys),
        ({"auth": ""}, keys),
    ):
        refused = ines.send("/account/notified", fields | wrong, page="/account")
        assert refused.status_code == 422 and message in refused.text, wrong


def test_administrators_see_devices_and_sign_them_out(ines: Visitor, nora: Api, desk: Desk, signed_in: Visitor) -> None:
    path = f"/admin/people/{nora.ids['ines']}"
    assert f"Notified devices {NAME}," in text_of(signed_in.get(path).text).replace("  ", " ")
    assert signed_in.send(f"{path}/sign-out", page=path).status_code == 303
    assert desk.read(lambda tx: push_devices.of_worker(tx, nora.ids["ines"])) == []
    assert ines.get("/account").status_code == 303
