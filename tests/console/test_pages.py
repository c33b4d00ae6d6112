"""Pages of administrators, over HTTP: their effects are visible in the API."""

import html
import re

import pytest

from server.record_types.shared import scope_check
from tests.console.visitor import Visitor, place
from tests.service import Api, Server

SCOPES = """"tickets:read":
  label: Read tickets
  endpoints:
    - "records/ticket/*": GET
"""


def test_a_token_has_the_rights_of_its_scopes(signed_in: Visitor, nora: Api, server: Server) -> None:
    made = nora.create("oauth_app", name="Reader", callback_url="https://r.example/", scopes=SCOPES).ok()["id"]
    chosen = signed_in.send("/admin/tokens/new", {"app_id": made, "choose": "1"})
    assert chosen.status_code == 200 and "Read tickets" in chosen.text
    form = {"app_id": made, "worker_id": nora.ids["milo"], "expires": "2 hours", "label": "<b>for tests</b>"}
    for changed, words in (
        ({"expires": "soonish"}, "soonish"), ({"worker_id": "999999"}, "no worker"), ({}, "Send at least one"),
        ({"scopes[]": "tickets:wirte"}, "tickets:wirte"), ({"worker_id": nora.ids["dora"]}, "disabled"),
        ({"app_id": "999999", "scopes[]": "api"}, "app"),
    ):  # fmt: skip
        scopes = {"scopes[]": "tickets:read"} if changed else {}
        wrong = signed_in.send("/admin/tokens/new", {**form, **scopes, **changed})
        assert wrong.status_code == 422 and words in html.unescape(wrong.text), changed
    page = signed_in.send("/admin/tokens/new", {**form, "scopes[]": "tickets:read"})
    token = re.findall(r"svc_at_[A-Za-z0-9_-]+", page.text)[0]
    client = Api(server.url, token, is_checked=False)
    assert client.search("ticket").status == 200 and client.search("org").status == 403
    listed = signed_in.get("/admin/tokens").text
    assert token not in listed and token[:13] in listed and "&lt;b&gt;for tests" in listed
    row = re.findall(rf"<tr>(?:(?!</tr>).)*{token[:13]}.*?</tr>", listed, re.DOTALL)[0]
    path = re.findall(r"/admin/tokens/\d+/revoke", row)[0]
    assert place(signed_in.send(path, page="/admin/tokens")) == "/admin/tokens"
    assert client.search("ticket").status == 401


