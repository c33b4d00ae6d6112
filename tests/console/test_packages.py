"""Packages in the console: opened, questions answered, rehearsed, imported once; and records exported as a package."""

import html
import json
import re
from typing import Any

import pytest
from markupsafe import escape
from playwright.sync_api import Page, expect

from server.packages import bundle
from server.packages.requirements import SVC_VERSION
from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor, place, text_of
from tests.service import Api

BASE = "/admin/packages"


def parcel(*records: dict[str, Any], prompts: list[dict[str, Any]] | None = None, **package: Any) -> str:
    """Returns a package as text."""
    head = {"name": "Parcel", "revision": 3, "requires": {"svc_version": "1.0.0", "plugins": []}} | package
    head["configure"] = {"prompts": prompts or [], "placeholders": []}
    return json.dumps({"package": head, "records": list(records)}, indent=1)


def org(uid: str, name: str) -> dict[str, Any]:
    return {"uid": uid, "_context": "org", "name": name}


PROMPTS = [
    {"type": "text", "label": HOSTILE, "key": "name", "params": {"default": "By default"}},
    {"type": "picklist", "label": "Ending", "key": "ending", "params": {"options": {"Ltd": "ltd", "Inc": "inc"}}},
    {"type": "picklist", "label": "Colours", "key": "colours",
     "params": {"options": ["red", "blue"], "multiple": True}},
    {"type": "chooser", "label": "Owner", "key": "owner_id",
     "params": {"context": "worker", "query": "isDisabled:no", "single": True}},
    {"type": "chooser", "label": "Teams", "key": "teams", "params": {"context": "group", "query": ""}},
]  # fmt: skip
ASKED = org("made", "{{{name}}} {{{ending}}} {{{colours|join('+')}}} {{{owner_first_name}}} {{{teams|length}}}")


def look(visitor: Visitor, text: str) -> Any:
    return visitor.send(f"{BASE}/look", {"package_json": text}, page=BASE)


def run(visitor: Visitor, text: str, do: str, **answers: Any) -> Any:
    return visitor.send(f"{BASE}/import", {"package_json": text, "do": do, **answers}, page=BASE)


def orgs(nora: Api, name: str) -> int:
    return int(nora.search("org", f'name:"{name}"')["total"])


def test_shipped_packages_are_offered_and_imported(signed_in: Visitor, nora: Api) -> None:
    text = signed_in.get(BASE).text
    assert all(f'open?name={name}"' in text for name in bundle.names())
    for name in bundle.names():
        assert signed_in.get(f"{BASE}/open?name={name}").status_code == 200
    assert signed_in.get(f"{BASE}/open?name=../../etc").status_code == 404
    form = {"shipped": "webhook-responder", "do": "import", "p0": "Caller", "p1": "yes"}
    response = signed_in.send(f"{BASE}/import", form, page=BASE)
    assert response.status_code == 303, response.text
    done = signed_in.get(place(response)).text
    [hook] = nora.found("webhook_listener", 'name:"Caller"')
    assert "Webhook responder imported" in done and f'href="/automations/webhooks/{hook}"' in done


def test_imports_are_listed_with_their_remaining_records(signed_in: Visitor, nora: Api, visitor: Visitor) -> None:
    text = parcel(org("one", "Remembered"), org("two", "Forgotten"), name="Two of them", revision=7)
    assert "Two of them" not in signed_in.get(BASE).text
    assert run(signed_in, text, "try").status_code == 200
    assert "Two of them" not in signed_in.get(BASE).text  # a rehearsal is not an import
    assert run(signed_in, text, "import").status_code == 303
    nora.delete(f"/rest/records/org/{nora.found('org', 'name:Forgotten')[0]}.json")
    listed = signed_in.get(BASE).text
    assert "Two of them" in listed and "1 of 2" in listed and ">7<" in listed
    [path] = re.findall(rf'href="({BASE}/imported/[0-9]+)">Two of them', listed)
    shown = signed_in.get(path).text
    assert "Remembered" in shown and shown.count("deleted") == 1
    assert "Already imported" in signed_in.send(f"{BASE}/look", {"package_json": text}, page=BASE).text
    looked = [look(signed_in, text.replace('"revision": 7', f'"revision": {revision}')).text for revision in (7, 8, 6)]
    assert ["newer revision" in each for each in looked] == [False, False, True]
    assert signed_in.get(f"{BASE}/imported/999999").status_code == 404


