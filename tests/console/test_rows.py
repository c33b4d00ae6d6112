"""Lists of rows that are not records: filters, sorting, columns, selection, files; with the caller's rights."""

import csv
import io
import re

import pytest

from server.jobs.scheduler import OFF
from server.mailroom.mailboxes import dead_letters
from tests.console.visitor import Visitor, place, text_of
from tests.records.desk import Desk
from tests.service import Api

OUTBOX, FAILED = "/admin/mail/outbox", "/admin/mail/failed"
FAR = 4_000_000_000  # send time of these mails, so that none is tried during the tests


@pytest.fixture
def mails(nora: Api) -> list[int]:
    """Three mails that are scheduled far ahead, with subjects out of order."""
    made = []
    for letter in "bac":
        subject, to = f"Listed {letter}", "ana@customer.example"
        params = {"to": to, "subject": subject, "content": subject, "send_at": FAR}
        made.append(nora.create("draft", type="mail.transactional", name=subject, to=to, params=params, is_queued=1,
                                queue_delivery_date=FAR).ok()["id"])  # fmt: skip
    return made


@pytest.fixture
def letters(desk: Desk) -> list[str]:
    """Two mails that could not be accepted."""
    settings = desk.service.settings
    for name in ("one", "two"):
        dead_letters.keep(settings, f"rows-{name}", b"no mail", f"broken {name}")
    return [each.key for each in dead_letters.list_dead_letters(settings) if each.name.startswith("rows-")]


def listed(page: str) -> list[str]:
    return re.findall(r">(Listed .)</a>", page)


def test_rows_are_sorted_by_their_headers_and_columns_are_chosen(signed_in: Visitor, mails: list[int]) -> None:
    page = signed_in.get(OUTBOX, params={"sort": "-subject", "columns": "mail,updated", "limit": "100"}).text
    assert listed(page)[:3] == ["Listed c", "Listed b", "Listed a"]
    assert 'aria-sort="descending"' in page and re.findall(r'<th scope="col"[^>]*><a [^>]*>(\w+)', page) == [
        "Mail", "Updated",
    ]  # fmt: skip
    assert sorted(listed(page)) == listed(signed_in.get(OUTBOX, params={"sort": "subject", "limit": "100"}).text)
    form = {"list": OUTBOX, "back": OUTBOX, "columns[]": ["mail", "to"]}
    assert place(signed_in.send("/-/columns", form, page=OUTBOX)) == OUTBOX
    assert 'data-label="To"' in signed_in.get(OUTBOX).text
    signed_in.send("/-/columns", {**form, "usual": "1"}, page=OUTBOX)
    assert 'data-label="To"' not in signed_in.get(OUTBOX).text


@pytest.mark.parametrize("query", ["sort=nope", "columns=nope", "state=nope", "sort=id;drop", "state=nope&format=csv"])
def test_invalid_parameters_are_refused(query: str, signed_in: Visitor) -> None:
    response = signed_in.get(f"{OUTBOX}?{query}")
    assert response.status_code == 422 and ("nope" in response.text or "id;drop" in response.text)


def test_a_filter_is_preserved_by_links_to_pages_and_files(signed_in: Visitor, mails: list[int]) -> None:
    page = signed_in.get(OUTBOX, params={"state": "queued", "limit": "1"}).text
    assert '<option value="queued" selected>' in page and f"{OUTBOX}?state=queued&amp;limit=1&amp;page=2" in page
    assert "state=queued" in re.findall(r'href="([^"]*format=csv[^"]*)"', page)[0]
    pages = [signed_in.get(OUTBOX, params={"state": each}).text for each in ("parked", "failing", "sending")]
    empty = next(each for each in pages if 'class="empty"' in each)  # other tests leave mail in the list
    assert "No email matches." in empty and "Clear the filter" in empty
    last = signed_in.get(OUTBOX, params={"state": "queued", "page": "9999"})
    assert last.status_code == 200 and listed(last.text)


def test_a_file_has_all_rows_with_the_chosen_columns(signed_in: Visitor, mails: list[int]) -> None:
    asked = {"format": "csv", "columns": "mail,state", "sort": "subject", "limit": "1"}
    response = signed_in.get(OUTBOX, params=asked)
    rows = [
        each for each in csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"))) if int(each["id"]) in mails
    ]
    assert [each["mail"] for each in rows] == ["Listed a", "Listed b", "Listed c"] and rows[0].keys() == {
        "id", "mail", "state",
    }  # fmt: skip
    assert response.headers["Content-Disposition"] == 'attachment; filename="outbox.csv"'
    assert signed_in.get(OUTBOX, params={"format": "exe"}).status_code == 404


