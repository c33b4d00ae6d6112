"""Forms of records, generated from their fields: every type is created, changed and deleted on its pages, only by
permitted workers."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from playwright.sync_api import expect

from console.pages.jump import PLACES
from tests.api.minimal import MINIMAL, made
from tests.console.browser import Browser, violations
from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor, place, text_of
from tests.records.desk import Desk
from tests.service import Api, Server
from tests.telling import telling

names = pytest.mark.parametrize
GENERIC = sorted(set(MINIMAL) - set(PLACES))
# Fields that every write sets, and counts that other records update.
MOVING = {"changed_at", "updated", "updated_at", "updated_date"}


class FormReader(HTMLParser):
    """The values that a browser would send of the main form of a page: {name: value}, lists for fields that are
    lists."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: dict[str, Any] = {}
        self.required: set[str] = set()
        self.errors: set[str] = set()
        self._area = self._select = ""
        self._is_in = False
        self.feed(page)

    def handle_starttag(self, tag: str, pairs: list[tuple[str, str | None]]) -> None:
        given = dict(pairs)
        name = given.get("name") or ""
        if tag == "form":
            self._is_in = "data-guard" in given
        if not self._is_in:
            return
        if name and "required" in given:
            self.required.add(name)
        if name and given.get("aria-invalid") == "true":
            self.errors.add(name)
        if tag == "input" and given.get("type") in ("checkbox", "radio"):
            if "checked" in given:
                self._put(name, given.get("value") or "on")
        elif tag == "input" and name:
            self._put(name, given.get("value") or "")
        elif tag == "textarea":
            self._area = name
            self.fields[name] = ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and ("selected" in given or self._select not in self.fields):
            self.fields[self._select] = given.get("value") or ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.fields[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area:
            self.fields[self._area] = self.fields[self._area].removeprefix("\n")
            self._area = ""
        if tag == "select":
            self._select = ""
        if tag == "form":
            self._is_in = False

    def _put(self, name: str, value: str) -> None:
        if name.endswith("[]"):
            self.fields.setdefault(name, []).append(value)
        else:
            self.fields[name] = value


def form_of(visitor: Visitor, path: str) -> FormReader:
    response = visitor.get(path)
    assert response.status_code == 200, (path, response.status_code, text_of(response.text)[:300])
    return FormReader(response.text)


def typed(desk: Desk, values: dict[str, Any]) -> dict[str, Any]:
    """Returns fields of the API as they are entered in a form."""
    values = dict(values)
    if "sender" in values:
        addresses, email = desk.registry.type("address"), values.pop("sender")
        [values["sender_id"], *_] = desk.read(lambda tx: tx.first(addresses.table, email=email)) or [0]
    if "owner__context" in values:
        context, id = values.pop("owner__context"), values.pop("owner_id")
        values["owner"] = f"{'svc.contexts.app' if context == 'app' else context}:{id}"
    for name, value in values.items():
        if name.endswith("__context") or name == "context":
            found = desk.registry.find(str(value))
            values[name] = found.context if found else value
        if isinstance(value, dict):
            values[name] = json.dumps(value)
    return {name: str(value) for name, value in values.items()}


def stored(desk: Desk, uri: str, id: int) -> dict[str, Any]:
    record_type = desk.registry.type(uri)
    row = desk.read(lambda tx: tx.get(record_type.table, id))
    assert row is not None
    return {name: value for name, value in record_type.record(row).items() if name not in MOVING}


# Forms that differ in their fields: choices, texts, dates, files, relations, and those of administrators.
DIFFERENT = ("calendar_event_recurring", "comment", "contact", "custom_record", "org", "task", "ticket")


@names("uri", telling({uri: uri for uri in GENERIC}, DIFFERENT, "the form of every type"))
def test_a_record_of_every_type_is_created_and_changed_by_its_form(
    signed_in: Visitor, nora: Api, desk: Desk, uri: str
) -> None:
    """Missing required fields are reported at their field; saving an unchanged form changes nothing."""
    new = form_of(signed_in, f"/records/{uri}/new")
    given = typed(desk, MINIMAL[uri](nora))
    assert set(given) <= set(new.fields), set(given) - set(new.fields)
    texts = {name for name in new.required if new.fields[name] == ""}
    refused = signed_in.post(f"/records/{uri}/new", {**new.fields, **dict.fromkeys(texts, " ")})
    assert refused.status_code == 422 or not texts
    assert not texts or FormReader(refused.text).errors & texts, text_of(refused.text)[:500]
    response = signed_in.post(f"/records/{uri}/new", {**new.fields, **given})
    assert response.status_code == 303, text_of(response.text)[:800]
    id = int(place(response).rpartition("/")[2])
    assert place(response) == f"/records/{uri}/{id}"
    before = stored(desk, uri, id)
    path = f"/records/{uri}/{id}/edit"
    saved = signed_in.post(path, form_of(signed_in, path).fields)
    assert saved.status_code == 303, text_of(saved.text)[:800]
    assert stored(desk, uri, id) == before
    if uri == "custom_record":  # which adds a record type
        nora.remove(uri, id).ok()


@names("uri", telling(sorted(PLACES), sorted(PLACES)[::5], "every special page"))
def test_types_with_special_pages_redirect_administrators_there(
    signed_in: Visitor, nora: Api, visitor: Visitor, uri: str
) -> None:
    """Including submitted forms, since those pages may ask for the password; other workers may do nothing here that
    they may not do elsewhere."""
    own = PLACES[uri]
    token = {"_xsrf": signed_in.token("/records/task/new")}
    for path, there in ((f"/records/{uri}/new", own.format("new")), (f"/records/{uri}/7/edit", own.format(7)),
                        (f"/records/{uri}/7/delete", own.format(7))):  # fmt: skip
        assert place(signed_in.get(path)) == there
        assert place(signed_in.post(path, token)) == there
    visitor.sign_in("olga@desk.example")
    if uri not in ("connected_account", "custom_field", "custom_fieldset", "kb_article", "kb_category", "snippet"):
        assert visitor.get(f"/records/{uri}/new").status_code == 403
        assert visitor.send(f"/records/{uri}/new", {"name": "x"}, "/account").status_code == 403
    visitor.send("/sign-out", page="/account")


def test_others_create_change_and_delete_what_they_may(visitor: Visitor, nora: Api) -> None:
    """A role of everyone grants all privileges; what only administrators may do is refused, and has no button."""
    template = made(nora, "html_template")
    visitor.sign_in("milo@desk.example")
    paths = ("html_template/new", f"html_template/{template}/edit", f"html_template/{template}/delete")
    for path in paths:
        assert visitor.get(f"/records/{path}").status_code == 403, path
        response = visitor.send(f"/records/{path}", {"name": "Mine"}, "/account")
        assert response.status_code in (403, 422) and "only" in response.text.lower(), path
    assert nora.record("html_template", template)["name"] == "Letter"
    page = visitor.get(f"/records/html_template/{template}").text
    assert "/edit" not in page and "/delete" not in page
    assert "/records/html_template/new" not in visitor.get("/search/html_template").text
    assert "/records/task/new" in visitor.get("/search/task").text
    mine = made(nora, "reminder", worker_id=nora.ids["milo"])
    page = visitor.get(f"/records/reminder/{mine}").text
    assert f"/records/reminder/{mine}/edit" in page
    path = f"/records/reminder/{mine}/edit"
    form = form_of(visitor, path).fields
    refused = visitor.post(path, {**form, "worker_id": str(nora.ids["nora"])})
    assert refused.status_code == 422 and "only its worker" in text_of(refused.text)
    assert place(visitor.post(path, {**form, "name": "Call Bo"})) == f"/records/reminder/{mine}"
    found = nora.record("reminder", mine)
    assert (found["name"], found["worker_id"]) == ("Call Bo", nora.ids["milo"])
    other = made(nora, "reminder")
    assert visitor.get(f"/records/reminder/{other}/edit").status_code == 403
    visitor.send("/sign-out", page="/account")


def test_a_record_is_deleted_after_confirmation(signed_in: Visitor, nora: Api) -> None:
    task = nora.create("task", title=HOSTILE).ok()["id"]
    path = f"/records/task/{task}/delete"
    page = signed_in.get(path).text
    assert HOSTILE not in page and path in signed_in.get(f"/records/task/{task}").text
    assert signed_in.post(path).status_code == 403 and signed_in.post(path, {"_xsrf": "0" * 40}).status_code == 403
    assert nora.record("task", task).status == 200
    assert place(signed_in.send(path)) == "/search/task"
    assert nora.record("task", task).status == 404
    assert signed_in.get(path).status_code == 404
    assert signed_in.send(path, page="/account").status_code == 404


def test_hostile_values_are_refused_or_stored_literally(signed_in: Visitor, nora: Api) -> None:
    path = "/records/task/new"
    form = form_of(signed_in, path).fields
    made_here = signed_in.post(path, {**form, "title": HOSTILE})
    page = signed_in.get(place(made_here) + "/edit")
    assert HOSTILE not in page.text and FormReader(page.text).fields["title"] == HOSTILE
    assert signed_in.post(path, {**form, "title": "t" * 256}).status_code == 422
    assert signed_in.post(path, {**form, "title": "nul\x00"}).status_code == 422
    assert signed_in.post(path, {**form, "title": ["a", "b"]}).status_code in (303, 422)
    refused = signed_in.post(path, {**form, "title": "Kept", "owner_id": "Nobody at all", "due": "no day"})
    again = FormReader(refused.text)
    assert refused.status_code == 422 and "owner_id" in again.errors and again.fields["title"] == "Kept"
    for uri in ("nosuch", "..", "task%00"):
        assert signed_in.get(f"/records/{uri}/new").status_code in (404, 400)
    assert signed_in.get("/records/automation_log/1/edit").status_code in (403, 404, 405)
    assert signed_in.get("/records/package/new").status_code in (403, 405)


def test_secret_fields_are_not_in_a_form_and_blank_preserves_them(visitor: Visitor, nora: Api, desk: Desk) -> None:
    """Administrators have a page of their own for accounts; other workers use the form that is built from the type."""
    secret = json.dumps({"api_key": "s3cr3t-of-parcels"})
    owner = {"owner__context": "worker", "owner_id": nora.ids["olga"]}
    role = nora.create("role", name="Accounts", privs_mode="all", member_query_worker=f"id:{nora.ids['olga']}").ok()
    id = nora.create("connected_account", name="Parcel desk", params=secret, **owner).ok()["id"]
    before = stored(desk, "connected_account", id)
    assert "s3cr3t" in json.dumps(before)
    path = f"/records/connected_account/{id}/edit"
    visitor.sign_in("olga@desk.example")
    page = visitor.get(path)
    assert "s3cr3t" not in page.text
    assert "keep the stored value" in page.text
    saved = visitor.post(path, {**FormReader(page.text).fields, "name": "Parcels"})
    assert saved.status_code == 303
    assert stored(desk, "connected_account", id) == before | {"name": "Parcels"}
    nora.delete(f"/rest/records/role/{role['id']}.json").ok()


def test_other_fields_stay_and_undo_restores_the_old_values(signed_in: Visitor, nora: Api) -> None:
    id = nora.create("org", name="Larch", city="Oslo", street="1 Quay\n2 Quay").ok()["id"]
    path = f"/records/org/{id}/edit"
    token = signed_in.token(path)
    assert signed_in.post(path, {"_xsrf": token, "name": "Larch & Co"}).status_code == 303
    found = nora.record("org", id)
    assert (found["name"], found["city"], found["street"]) == ("Larch & Co", "Oslo", "1 Quay\n2 Quay")
    page = signed_in.get(f"/records/org/{id}").text
    assert f'action="{path}"' in page and "Undo" in page


def test_a_number_that_stands_for_a_word_is_chosen_by_the_word(signed_in: Visitor, nora: Api) -> None:
    id = nora.create("task", title="Count", status="waiting").ok()["id"]
    path = f"/records/task/{id}/edit"
    page = signed_in.get(path).text
    assert '<option value="2" selected>waiting</option>' in page and '<option value="0">open</option>' in page
    assert signed_in.post(path, {**FormReader(page).fields, "status_id": "1"}).status_code == 303
    assert nora.record("task", id)["status"] == "closed"
    assert signed_in.post(path, {**form_of(signed_in, path).fields, "status_id": "7"}).status_code == 422


def test_custom_fields_are_in_the_form(signed_in: Visitor, nora: Api) -> None:
    """Fields of every record, of each kind; fields of a fieldset for records that have it."""
    kinds = {
        "C": ("1", "1"), "D": ("b", "b"), "E": ("2027-01-31 09:00", None), "M": ("x\ny", "x, y"), "N": ("-7", "-7"),
        "O": ("12.34", None), "S": (HOSTILE, HOSTILE), "T": ("two\nlines", "two\nlines"),
        "U": ("https://kite.example/", "https://kite.example/"), "W": (f"Milo #{nora.ids['milo']}", None),
        "X": (["a", "b"], "a, b"), "svc.custom_field.geo.point": ("47.37, 8.54", "47.370000, 8.540000"),
    }  # fmt: skip
    params = {"D": {"options": ["a", "b"]}, "X": {"options": ["a", "b"]}, "O": {"decimal_at": 2}}
    ids = {}
    for kind in kinds:
        field = {"context": "opportunity", "name": f"Field {kind}", "type": kind, "uri": f"form_{len(ids)}"}
        ids[kind] = nora.create("custom_field", **field, params=json.dumps(params.get(kind, {}))).ok()["id"]
    of_set = nora.create("custom_fieldset", context="opportunity", name="Set", owner__context="app", owner_id=0).ok()[
        "id"
    ]
    inside = nora.create("custom_field", context="opportunity", name="Inside", type="S", uri="form_inside",
                         custom_fieldset_id=of_set).ok()["id"]  # fmt: skip
    new = form_of(signed_in, "/records/opportunity/new").fields
    assert f"custom_{inside}" not in new and f"custom_{ids['S']}" in new
    sent = {f"custom_{ids[kind]}{'[]' if kind == 'X' else ''}": text for kind, (text, _) in kinds.items()}
    response = signed_in.post("/records/opportunity/new", {**new, "title": "Forty pumps", **sent})
    assert response.status_code == 303, text_of(response.text)[:600]
    id = int(place(response).rpartition("/")[2])
    found = nora.record("opportunity", id, "custom_").ok().json
    for kind, (_, shown) in kinds.items():
        assert shown is None or str(found[f"custom_{ids[kind]}"]) == shown, kind
    assert found["custom"][str(ids["O"])] == 1234 and found["custom"][str(ids["W"])] == nora.ids["milo"]
    path = f"/records/opportunity/{id}/edit"
    form = form_of(signed_in, path).fields
    assert form[f"custom_{ids['O']}"] == "12.34" and form[f"custom_{ids['X']}[]"] == ["a", "b"]
    assert signed_in.post(path, form).status_code == 303
    again = nora.record("opportunity", id, "custom_").ok().json
    assert again["custom"] == found["custom"]
    nora.update("opportunity", id, form_inside="here").ok()
    assert form_of(signed_in, path).fields[f"custom_{inside}"] == "here"
    wrong = signed_in.post(path, {**form, f"custom_{ids['N']}": "many", f"custom_{ids['D']}": "c"})
    assert wrong.status_code == 422
    assert FormReader(wrong.text).errors == {f"custom_{ids['N']}", f"custom_{ids['D']}"}
    cleared = {**form, f"custom_{ids['S']}": "", f"custom_{ids['W']}": ""}
    cleared.pop(f"custom_{ids['X']}[]")
    assert signed_in.post(path, cleared).status_code == 303
    left = nora.record("opportunity", id, "custom_").ok()["custom"]
    assert all(left[str(ids[kind])] is None for kind in "SWX"), left
    for each in (*ids.values(), inside):
        nora.remove("custom_field", each).ok()


# -- two people at one form -------------------------------------------------------------------------------------------

TEXTS = ("name", "title", "subject", "label", "first_name", "email_comment", "phone", "content", "comment",
         "description",
         "notes", "body", "script", "q", "query", "url")  # fmt: skip
WITHOUT_TEXT = {
    "activity_log",
    "address",
    "message",
    "notification",
    "time_entry",
}  # nothing both can edit
OWN_VERSIONS = {"automation", "automation_event"}  # types with their own versions of texts
EDITED = sorted({*GENERIC, *PLACES} - WITHOUT_TEXT - OWN_VERSIONS)


MORE = {"automation_timer": {"repeat": "once", "time": "2035-01-31 09:00"}}  # further fields that the page requires


def edit_path(uri: str, id: int) -> str:
    return PLACES[uri].format(id) if uri in PLACES else f"/records/{uri}/{id}/edit"


@names("uri", telling({uri: uri for uri in EDITED}, (*DIFFERENT, "worker", "group"), "the form of every type"))
def test_a_form_does_not_overwrite_simultaneous_changes(signed_in: Visitor, nora: Api, desk: Desk, uri: str) -> None:
    id = made(nora, uri)
    path = edit_path(uri, id)
    form = form_of(signed_in, path).fields | MORE.get(uri, {})
    before = stored(desk, uri, id)
    field = next(each for each in TEXTS if each in form and isinstance(before.get(each), str))
    theirs, mine = f"{before[field]}A", f"{before[field]}B"
    nora.update(uri, id, **{field: theirs}).ok()
    untouched = signed_in.post(path, form)
    assert untouched.status_code in (200, 303), text_of(untouched.text)[:500]
    assert stored(desk, uri, id)[field] == theirs
    refused = signed_in.post(path, {**form, field: mine})
    assert refused.status_code == 409 and theirs in refused.text, text_of(refused.text)[:500]
    assert stored(desk, uri, id)[field] == theirs
    shown = FormReader(refused.text).fields | MORE.get(uri, {})
    assert shown[field] == mine
    saved = signed_in.post(path, shown)
    assert saved.status_code in (200, 303), text_of(saved.text)[:500]
    assert stored(desk, uri, id)[field] == mine
    assert signed_in.post(path, shown).status_code in (200, 303)  # a double click
    if uri == "custom_record":
        nora.remove(uri, id).ok()


def test_two_workers_change_different_fields(signed_in: Visitor, nora: Api) -> None:
    task = made(nora, "task", title="Splice")
    path = f"/records/task/{task}/edit"
    form = form_of(signed_in, path).fields
    nora.update("task", task, importance=80, owner_id=nora.ids["milo"], due="tomorrow 9am").ok()
    there = nora.record("task", task)
    assert signed_in.post(path, {**form, "title": "Splice again"}).status_code == 303
    now = nora.record("task", task)
    assert now["title"] == "Splice again"
    for name in ("importance", "owner_id", "due"):
        assert now[name] == there[name] and there[name], name


@pytest.mark.parametrize(
    ("path", "headings"),
    [
        ("/admin/targets/new", ["Times", "Hours and warnings"]),
        ("/admin/people/groups/new", ["Replies"]),
        ("/admin/people/new", ["Rights and sign-in", "Absence", "Groups and sign-in", "Groups"]),
        ("/admin/mail/transports/new", ["Server"]),
        ("/admin/mail/mailboxes/new", ["Server", "Numbers and limits"]),
        ("/automations/outgoing/new", ["Request"]),
        ("/admin/tags/new", []),
    ],
)
def test_a_form_with_declared_fields_has_sections_in_their_order(
    signed_in: Visitor, path: str, headings: list[str]
) -> None:
    assert re.findall("<legend>([^<]+)</legend>", signed_in.get(path).text) == headings


@pytest.mark.exhaustive("a form at every width")
def test_a_long_form_has_sections_in_two_columns_on_a_wide_screen(
    server: Server, nora_in_a_browser: Visitor, nora: Api, chromium: Browser
) -> None:
    id = nora.create("contact", first_name="Wide").ok()["id"]
    columns = {}
    with chromium.page(server.url, (1440, 900), nora_in_a_browser.cookies) as page:
        page.goto(f"/records/contact/{id}/edit")
        expect(page.get_by_role("group", name="Who and where")).to_be_visible()
        for width in (1440, 1000, 390):
            page.set_viewport_size({"width": width, "height": 900})
            boxes = [page.get_by_label(name, exact=True).bounding_box() for name in ("First name", "Last name")]
            columns[width] = len({box["y"] for box in boxes if box}) == 1
            birthday, first = page.get_by_label("Birthday").bounding_box(), boxes[0]
            assert birthday and first and birthday["width"] < first["width"]
            assert violations(page, part=".fields") == []
    assert columns == {1440: True, 1000: False, 390: False}