def test_an_app_is_created_changed_and_removed(signed_in: Visitor, nora: Api) -> None:
    form = {"name": "Shop", "callback_url": "https://shop.example/back", "scopes": SCOPES.replace("\n", "\r\n")}
    bad = SCOPES.replace("endpoints", "endpionts").replace("GET", "GTE")
    looked = signed_in.send("/admin/apps/new", {**form, "scopes": bad, "look": "1"})
    assert "Line 3" in looked.text and "did you mean &#39;endpoints&#39;" in looked.text
    refused = signed_in.send("/admin/apps/new", {**form, "scopes": bad})
    assert refused.status_code == 422 and nora.found("oauth_app", 'name:"Shop"') == []
    made = signed_in.send("/admin/apps/new", form)
    secret = re.findall(r">([a-z0-9]{64})<", made.text)[0]
    id = nora.found("oauth_app", 'name:"Shop"')[0]
    assert nora.record("oauth_app", id).ok()["scopes"] == SCOPES
    page = f"/admin/apps/{id}"
    assert secret not in signed_in.get(page).text and "of " in signed_in.get(page).text
    for method, path, words in (
        ("GET", "/rest/records/ticket/1.json", "allowed by tickets:read"),
        ("PUT", "records/ticket/1", "refused: 403"),
        ("GET", "/rest/records/org/1.json?x=1", "refused: 403"),
    ):
        tried = signed_in.send(page, {**form, "look": "1", "try_method": method, "try_path": path})
        assert words in tried.text, path
    rotated = signed_in.send(f"{page}/rotate", {"overlap": "0"})
    assert re.findall(r">([a-z0-9]{64})<", rotated.text)[0] != secret
    assert place(signed_in.send(page, {**form, "name": "Shop 2"})) == "/admin/apps"
    assert nora.record("oauth_app", id).ok()["name"] == "Shop 2"
    assert place(signed_in.send(f"{page}/delete", page=page)) == "/admin/apps"
    assert nora.record("oauth_app", id).status == 404 and signed_in.get(page).status_code == 404


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (SCOPES, []),
        ("", [(1, "define at least one scope, as a map of scope ids to `label` and `endpoints`")]),
        ("a: [", [(1, "is not YAML at line 1")]),
        (
            '"a":\n  label: A\n  endpoints: ["*"]\n"b b":\n  endpoints: ["*"]\n',
            [(4, "'b b' is not a scope id; letters, digits and : . _ - are")],
        ),
        ('a:\n  lable: A\n  endpoints: ["*"]\n', [(2, "'lable' is not a key of a scope; did you mean 'label'?")]),
        (
            'a:\n  endpoints:\n    - "x": [GET, PSOT]\n',
            [(3, "'PSOT' is not a method, so it allows nothing; did you mean 'POST'?")],
        ),
        (
            'a:\n  endpoints: ["*"]\na:\n  endpoints: ["x"]\n',
            [(3, "scope 'a' is already on line 1; only this one counts")],
        ),
        ("[" * 5000, [(1, "at most 50 brackets inside each other")]),
        ("- " * 30000, [(1, "is not YAML that can be read")]),
        ("a: &a [1]\nb: *a\n", [(1, 'anchors and aliases (& and *name) are not supported; write "*" in quotes')]),
    ],
)
def test_mistakes_of_scopes_are_reported_at_their_lines(text: str, found: list[tuple[int, str]]) -> None:
    assert scope_check.mistakes(text) == found


def test_a_webhook_is_created_changed_and_removed(signed_in: Visitor, nora: Api, server: Server) -> None:
    base = "/automations/webhooks"
    assert signed_in.send(f"{base}/new", {"name": "", "automation": "shop.echo"}).status_code == 422
    page = place(signed_in.send(f"{base}/new", {"name": "Orders", "automation": "shop.echo"}))
    url = re.findall(r"<code>(http[^<]*/webhooks/[^<]*)</code>", signed_in.get(page).text)[0]
    assert url not in re.sub(r'data-copy="[^"]*"', "", signed_in.get(base).text)
    headers = {"X-Api-Key": "very-secret", "Content-Type": "application/json"}
    called = signed_in.session.post(f"{url}/a/b?token=hush&x=1", data='{"n": 1}', headers=headers, timeout=60)
    assert (called.status_code, called.text) == (201, 'hello {"n": 1}')
    row = re.findall(rf'<a [^>]*href="{page}">.*?</tr>', signed_in.get(base).text, re.DOTALL)[0]
    assert 'aria-label="Calls in the last 24 hours: 1"' in row and row.count("<rect") == 1 and "201" in row
    delivery = re.findall(r"/automations/webhooks/deliveries/\d+", signed_in.get(page).text)[0]
    shown = html.unescape(signed_in.get(delivery).text)
    assert "very-secret" not in shown and "hush" not in shown and 'hello {"n": 1}' in shown and "start:return" in shown
    replayed = place(signed_in.send(f"{delivery}/replay", page=delivery))
    assert replayed != delivery and f'href="{delivery}"' in signed_in.get(replayed).text
    for headers_text, words in (("no colon here", "is not a header"), ("Näme: x", "is not a header")):
        wrong = signed_in.send(f"{page}/try", {"try_headers": headers_text, "try_body": "kept <b>"}, page=page)
        assert wrong.status_code == 422 and words in wrong.text and "kept &lt;b&gt;" in wrong.text
    refused = signed_in.send(page, {"name": "Orders", "automations_kata": "automation/x:\n  uir: y\n"})
    assert refused.status_code == 422 and "Line 1" in refused.text
    assert place(signed_in.send(f"{page}/rotate", {"overlap": "0"})) == page
    assert signed_in.session.post(url, timeout=60).status_code == 404
    assert place(signed_in.send(f"{page}/delete", page=page)) == base and signed_in.get(page).status_code == 404