def test_selected_mails_are_dropped_after_confirmation(signed_in: Visitor, nora: Api, mails: list[int]) -> None:
    form = {"list": OUTBOX, "do": "drop", "back": OUTBOX, "ids[]": [*map(str, mails[:2]), "999999999", "x"]}
    asked = signed_in.send("/-/bulk", form, page=OUTBOX)
    assert asked.status_code == 422 and "They will not be sent." in asked.text
    assert nora.record("draft", mails[0]).status == 200
    assert place(signed_in.send("/-/bulk", {**form, "_sure": "1"}, page=OUTBOX)) == OUTBOX
    told = text_of(signed_in.get(OUTBOX).text)
    assert "2 emails dropped. Refused: 999999999:" in told and "x: There is no such entry." in told
    assert [nora.record("draft", id).status for id in mails] == [404, 404, 200]


def test_selected_rows_may_have_textual_keys(signed_in: Visitor, letters: list[str]) -> None:
    form = {"list": FAILED, "do": "discard", "back": FAILED, "ids[]": [*letters, "../../etc/passwd"], "_sure": "1"}
    assert place(signed_in.send("/-/bulk", form, page=FAILED)) == FAILED
    shown = text_of(signed_in.get(FAILED).text)
    assert "2 emails discarded. Refused: ../../etc/passwd:" in shown and "rows-one" not in shown


def test_failed_mail_is_sorted_by_any_of_its_columns(signed_in: Visitor, letters: list[str]) -> None:
    page = signed_in.get(FAILED, params={"sort": "-why"}).text
    assert re.findall(r"broken (\w+)", page) == ["two", "one"]
    form = {"list": FAILED, "do": "discard", "back": FAILED, "ids[]": letters, "_sure": "1"}
    signed_in.send("/-/bulk", form, page=FAILED)


@pytest.mark.parametrize("path", [OUTBOX, FAILED])
def test_others_cannot_change_what_administrators_see(
    path: str, visitor: Visitor, signed_in: Visitor, nora: Api, mails: list[int]
) -> None:
    visitor.sign_in("milo@desk.example")
    for name in ("drop", "discard"):
        form = {"list": path, "do": name, "back": path, "ids[]": [str(mails[0])], "_sure": "1"}
        assert visitor.send("/-/bulk", form, page="/account").status_code in (403, 422)
    assert visitor.get(path).status_code == visitor.get(f"{path}?format=csv").status_code == 403
    assert nora.record("draft", mails[0]).status == 200


def test_deliveries_are_found_by_webhook_and_response(signed_in: Visitor, visitor: Visitor, nora: Api) -> None:
    path, session = "/automations/webhooks/deliveries", nora.session
    script = "start:\n  return:\n    status_code: 418\n    body: tea"
    nora.create("automation", name="rows.tea", extension_id="svc.trigger.webhook.respond", script=script).ok()
    kata = "automation/tea:\n  uri: svc:automation:rows.tea\n"
    hook = nora.create("webhook_listener", name="Teapot", automations_kata=kata).ok()
    for name in ("one", "two"):
        assert session.post(f"{nora.url}/webhooks/{hook['guid']}/{name}", timeout=60).status_code == 418
    page = signed_in.get(path, params={"webhook": hook["id"], "answer": "failed", "sort": "-at"}).text
    rows = re.findall(r"<tbody>.*?</tbody>", page, re.DOTALL)[0]
    assert rows.index("/two<") < rows.index("/one<") and rows.count("418") == 2 and rows.count("Teapot") == 2
    assert "No delivery matches." in signed_in.get(path, params={"webhook": hook["id"], "answer": "done"}).text
    assert "/one<" in signed_in.get(path).text
    file = signed_in.get(
        path, params={"webhook": hook["id"], "format": "csv", "columns": "webhook,request,answer"}
    ).text
    assert [each["answer"] for each in csv.DictReader(io.StringIO(file.lstrip("\ufeff")))] == ["418", "418"]
    assert visitor.sign_in("milo@desk.example").status_code == 303 and visitor.get(path).status_code == 403


def test_maintenance_tasks_are_switched_together(signed_in: Visitor, desk: Desk) -> None:
    path, names = "/admin/jobs/scans", ["reminders due", "spam lessons"]
    form = {"list": path, "back": path, "do": "off", "ids[]": names}
    asked = signed_in.send("/-/bulk", form, page=path)
    assert asked.status_code == 422 and "Switch off the selected tasks?" in text_of(asked.text)
    assert place(signed_in.send("/-/bulk", {**form, "_sure": "1"}, page=path)) == path
    assert sorted(row[0] for row in desk.read(lambda tx: tx.find(OFF))) == names
    signed_in.send("/-/bulk", {**form, "do": "on", "ids[]": [*names, "nobody"]}, page=path)
    told = text_of(signed_in.get(path).text)
    assert "2 tasks switched on. Refused: nobody: there is no maintenance task" in told
    assert desk.read(lambda tx: tx.find(OFF)) == []