def test_a_file_is_opened_like_a_pasted_text(signed_in: Visitor) -> None:
    form = {"_xsrf": signed_in.token(BASE), "package_json": ""}
    files = {"file": ("parcel.json", parcel(org("one", "Filed")), "application/json")}
    response = signed_in.post(f"{BASE}/look", form, files=files)
    assert response.status_code == 200 and "Parcel" in response.text and "revision 3" in response.text
    binary = signed_in.post(f"{BASE}/look", form, files={"file": ("x.json", b"\xff\xfe", "application/json")})
    assert binary.status_code == 422 and "not valid UTF-8" in binary.text
    without = signed_in.post(f"{BASE}/look", {"package_json": "{}"}, files={"file": ("x", b"{}")})
    assert without.status_code == 403


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Paste a package"),
        ('{\n"package": }', "Line 2"),
        ("[]", "JSON object"),
        ("{}", "JSON object"),
        ('{"package": {"name": 1}}', "must be a text"),
        ('{"package": {}, "portals": [1]}', "community portals"),
        (HOSTILE, "not valid JSON"),
        ('{"package": ' + "[" * 100, "JSON"),
    ],
)
def test_an_invalid_package_is_reported(signed_in: Visitor, text: str, told: str) -> None:
    for response in (look(signed_in, text), run(signed_in, text, "import")):
        assert response.status_code == 422 and told in html.unescape(response.text) and HOSTILE not in response.text
        assert html.unescape(re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", response.text, re.S)[0]) == text


def test_missing_requirements_are_reported(signed_in: Visitor) -> None:
    fine = look(signed_in, parcel(requires={"svc_version": SVC_VERSION, "plugins": ["svc.core"]}))
    assert fine.status_code == 200 and "plugin svc.core" in fine.text and "disabled>" not in fine.text
    for requires in ({"svc_version": "99.0"}, {"plugins": ["svc.flying", "svc.core"]}, {"svc_version": 5}):
        response = look(signed_in, parcel(requires=requires))
        assert (
            response.status_code == 422 and "cannot be imported here" in response.text and "disabled>" in response.text
        )
        listed = re.findall(r"</span> (exists|missing)<", response.text)
        assert listed == (["missing", "exists"] if "plugins" in requires else ["missing"])


def test_a_choice_may_be_empty(signed_in: Visitor, nora: Api) -> None:
    params = {"options": {"Plain": "", "Loud": "!"}}
    prompts = [{"type": "picklist", "label": "Tone", "key": "tone", "params": params}]
    text = parcel(org("made", "Quiet{{{tone}}}"), prompts=prompts)
    page = look(signed_in, text).text
    assert '<option value=""' in page and "Plain" in page and "Choose" not in page
    assert signed_in.get(place(run(signed_in, text, "import", p0=""))).status_code == 200
    assert orgs(nora, "Quiet") == 1


def test_a_secret_is_hidden_while_it_is_typed_and_on_the_next_page(signed_in: Visitor, nora: Api) -> None:
    prompts = [{"type": "text", "label": "Key", "key": "key", "params": {"secret": True}}]
    text = parcel(org("made", "Hushed {{{key|length}}}"), prompts=prompts)
    assert 'type="password"' in look(signed_in, text).text
    dry = run(signed_in, text, "try", p0="sk-hush-1").text
    assert "It would create 1 record" in dry and "sk-hush-1" not in dry
    assert signed_in.get(place(run(signed_in, text, "import", p0="sk-hush-1"))).status_code == 200
    assert orgs(nora, "Hushed 9") == 1


def test_questions_are_a_form_and_answers_are_data(signed_in: Visitor, nora: Api) -> None:
    text = parcel(ASKED, prompts=PROMPTS)
    page = look(signed_in, text).text
    assert HOSTILE not in page and 'value="By default"' in page and "Support" in page and "Dora Test" not in page
    answers: dict[str, Any] = {
        "p0": "{{{7 * 7}}} \"quoted\"", "p1": "inc", "p2[]": ["red", "blue"], "p3": str(nora.ids["milo"]),
        "p4[]": [str(nora.ids["support"]), str(nora.ids["private"])],
    }  # fmt: skip
    name = '{{{7 * 7}}} "quoted" inc red+blue Milo 2'
    dry = run(signed_in, text, "try", **answers)
    assert dry.status_code == 200 and "It would create 1 record" in dry.text and str(escape(name)) in dry.text
    assert nora.search("org", "name:*quoted*")["total"] == 0
    assert 'value="inc" selected' in dry.text and dry.text.count(" checked>") == 4
    response = run(signed_in, text, "import", **answers)
    done = signed_in.get(place(response))
    assert done.status_code == 200 and str(escape(name)) in done.text
    assert [each["name"] for each in nora.search("org", "name:*quoted*")["results"]] == [name]
    for changes, told in (({"p0": ""}, "Answer this question."), ({"p1": "gmbh"}, "is not offered"),
                          ({"p3": "milo"}, "is not the id")):  # fmt: skip
        wrong = run(signed_in, text, "import", **(answers | changes))
        [field] = changes
        assert wrong.status_code == 422 and told in wrong.text and f'href="#{field}"' in wrong.text
        assert "prompt &#39;" not in wrong.text  # nor the name that the API uses
    empty = run(signed_in, text, "import", **(answers | {"p0": "", "p3": ""}))
    assert empty.text.count("Answer this question.") == 4  # each at its field and in the summary
    assert 'href="#p0"' in empty.text and 'href="#p3"' in empty.text and "send prompts[" not in empty.text


def test_nothing_is_created_when_something_is_wrong(signed_in: Visitor, nora: Api) -> None:
    text = parcel(*(org(f"o{number}", "Half") for number in range(6)), {"uid": "bad", "_context": "org"})
    for do in ("try", "import"):
        response = run(signed_in, text, do)
        assert response.status_code == 422 and "name is required" in response.text
    assert orgs(nora, "Half") == 0


def test_a_result_is_for_its_importer_and_secrets_are_shown_once(
    signed_in: Visitor, visitor: Visitor, nora: Api
) -> None:
    app = {"uid": "app", "_context": "oauth_app", "name": "Carried", "callback_url": "https://app.example/back"}
    opened = text_of(look(signed_in, parcel(app)).text)
    assert "Dry run: nothing was created" in opened and "The package lets the app Carried ask workers" in opened
    refused = run(signed_in, parcel(app), "import")
    assert refused.status_code == 422 and "lets the app Carried ask workers" in text_of(refused.text)
    tried = run(signed_in, parcel(app), "try").text
    assert "The package lets the app Carried ask workers" in text_of(tried) and 'name="grants"' in tried
    where = place(run(signed_in, parcel(app), "import", grants="1"))
    visitor.sign_in("milo@desk.example")
    assert visitor.get(where).status_code == 403
    first = signed_in.get(where)
    assert "Client secret" in first.text and first.headers["Cache-Control"] == "no-store"
    assert signed_in.get(where).status_code == 404
    [id] = nora.found("oauth_app", 'name:"Carried"')
    nora.remove("oauth_app", id).ok()
    plain = place(run(signed_in, parcel(org("o", HOSTILE)), "import"))
    for _ in range(2):
        assert signed_in.get(plain).status_code == 200 and HOSTILE not in signed_in.get(plain).text
    assert signed_in.get(f"{BASE}/done/{'A' * 32}").status_code == 404


def test_records_are_exported_and_reimported(signed_in: Visitor, nora: Api) -> None:
    path = f"{BASE}/export"
    calendar = nora.create("calendar", name=HOSTILE, owner__context="app", owner_id=0).ok()["id"]
    snippet = nora.create(
        "snippet", title="Greeting", content="Hello {{{name}}}", owner__context="app", owner_id=0
    ).ok()["id"]
    page = signed_in.get(f"{path}?records=snippet:{snippet}&type=calendar").text
    assert "Greeting" in page and f'value="calendar:{calendar}"' in page and HOSTILE not in page
    form = {"type": "calendar", "q": "", "name": "My parcel", "records[]": [f"snippet:{snippet}"],
            "more[]": [f"calendar:{calendar}"]}  # fmt: skip
    again = signed_in.send(path, form | {"do": "find"})
    assert again.status_code == 200 and again.text.count(" checked>") == 2
    response = signed_in.send(path, form | {"do": "export"})
    assert response.headers["Content-Disposition"] == 'attachment; filename="My-parcel.json"'
    package = response.json()
    assert [each["_context"] for each in package["records"]] == ["snippet", "calendar"]
    assert package["package"]["name"] == "My parcel"
    before = nora.search("snippet", 'title:"Greeting"')["total"]
    assert run(signed_in, response.text, "import").status_code == 303
    found = nora.search("snippet", 'title:"Greeting"', expand="").ok()
    assert found["total"] == before + 1
    contents = {nora.record("snippet", each["id"], "content")["content"] for each in found["results"]}
    assert contents == {"Hello {{{name}}}"}
    for changes, told in (
        ({"records[]": [], "more[]": []}, "Records is required"), ({"more[]": ["worker:1"]}, "cannot be exported"),
        ({"more[]": ["snippet:999999"]}, "There is no snippet"), ({"more[]": ["x"]}, "is not <type>:<id>"),
    ):  # fmt: skip
        wrong = signed_in.send(path, form | changes | {"do": "export"})
        assert wrong.status_code == 422 and told in html.unescape(wrong.text), changes
    assert signed_in.send(path, form | {"q": "colour:red", "do": "find"}).status_code == 422


@pytest.mark.exhaustive("a page by keyboard alone")
def test_a_package_by_keyboard(page: Page, nora: Api) -> None:
    page.goto(BASE)
    page.locator("#package_json").focus()
    page.keyboard.insert_text(parcel(org("one", "By keys {{{name}}}"), prompts=PROMPTS[:2]))
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Parcel")
    page.locator("#p1").focus()
    page.keyboard.type("Inc")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#result")).to_be_focused()
    expect(page.locator("#result")).to_contain_text("By keys By default")
    assert orgs(nora, "By keys By default") == 0
    page.get_by_role("button", name="Import").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Parcel imported")
    assert orgs(nora, "By keys By default") == 1
    page.reload()
    assert orgs(nora, "By keys By default") == 1


def test_an_update_of_a_package_asks_about_local_changes(signed_in: Visitor, nora: Api) -> None:
    def reminders(title: str) -> str:
        entries = [{"uid": f"r{each}", "_context": "task", "title": f"{title} {each}"} for each in range(2)]
        return parcel(*entries).replace('"Parcel"', '"Reminders"')

    where = place(run(signed_in, reminders("Count"), "import"))
    assert "2 records created." in text_of(signed_in.get(where).text)
    [own] = nora.found("task", 'title:"Count 1"')
    nora.update("task", own, title="Count the boats").ok()
    opened = text_of(look(signed_in, reminders("Weigh")).text)
    assert "It would change 2 records." in opened and "changed here and in the package" in opened
    assert "Count 0" in opened and "Weigh 0" in opened
    refused = run(signed_in, reminders("Weigh"), "import", mode="update", conflicts="refuse")
    assert refused.status_code == 422 and "r1': title" in html.unescape(refused.text)
    done = place(run(signed_in, reminders("Weigh"), "import", mode="update", conflicts="keep"))
    assert "1 record changed." in text_of(signed_in.get(done).text)
    assert nora.found("task", 'title:"Weigh 0"') and nora.record("task", own)["title"] == "Count the boats"