def test_a_saved_change_can_be_undone(signed_in: Visitor, nora: Api) -> None:
    id = nora.create("webhook_listener", name="Before").ok()["id"]
    page = f"/automations/webhooks/{id}"
    signed_in.send(page, {"name": "After", "automations_kata": ""})
    shown = signed_in.get(page).text
    undo = re.findall(r'<div class="toast">.*?</form>', shown, re.DOTALL)[0]
    fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', undo))
    assert fields["name"] == "Before" and signed_in.post(page, fields).status_code == 303
    assert nora.record("webhook_listener", id).ok()["name"] == "Before"


def test_simulating_changes_nothing_and_running_does(signed_in: Visitor, nora: Api) -> None:
    script = "start:\n  record.create:\n    output: made\n    inputs:\n      record_type: org\n      fields:\n"
    script += "        name: Made by a run\n  return:\n    id: {{made.id}}\n"
    policy = "commands:\n  record.create:\n    allow@bool: yes\n"
    form = {"name": "maker", "extension_id": "svc.trigger.automation.function", "script": script, "policy_kata": policy,
            "values": '{"inputs": {}}'}  # fmt: skip
    simulated = signed_in.send("/automations/new", {**form, "do": "simulate"})
    assert "Simulated" in simulated.text and nora.found("org", 'name:"Made by a run"') == []
    asked = signed_in.send("/automations/new", {**form, "do": "run"})
    assert "for real?" in asked.text and nora.found("org", 'name:"Made by a run"') == []
    ran = signed_in.send("/automations/new", {**form, "do": "run", "sure": "1"})
    assert "Run for real" in ran.text and len(nora.found("org", 'name:"Made by a run"')) == 1
    denied = signed_in.send("/automations/new", {**form, "policy_kata": "", "do": "simulate"})
    assert "policy" in re.findall(r'id="result".*?</section>', denied.text, re.DOTALL)[0]
    for values in ("{", "[1]", "5"):
        wrong = signed_in.send("/automations/new", {**form, "values": values, "do": "simulate"})
        assert wrong.status_code == 422 and 'href="#values"' in wrong.text
    assert nora.found("automation", "name:maker") == []
    page = place(signed_in.send("/automations/new", {**form, "do": "save"}))
    assert signed_in.get(page).status_code == 200 and len(nora.found("automation", "name:maker")) == 1
    twice = signed_in.send("/automations/new", {**form, "do": "save"})
    assert twice.status_code == 422 and 'href="#name"' in twice.text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("q=level:warning", "shop.echo"),
        ("level=warning", "shop.echo"),
        ("q=message:*nothing-like-it*", "Clear the filter"),
        ("level=error&q=automation:(name:shop.echo)", "Clear the filter"),
        ("q=lvel:error", "did you mean"),
        ("q=(((", 'role="alert"'),
        ("page=99999", 'rel="prev"'),
    ],
)
def test_the_log_is_searched_like_the_api(query: str, words: str, signed_in: Visitor) -> None:
    assert words in html.unescape(signed_in.get(f"/automations/log?{query}").text)


def test_every_page_has_its_own_title_and_one_heading(signed_in: Visitor, nora: Api) -> None:
    titles = {}
    for path in ("/", "/account", "/admin/tokens", "/admin/apps", "/automations", "/automations/webhooks",
                 "/automations/log"):  # fmt: skip
        page = signed_in.get(path).text
        assert page.count("<h1>") == 1 and len(page) < 100_000, path
        titles[path] = re.findall(r"<title>(.*?)</title>", page)[0]
    assert len(set(titles.values())) == len(titles)
