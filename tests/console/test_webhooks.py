"""Webhooks in the console: simulated requests, the responding automation, old addresses, live deliveries."""

import html
import json
import re
import shlex
from urllib.parse import unquote

import pytest
import requests
from playwright.sync_api import Page, expect

from server import clock
from server.automation.webhooks import responding, sample_requests
from server.automation.webhooks.received_calls import DELIVERY
from server.automation.webhooks.responding import TRIGGER
from server.web.webhook_site import received_of
from tests.console.browser import Browser, is_sideways, violations
from tests.console.visitor import Visitor, place
from tests.records.desk import Desk
from tests.service import Api, Server
from tests.telling import WALK

BASE = "/automations/webhooks"
MAKER = """inputs:
  text/word:
start:
  record.create:
    output: made
    inputs:
      record_type: org
      fields:
        name: Made by a webhook
  log.warn: made {{made.id}}
  return:
    status_code@int: 202
    headers:
      X-Made: {{made.id}}
    body: {{request_body}} {{inputs.word}}
"""
POLICY = "commands:\n  record.create:\n    allow@bool: yes\n"


@pytest.fixture(scope="module")
def maker(nora: Api) -> int:
    """A webhook whose automation creates an organization, after entries that cannot respond."""
    nora.create("automation", name="hook.build", extension_id=TRIGGER, script=MAKER, policy_kata=POLICY).ok()
    gone = nora.create("automation", name="hook.gone", extension_id=TRIGGER, script=MAKER).ok()["id"]
    function = nora.create("automation", name="hook.function", extension_id=TRIGGER, script=MAKER).ok()["id"]
    hook = new(
        nora,
        "Maker",
        """
automation/off:
  uri: svc:automation:hook.build
  disabled@bool: yes
automation/gone:
  uri: svc:automation:hook.gone
automation/other:
  uri: svc:automation:hook.function
automation/puts:
  uri: svc:automation:shop.echo
  disabled@bool: {{request_method != 'PUT'}}
automation/made:
  uri: svc:automation:hook.build
  inputs:
    word: <b>word</b>
automation/late:
  uri: svc:automation:shop.echo
""",
    )
    nora.delete(f"/rest/records/automation/{gone}.json?confirm=1").ok()
    nora.update("automation", function, extension_id="svc.trigger.automation.function").ok()
    return hook


def new(nora: Api, name: str, binding: str = "") -> int:
    return int(nora.create("webhook_listener", name=name, automations_kata=binding).ok()["id"])


def calls(nora: Api, id: int) -> int:
    return int(nora.get(f"/rest/webhooks/{id}/deliveries.json").ok()["total"])


def text(page: str) -> str:
    return html.unescape(page)


def test_simulating_responds_like_the_automation_and_leaves_nothing(signed_in: Visitor, nora: Api, maker: int) -> None:
    page = f"{BASE}/{maker}"
    tried = {"try_method": "POST", "try_headers": "X-A: 1", "try_body": "hello", "do": "simulate"}
    response = text(signed_in.send(f"{page}/try", tried, page=page).text)
    shown = re.findall(r'id="result".*?</section>', response, re.DOTALL)[0]
    assert "202" in shown and "X-Made: " in shown and "hello <b>word</b>" in shown and "made " in shown
    assert "start:record.create" in shown and "hook.build" in shown
    assert nora.found("org", 'name:"Made by a webhook"') == [] and calls(nora, maker) == 0
    assert nora.get("/rest/automations/logs/search.json", q="automation:(name:hook.build)").ok()["total"] == 0
    asked = signed_in.send(f"{page}/try", {**tried, "do": "call"}, page=page)
    assert "Are you sure?" in asked.text and calls(nora, maker) == 0
    called = signed_in.send(f"{page}/try", {**tried, "do": "call", "_sure": "1"}, page=page)
    assert place(called).startswith(f"{BASE}/deliveries/")
    assert len(nora.found("org", 'name:"Made by a webhook"')) == 1 and calls(nora, maker) == 1


def test_the_automation_that_handles_a_request_is_explained(signed_in: Visitor, maker: int) -> None:
    page = f"{BASE}/{maker}"

    def verdicts_of(method: str) -> list[str]:
        response = signed_in.send(f"{page}/try", {"try_method": method, "do": "look"}, page=page)
        assert response.status_code == 200 and "Callers get" not in response.text
        listed = text(re.findall(r'id="winner".*?</ol>', response.text, re.DOTALL)[0])
        for reason in (
            "the automation does not exist",
            "is started by svc.trigger.automation.function",
            "its `disabled@bool` is true",
            "line 9",
            "an entry above it responds",
        ):
            assert reason in listed
        assert 'with <code>{"word": "<b>word</b>"}</code>' in listed or method == "PUT"
        return re.findall(r'aria-hidden="true">.</span> ([^<]+)<', listed)

    missing = ["disabled", "cannot respond", "cannot respond"]
    assert verdicts_of("POST") == [*missing, "disabled", "responds", "not called"]
    assert verdicts_of("PUT") == [*missing, "responds", "not called", "not called"]


def test_inputs_that_the_automation_refuses_are_reported(signed_in: Visitor, nora: Api) -> None:
    script = "inputs:\n  text/word:\n    required@bool: yes\nstart:\n  return:\n    body: {{inputs.word}}\n"
    nora.create("automation", name="hook.asks", extension_id=TRIGGER, script=script).ok()
    binding = "automation/a:\n  uri: svc:automation:hook.asks\n  inputs:\n    word: {{request_params.word}}\n"
    id = new(nora, "Asks", binding)
    page = text(signed_in.send(f"{BASE}/{id}/try", {"do": "look"}, page=f"{BASE}/{id}").text)
    assert "responds with 500" in page and "inputs: 'word' is required" in page and "callers get 500" not in page
    assert "broken" not in re.findall(rf'{BASE}/{id}">.*?</tr>', signed_in.get(f"{BASE}?q=id:{id}").text, re.S)[0]
    page = text(signed_in.send(f"{BASE}/{id}/try", {"do": "look", "try_query": "word=x"}, page=f"{BASE}/{id}").text)
    assert "responds with 500" not in page and 'with <code>{"word": "x"}</code>' in page
    nora.update("webhook_listener", id, automations_kata=binding.replace("word:", "wort:")).ok()
    assert "callers get 500: inputs: 'wort' is not an input" in text(signed_in.get(f"{BASE}/{id}").text)


def test_a_webhook_is_switched_off_and_on(signed_in: Visitor, nora: Api) -> None:
    id = new(nora, "Switched", "automation/a:\n  uri: svc:automation:shop.echo\n")
    page, url = f"{BASE}/{id}", f"{nora.url}/webhooks/{nora.record('webhook_listener', id)['guid']}"
    assert "</span> on<" in signed_in.get(f"{BASE}?q=id:{id}").text
    assert place(signed_in.send(f"{page}/switch", {"off": "1"}, page=page)) == page
    shown = signed_in.get(page).text
    assert "This webhook is switched off: callers get 404" in shown and "Undo" in shown
    called = requests.post(url, data="late", timeout=60)
    assert (called.status_code, called.content) == (404, b"")
    assert "</span> off<" in signed_in.get(f"{BASE}?q=id:{id}").text
    assert "the webhook is switched off" in signed_in.get(page).text and calls(nora, id) == 1
    response = signed_in.send(f"{page}/try", {"do": "simulate", "try_body": "hi"}, page=page).text
    assert "hello hi" in response
    signed_in.send(f"{page}/switch", {"off": "0"}, page=page)
    assert requests.post(url, timeout=60).status_code == 201


@pytest.mark.parametrize("call", ["/$(id)/`id`/'\\'';id;'?a=$(id)&b=`id`", "/a%2541", "/%27;id%0Aid?x='$(id)'", ""])
def test_a_request_as_curl_only_calls(call: str, signed_in: Visitor, nora: Api, desk: Desk) -> None:
    id = new(nora, "Curl", "automation/a:\n  uri: svc:automation:shop.echo\n")
    path, _, query = call.partition("?")
    headers = [("X-Note", "$(id) `id` 'id'"), ("Content-Length", "3")]
    received = received_of("POST", path.lstrip("/"), query, headers, b"@/etc/passwd '$(id)'", "192.0.2.1")
    _, made = responding.deliver(desk.context(), desk.row("webhook_listener", id), received)
    shown = signed_in.get(f"{BASE}/deliveries/{made}").text
    opened = text(signed_in.get(f"/automations/{nora.ids['automation']}?delivery={made}").text)
    assert f'"request_path": {json.dumps(received.path)}' in opened  # as received, not decoded again
    command = text(re.findall(r"As curl</h3>.*?<code[^>]*>(.*?)</code>", shown, re.S)[0])
    words = shlex.split(command.replace("\\\n", ""))
    assert words[:4] == ["curl", "--globoff", "-X", "POST"] and words[5:] == [
        "-H", "X-Note: $(id) `id` 'id'", "--data-raw", "@/etc/passwd '$(id)'",
    ]  # fmt: skip
    assert unquote(words[4]) == "$WEBHOOK_URL" + unquote(call) and "\n" not in words[4]
    outside = re.sub(r"'[^']*'", "", command.replace("'\\''", ""))  # the part that the shell itself interprets
    assert not re.search("[`;]|\\$[^W]|id", outside)
    tried = {"do": "look", "try_path": "a b", "try_body": "x"}
    page = text(signed_in.send(f"{BASE}/{id}/try", tried, page=f"{BASE}/{id}").text)
    assert "/a%20b' \\\n" in page and "--data-raw 'x'" in page


def test_a_delivery_links_to_its_run_in_the_log(signed_in: Visitor, nora: Api, maker: int) -> None:
    page = f"{BASE}/{maker}"
    requests.post(f"{nora.url}/webhooks/{nora.record('webhook_listener', maker)['guid']}", data="x", timeout=60)
    found = nora.get(f"/rest/webhooks/{maker}/deliveries.json").ok()["results"][0]
    run = f"/automations/log?run={found['run_id']}"
    assert run in signed_in.get(page).text and "hook.build" in signed_in.get(run).text.replace("<wbr>", "")
    shown = signed_in.get(f"{BASE}/deliveries/{found['id']}").text
    assert run in shown and re.search(r"<h3>Log</h3>.*made \d+", shown, re.S)
    echoing = new(nora, "Quiet")
    requests.post(f"{nora.url}/webhooks/{nora.record('webhook_listener', echoing)['guid']}", timeout=60)
    assert nora.get(f"/rest/webhooks/{echoing}/deliveries.json").ok()["results"][0]["run_id"] == 0


@pytest.mark.parametrize(
    ("binding", "trouble", "badge"),
    [
        ("", "no automation is bound yet", "nobody"),
        ("automation/a:\n  uri: svc:automation:hook.none\n", "none of the automations below can respond", "nobody"),
        ("automation/a:\n  uri: svc:automation:shop.echo\n  disabled@bool: yes\n", "none of the auto", "nobody"),
        ("automation/a:\n  uri: svc:automation:shop.echo\n  disabled@bool: {{'x'|json_decode(1,2,3,4,5).a()}}\n", "",
         "broken"),
        ("automation/a:\n  uri: svc:automation:shop.echo\n", "", ""),
    ],
)  # fmt: skip
def test_a_webhook_without_response_says_so_in_advance(
    binding: str, trouble: str, badge: str, signed_in: Visitor, nora: Api, desk: Desk
) -> None:
    id = new(nora, "Troubled")
    with_binding(desk, id, binding)
    page = text(signed_in.get(f"{BASE}/{id}").text)
    assert trouble in page and ("Callers get" in page or "callers get 500" in page) is bool(badge)
    row = re.findall(rf'<a [^>]*href="{BASE}/{id}">.*?</tr>', signed_in.get(f"{BASE}?q=id:{id}").text, re.DOTALL)[0]
    assert f"</span> {badge}" in row if badge else "shop.echo" in row.replace("<wbr>", "")
    nora.remove("webhook_listener", id).ok()


def test_a_webhook_without_an_automation_links_to_creating_one(signed_in: Visitor, nora: Api) -> None:
    id = new(nora, "Lonely")
    page = html.unescape(signed_in.get(f"{BASE}/{id}").text)
    (lines,) = re.findall(r"<code>(automation/answer:\n  uri: svc:automation:[\w.]+)</code>", page)
    assert f"/automations/new?trigger={TRIGGER}" in page
    assert f'<option value="{TRIGGER}" selected>' in signed_in.get(f"/automations/new?trigger={TRIGGER}").text
    nora.update("webhook_listener", id, automations_kata=lines).ok()
    assert "<code>automation/answer:" not in signed_in.get(f"{BASE}/{id}").text
    nora.remove("webhook_listener", id).ok()


def with_binding(desk: Desk, id: int, binding: str) -> None:
    """Binds without the checks on saving, as older versions did."""
    table = desk.registry.type("webhook_listener").table
    desk.store.write(lambda tx: tx.update(table, id, {"automations_kata": binding}))


@pytest.mark.parametrize("name", list(sample_requests.SAMPLES))
def test_samples_fill_in_the_form(name: str, signed_in: Visitor, nora: Api) -> None:
    page = signed_in.get(f"{BASE}/{nora.ids['webhook']}?sample={name}").text
    made = sample_requests.SAMPLES[name].make(clock.now())
    assert made.body in text(page) and f'<option value="{name}" selected>' in page
    assert made.headers.split(":")[0] in page


@pytest.mark.parametrize("check", sample_requests.CHECKS, ids=lambda each: each.sample)
def test_scripts_that_check_signatures_accept_only_the_sample(
    check: sample_requests.Check, desk: Desk, nora: Api
) -> None:
    name = f"check.{check.sample}"
    desk.create("automation", name=name, extension_id=TRIGGER, script=check.script)
    binding = f"automation/x:\n  uri: svc:automation:{name}\n  inputs:\n    secret: {check.secret}\n"
    hook = desk.row("webhook_listener", desk.create("webhook_listener", name=name, automations_kata=binding)["id"])

    def status(age: int, body_more: str = "", is_signed: bool = True) -> int:
        made = sample_requests.SAMPLES[check.sample].make(clock.now() - age)
        lines = [line.split(": ", 1) for line in made.headers.split("\n")]
        headers = [(key, value) for key, value in lines if is_signed or "signature" not in key.lower()]
        received = received_of("POST", "", "", headers, (made.body + body_more).encode(), "192.0.2.1")
        return responding.simulate(desk.context(), hook, received).response.status

    has_time = check.sample != "push"
    assert [status(0), status(0, " "), status(0, is_signed=False)] == [200, 403, 403]
    assert status(sample_requests.TOLERANCE_SECONDS + 60) == (403 if has_time else 200)


def test_an_old_address_shows_its_last_call_and_is_ended(signed_in: Visitor, nora: Api) -> None:
    id = new(nora, "Moved", "automation/a:\n  uri: svc:automation:shop.echo\n")
    page, old = f"{BASE}/{id}", nora.record("webhook_listener", id)["guid"]
    for overlap in ("", "1", "x"):
        assert signed_in.send(f"{page}/rotate", {"overlap": overlap}).status_code == 422
    assert place(signed_in.send(f"{page}/rotate", {"overlap": "604800"})) == page
    shown = signed_in.get(page).text
    assert re.search("in [67] days", shown) and f"{old[:4]}••••" in shown and old not in shown
    assert "never" in re.findall(r'id="former-title".*?</section>', shown, re.DOTALL)[0]
    url = f"{nora.url}/webhooks/{old}"
    assert requests.post(url, timeout=60).status_code == 201
    shown = signed_in.get(page).text
    assert "just now" in re.findall(r'id="former-title".*?</section>', shown, re.DOTALL)[0]
    former = re.findall(r'name="former" value="(\d+)"', shown)[0]
    other = new(nora, "Other")
    assert signed_in.send(f"{BASE}/{other}/end-address", {"former": former}, page=page).status_code == 404
    assert place(signed_in.send(f"{page}/end-address", {"former": former}, page=page)) == page
    assert requests.post(url, timeout=60).status_code == 404
    assert signed_in.send(f"{page}/end-address", {"former": former}, page=page).status_code == 404


def test_the_retention_of_deliveries_is_set_and_undone(signed_in: Visitor, nora: Api) -> None:
    id = new(nora, "Kept")
    page = f"{BASE}/{id}"
    form = {"name": "Kept", "automations_kata": ""}
    for changed, words in (({"kept_days": "400"}, "above 365"), ({"kept_last": "many"}, "not a whole number")):
        wrong = signed_in.send(page, {**form, "kept_days": "1", "kept_last": "1", **changed})
        assert wrong.status_code == 422 and words in text(wrong.text)
    assert place(signed_in.send(page, {**form, "kept_days": "3", "kept_last": "7"})) == page
    shown = signed_in.get(page).text
    assert "Kept for 3 days; the last 7 and the last 5 failures are kept" in shown
    undo = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', re.findall(r'class="toast".*?</form>', shown, re.S)[0]))
    assert (undo["kept_days"], undo["kept_last"]) == ("14", "100")


def test_secrets_of_a_request_are_in_no_row_and_a_replay_has_them(
    signed_in: Visitor, nora: Api, desk: Desk, server: Server
) -> None:
    script = "start:\n  return:\n    body: {{request_headers.authorization}} {{request_params.token}}\n"
    nora.create("automation", name="hook.secrets", extension_id=TRIGGER, script=script).ok()
    id = new(nora, "Secrets", "automation/a:\n  uri: svc:automation:hook.secrets\n")
    url = f"{server.url}/webhooks/{nora.record('webhook_listener', id)['guid']}"
    sent = {"Authorization": "Bearer very-dear", "Cookie": "sid=very-dear"}
    assert requests.post(f"{url}?token=hush-hush", headers=sent, timeout=60).text == "Bearer very-dear hush-hush"
    row = desk.read(lambda tx: tx.first(DELIVERY, listener_id=id))
    values = {name: value for name, value in zip(DELIVERY.names, row or (), strict=True) if name != "answer"}
    assert "very-dear" not in str(values) and "hush-hush" not in str(values)
    page = f"{BASE}/deliveries/{values['id']}"
    assert "very-dear" not in re.sub(r'aria-label="Response body".*?</pre>', "", signed_in.get(page).text)
    replayed = signed_in.get(place(signed_in.send(f"{page}/replay", page=page))).text
    assert "Bearer very-dear hush-hush" in replayed and "kept nowhere" not in replayed
    table = DELIVERY.names
    lost = desk.store.write(
        lambda tx: tx.insert(DELIVERY, {name: values[name] for name in table if name in values and name != "id"})
    )
    assert "were not stored" in signed_in.get(f"{BASE}/deliveries/{lost}").text


# -- in a browser ------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive("live parts of pages are tested in test_live.py")
def test_the_first_call_appears_by_itself(phone: Page, nora: Api, server: Server) -> None:
    id = new(nora, "Listens", "automation/a:\n  uri: svc:automation:shop.echo\n")
    phone.goto(f"{BASE}/{id}")
    expect(phone.get_by_text("Listening: the first call appears here by itself.")).to_be_visible()
    phone.fill("#try_body", "being written")
    assert violations(phone, part="main") == [] and not is_sideways(phone)
    url = f"{server.url}/webhooks/{nora.record('webhook_listener', id)['guid']}"
    requests.post(f"{url}/first", timeout=60)
    expect(phone.locator("#deliveries tbody tr")).to_have_count(1)
    expect(phone.locator("#deliveries")).to_contain_text("POST /first")
    phone.locator("#deliveries .main a").focus()
    requests.post(f"{url}/second", timeout=60)
    expect(phone.locator("#deliveries tbody tr")).to_have_count(2)
    expect(phone.locator("#deliveries tbody tr").nth(1).locator(".main a")).to_be_focused()
    expect(phone.locator("#try_body")).to_have_value("being written")
    phone.get_by_role("button", name="Which automation responds?").click()  # the linked page listens as well
    expect(phone.locator("#deliveries")).to_have_attribute("data-page", f"{BASE}/{id}")
    requests.post(f"{url}/third", timeout=60)
    expect(phone.locator("#deliveries tbody tr")).to_have_count(3)


@pytest.mark.exhaustive("a page by keyboard alone")
def test_a_request_is_tried_by_keyboard_alone(phone: Page, maker: int) -> None:
    phone.goto(f"{BASE}/{maker}")
    phone.locator("#sample").focus()
    phone.keyboard.type("A push")
    phone.keyboard.press("Tab")
    phone.keyboard.press("Enter")
    phone.wait_for_url("**sample=push**")
    expect(phone.locator("#try_headers")).to_have_value(re.compile("X-Hub-Signature-256: sha256="))
    phone.locator("#try_body").focus()
    phone.keyboard.press("Control+Enter")
    expect(phone.locator("#result")).to_be_focused()
    expect(phone.get_by_label("Simulated response")).to_contain_text("sky/kite")
    assert violations(phone, part="main") == [] and not is_sideways(phone)


@WALK
def test_a_delivery_becomes_the_input_of_a_simulation_without_scripts(
    chromium: Browser, server: Server, nora: Api, signed_in: Visitor
) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies, java_script_enabled=False) as plain:
        plain.goto(f"{BASE}/{nora.ids['webhook']}?sample=form")
        plain.get_by_role("button", name="Simulate").click()
        expect(plain.get_by_label("Simulated response")).to_contain_text("hello name=Ana")
        plain.get_by_role("button", name="Call for real").click()
        plain.get_by_role("button", name="Call for real").click()
        expect(plain.get_by_role("heading", level=1)).to_contain_text("Delivery")
        plain.get_by_role("link", name="Open in the simulator").click()
        expect(plain.locator("#values")).to_have_value(re.compile(r'"request_body": "name=Ana'))


def test_durations_and_failures_of_calls_are_shown(signed_in: Visitor, nora: Api) -> None:
    id = new(nora, "Timed")
    assert "calls, half took" not in signed_in.get(f"{BASE}/{id}").text
    url = f"{nora.url}/webhooks/{nora.record('webhook_listener', id)['guid']}"
    assert {requests.post(url, timeout=60).status_code for _ in range(3)} == {404}  # no automation is bound to it
    shown = text(signed_in.get(f"{BASE}/{id}").text)
    assert (
        re.search(r"Of the last 3 calls, half took up to \d+ ms, and 95 % up to \d+ ms\.", shown)
        and "3 failed" in shown
    )
