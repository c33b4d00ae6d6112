"""The pages of automations: editor, runs, examples, history and users of an automation, in a browser and over HTTP."""

import html
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Page, expect

from server.automation import uses
from server.automation.engine import STOPPED, Run
from server.automation.host import Script, StandaloneHost
from server.automation.stopping import StoppableRuns
from server.record_types.shared.triggers import TRIGGERS
from tests.console.browser import Browser, is_sideways, violations
from tests.console.visitor import Visitor, place, text_of, value
from tests.service import Api, Server
from tests.telling import WALK, telling

FUNCTION = "svc.trigger.automation.function"
TRIED = (FUNCTION, "svc.trigger.mail.received", "svc.trigger.webhook.respond")  # a script, a mail, a request
GREET = """inputs:
  text/who:
    required@bool: yes
    description: Whom to greet.
  text/loud:
    type: bool
    default: no
  array/also:
start:
  log: greets {{inputs.who}}
  return:
    greeting: Hello {{inputs.who}}
    also: {{inputs.also|join('+')}}
"""
FIND = """start:
  set:
    x: 1
  record.search:
    inputs:
      record_type: org
      record_query: name:*
    output: found
  return:
    x: {{x}}
"""
WAIT = "start:\n  set:\n    a: 1\n  await:\n    until: +1 hour\n  return:\n    a: {{a}} later\n"
POLICY = "commands:\n  record.search:\n    allow/orgs@bool: yes\n"


@pytest.fixture
def page(chromium: Browser, server: Server, signed_in: Visitor) -> Iterator[Page]:
    with chromium.page(server.url, cookies=signed_in.cookies, permissions=["clipboard-read"]) as opened:
        yield opened


def made(nora: Api, name: str, script: str, **more: str) -> int:
    fields = {"extension_id": FUNCTION, **more}
    return int(nora.create("automation", name=name, script=script, **fields).ok()["id"])


def form(nora: Api, id: int, **changes: str) -> dict[str, str]:
    """Returns the form that the editor would send."""
    record = nora.record("automation", id, expand="script").ok().json
    names = ("name", "extension_id", "description", "script", "policy_kata")
    return {name: record[name] for name in names} | {"values": "{}"} | changes


# -- in a browser ------------------------------------------------------------------------------------------------------


@WALK
def test_write_fix_complete_save_simulate_run_and_restore_by_keyboard_and_mouse(page: Page, nora: Api) -> None:
    page.goto("/automations/new")
    script = page.locator("#script")
    script.fill("start:\n  set:\n    n: 1\n  retrun:\n    n: {{n}}\n")
    told = page.locator("#script-mistakes")
    expect(told).to_contain_text("Line 4")
    expect(told).to_contain_text("return")
    page.locator("#name").focus()
    page.keyboard.press("F8")
    expect(script).to_be_focused()
    assert script.evaluate("e => e.value.slice(0, e.selectionStart).split('\\n').length") == 4
    page.keyboard.press("End")
    for _ in "  retrun:":
        page.keyboard.press("Backspace")
    page.keyboard.type("  lo")
    popup = page.get_by_role("listbox")
    expect(popup.get_by_role("option").first).to_contain_text("log")
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(popup).to_be_hidden()
    page.keyboard.type("g")
    expect(popup.get_by_role("option", selected=True)).to_contain_text("log")
    page.keyboard.press("ArrowDown")
    expect(popup.get_by_role("option", selected=True)).to_contain_text("log.")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator(".where").first).to_have_text(re.compile("Line 4: start:log – Write a message to"))
    page.keyboard.type(" n is {{n}}")
    page.keyboard.press("Enter")
    page.keyboard.type("  ret")
    popup.get_by_role("option").first.click()
    expect(script).to_have_value("start:\n  set:\n    n: 1\n  log: n is {{n}}\n  return:\n    n: {{n}}\n")
    expect(told).to_be_empty()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator("#policy_kata")).to_be_focused()
    page.fill("#name", "journey.one")
    page.keyboard.press("Control+s")
    page.wait_for_url(re.compile(r"/automations/\d+$"))
    expect(page.locator("#toasts")).to_contain_text("Saved.")
    page.locator("#script").focus()
    page.keyboard.press("Control+Enter")
    result = page.locator("#result")
    expect(result).to_be_focused()
    expect(result).to_contain_text("Simulated")
    page.get_by_role("button", name="Show the state after step 1", exact=True).click()
    expect(page.get_by_role("region", name="State after step 1")).to_contain_text('"n": "1"')
    page.get_by_role("button", name="Run for real…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("as the service, not as you")
    dialog.get_by_role("button", name="Run for real").click()
    expect(result).to_contain_text("Run for real")
    page.locator("#description").fill("Says a number.")
    page.locator("#script").fill("start:\n  return:\n    n: 2\n")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#toasts").get_by_role("button", name="Undo")).to_be_visible()
    page.get_by_role("link", name="History").click()
    page.get_by_role("link", name="Version 1").click()
    page.locator("#version").get_by_role("link", name="Compare with now").click()
    expect(page.get_by_role("row", name="− removed log: n is {{n}}")).to_be_visible()
    expect(page.get_by_role("row", name="+ added n: 2")).to_be_visible()
    page.get_by_role("button", name="Restore this version").click()
    expect(page.locator("#toasts")).to_contain_text("Version 1 restored")
    id = nora.found("automation", "name:journey.one")[0]
    assert "n is {{n}}" in nora.record("automation", id, expand="script").ok()["script"]
    page.locator("#toasts").get_by_role("button", name="Undo").last.click()
    expect(page.locator("#toasts")).to_contain_text("Version 2 restored")
    assert "n: 2" in nora.record("automation", id, expand="script").ok()["script"]


Mistake = tuple[str, str, int, str]
MISTAKES: dict[str, Mistake] = {  # field, text, line, reason
    "tab": ("script", "start:\n\treturn:\n", 2, "this one has a tab"),
    "annotation": (
        "script",
        "start:\n  log: x\n  set:\n    a@bol: yes\n",
        4,
        "'@bol' is not an annotation; did you mean 'bool'?",
    ),
    "input of a command": (
        "script",
        "start:\n  http.request:\n    inptus:\n",
        3,
        "does not belong in http.request; did you mean 'inputs'?",
    ),
    "filter": (
        "script",
        "start:\n  log: y\n  log.warn: {{a|uper}}\n",
        3,
        "there is no filter 'uper'; did you mean 'upper'?",
    ),
    "key twice": ("script", "start:\n  return:\n    a: 1\n    a: 2\n", 4, "'a' appears here twice"),
    "type of an input": ("script", "inputs:\n  text/a:\n    type: nubmer\nstart:\n", 3, "did you mean 'number'?"),
    "command without a condition": ("script", "start:\n  set:\n    a: 1\n  while:\n    do:\n", 4, "while needs `if:`"),
    "command of a policy": (
        "policy_kata",
        "commands:\n  http.requst:\n    allow@bool: yes\n",
        2,
        "did you mean 'http.request'?",
    ),
    "key of a policy": ("policy_kata", "commands:\n  all:\n    alow@bool: yes\n", 3, "did you mean 'allow'?"),
}


@pytest.mark.parametrize("mistake", telling(MISTAKES, ("filter", "key of a policy"), "every kind of mistake"))
def test_a_mistake_is_reported_while_typing_and_links_to_its_line(
    page: Page, mistake: tuple[str, str, int, str]
) -> None:
    name, text, line, reason = mistake
    page.goto("/automations/new")
    field, told = page.locator(f"#{name}"), page.locator(f"#{name}-mistakes")
    field.fill(text)
    expect(told).to_contain_text(reason)
    told.get_by_role("link", name=f"Line {line}", exact=True).first.click()
    expect(field).to_be_focused()
    assert field.evaluate("e => e.value.slice(0, e.selectionStart).split('\\n').length") == line


@pytest.mark.exhaustive("every kind of mistake")
def test_unknown_record_types_and_fields_are_flagged_while_typing(page: Page) -> None:
    page.goto("/automations/new")
    script, told = page.locator("#script"), page.locator("#script-mistakes")
    script.fill(FIND.replace("org", "ogr"))
    expect(told).to_contain_text("Line 6")
    expect(told).to_contain_text("there is no record type 'ogr'; did you mean 'org'?")
    script.fill(FIND)
    expect(told).to_have_text("")


def test_without_scripts_the_check_reports_unknown_record_types(signed_in: Visitor, nora: Api) -> None:
    id = made(nora, "test.unknown", FIND.replace("org", "ogr"), policy_kata=POLICY)
    page = signed_in.get(f"/automations/{id}").text
    assert "there is no record type &#39;ogr&#39;" in page


def test_fields_of_records_are_completed_and_an_outline_links_to_lines(page: Page) -> None:
    page.goto("/automations/new")
    script = page.locator("#script")
    lines = ["start:", "  set:", "    text@text:", "      no_key:", "  record.create:", "    inputs:",
             "      record_type: organi", ""]  # fmt: skip
    script.fill("\n".join(lines[:-1]))
    script.press("Control+End")
    for _ in "organi":
        page.keyboard.press("Backspace")
    page.keyboard.type("or")
    popup = page.get_by_role("listbox")
    expect(popup.get_by_role("option", selected=True)).to_have_text("org")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.type("      fields:")
    page.keyboard.press("Enter")
    page.keyboard.type("        webs")
    expect(popup.get_by_role("option")).to_have_text(re.compile("website Web site"))
    page.keyboard.press("Enter")
    expect(script).to_have_value(re.compile(r"record_type: org\n      fields:\n        website:$"))
    page.keyboard.type(" https://a.example")
    expect(page.locator(".where").first).to_contain_text("record.create:inputs:fields:website – Web site")
    outline = page.locator(".editor", has=script).get_by_role("group")
    outline.get_by_text("Outline").click()
    expect(outline.get_by_role("listitem")).to_have_text(["start", "set", "text", "record.create", "inputs", "fields"])
    outline.get_by_role("link", name="record.create").click()
    expect(script).to_be_focused()
    assert script.evaluate("e => e.value.slice(0, e.selectionStart).split('\\n').length") == 5
    assert violations(page, part="main") == []


def test_leaving_with_unsaved_text_asks_and_a_draft_is_stored(page: Page, nora: Api) -> None:
    id = made(nora, "journey.two", GREET)
    asked: list[str] = []
    page.on("dialog", lambda each: (asked.append(each.type), each.accept()))
    page.goto(f"/automations/{id}")
    page.goto("/automations")
    assert asked == []
    page.goto(f"/automations/{id}")
    page.locator("#description").click()
    page.keyboard.type("typed")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#summary")).to_contain_text("requires this input")
    page.goto("/automations")
    assert asked == ["beforeunload"]


@WALK
def test_without_scripts_it_is_written_run_and_restored(
    chromium: Browser, server: Server, signed_in: Visitor, nora: Api
) -> None:
    id = made(nora, "plain.one", GREET)
    with chromium.page(server.url, cookies=signed_in.cookies, java_script_enabled=False) as page:
        page.goto(f"/automations/{id}")
        page.get_by_label("who").fill("Ana")
        page.get_by_label("also").fill("Ben\nCleo")
        page.get_by_role("button", name="Simulate").first.click()
        expect(page.get_by_label("Returned")).to_contain_text("Ben+Cleo")
        page.get_by_role("button", name="Show the state after step 1", exact=True).click()
        expect(page.get_by_role("heading", name="State after step 1")).to_be_visible()
        page.locator("#example_name").fill("Ana and others")
        page.get_by_role("button", name="Save as example").click()
        expect(page.locator(".note").first).to_contain_text("Example “Ana and others” saved")
        page.get_by_role("button", name="Run for real").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("for real?")
        page.get_by_role("button", name="Run for real").click()
        expect(page.locator("#result")).to_contain_text("Run for real")
        page.locator("#script").fill(GREET.replace("Hello", "Bye"))
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator("#toasts")).to_contain_text("1 of 1 example has a different result.")
        page.get_by_role("button", name="Simulate the example Ana and others").click()
        expect(page.get_by_label("Result when saved")).to_contain_text("Hello Ana")
        expect(page.get_by_label("Result now")).to_contain_text("Bye Ana")
        page.get_by_role("button", name="Save the new result").click()
        page.get_by_role("button", name="Simulate the example Ana and others").click()
        expect(page.locator("#result")).to_contain_text("has the same result as when it was saved")
        page.goto("/automations/log?q=automation:(name:plain.one)")
        page.get_by_role("link", name="start:log").click()
        expect(page.locator("#here")).to_contain_text("log: greets {{inputs.who}}")
        page.get_by_role("link", name="Version 1").click()
        page.get_by_role("button", name="Restore this version").click()
        expect(page.locator("#toasts")).to_contain_text("Version 1 restored")


@pytest.mark.exhaustive("the pages of automations on a phone")
def test_on_a_phone_in_the_dark_axe_finds_nothing(
    chromium: Browser, server: Server, signed_in: Visitor, nora: Api
) -> None:
    id = made(nora, "shop.orders.intake_and_forwarding.northern_region.v2", GREET, description="Long. " * 30)
    nora.update("automation", id, script=FIND, policy_kata=POLICY).ok()
    paths = ("", f"/{id}", f"/{id}/history?version=1&against=now", f"/{id}/uses", "/log", "/log?group=run")
    with chromium.page(server.url, (390, 844), signed_in.cookies, color_scheme="dark") as page:
        for path in paths:
            page.goto(f"/automations{path}")
            assert violations(page) == [] and not is_sideways(page), path
        page.goto(f"/automations/{id}")
        page.get_by_role("button", name="Simulate").first.click()
        expect(page.locator("#result")).to_contain_text("allowed by")
        page.evaluate("scrollTo(0, 0)")  # else the top bar covers something
        assert violations(page) == [] and not is_sideways(page)


# -- over HTTP ---------------------------------------------------------------------------------------------------------


def test_a_script_with_mistakes_is_stored_as_a_draft_while_the_old_one_runs(signed_in: Visitor, nora: Api) -> None:
    id = made(nora, "draft.one", "start:\n  return:\n    a: 1\n")
    path = f"/automations/{id}"
    script = "inputs:\n  text/who:\nstart:\n  retrun:\n"
    wrong = signed_in.send(path, form(nora, id, script=script, do="save", **{"input:who": "typed"}))
    assert wrong.status_code == 422 and "stored as a draft. The running version is unchanged" in text_of(wrong.text)
    assert "Line 4" in text_of(wrong.text)
    assert nora.record("automation", id, expand="script").ok()["script"] == "start:\n  return:\n    a: 1\n"
    page = signed_in.get(path).text
    no_draft = f'data-draft-note="automation:{id}" hidden'
    assert no_draft not in page and "You have an unsaved draft" in page and "retrun" not in page
    taken = signed_in.get(f"{path}?draft=automation:{id}").text
    assert "retrun" in taken and "did you mean" in text_of(taken) and value(taken, "input:who") == "typed"
    assert place(signed_in.send(path, form(nora, id, script="start:\n  return:\n    a: 2\n", do="save"))) == path
    assert no_draft in signed_in.get(path).text


def test_inputs_have_fields_and_their_errors_are_shown_there(signed_in: Visitor, nora: Api) -> None:
    script = (
        "inputs:\n  text/mail:\n    type: email\n    required@bool: yes\n  record/owner:\n    record_type: worker\n"
        "  text/note:\n    type: freeform\n    default: none\nstart:\n  return:\n    got: {{inputs.mail}}\n"
    )
    id = made(nora, "inputs.one", script)
    page = signed_in.get(f"/automations/{id}").text
    said = text_of(page)
    hints = ("Type email. Required.", "A record of the type worker.", "Default: none.")
    assert all(each in said for each in hints) and "Milo" in said
    for sent, words in (
        ({}, "The script requires this input"), ({"input:mail": "nobody"}, "Takes an email address"),
        ({"input:mail": "a@b.example", "input:owner": "999999"}, "Is worker 999999, which does not exist"),
        ({"input:mail": "a@b.example", "input:owner": "Nobody at all"}, "No record has exactly that name"),
        ({"values": "[]"}, "Enter the values as a map"), ({"values": "{"}, "values"),
    ):  # fmt: skip
        response = signed_in.send(f"/automations/{id}", form(nora, id, do="simulate") | sent)
        assert response.status_code == 422 and words in text_of(response.text), sent
    sent = {"input:mail": "a@b.example", "input:owner": str(nora.ids["milo"]), "input:note": "x"}
    assert "a@b.example" in signed_in.send(f"/automations/{id}", form(nora, id, do="simulate") | sent).text
    sent = {"input:mail": "", "values": '{"inputs": {"mail": "c@d.example"}}'}
    assert "c@d.example" in signed_in.send(f"/automations/{id}", form(nora, id, do="simulate") | sent).text


def test_examples_are_named_limited_and_compared_on_save(signed_in: Visitor, nora: Api) -> None:
    id = made(nora, "examples.one", GREET)
    path = f"/automations/{id}"
    keep = form(nora, id, do="keep", **{"input:who": "Ana"})
    assert "Give the example a name" in text_of(signed_in.send(path, keep).text)
    assert "at most 100" in text_of(signed_in.send(path, keep | {"example_name": "x" * 101}).text)
    for name in ("Ana", "Ben"):
        assert signed_in.send(path, keep | {"example_name": name, "input:who": name}).status_code == 200
    signed_in.send(path, form(nora, id, do="save", description="other"))
    assert "All examples have the same result as before" in text_of(signed_in.get(path).text)
    signed_in.send(path, form(nora, id, do="save", script=GREET.replace("{{inputs.who}}\n    also", "Ana\n    also")))
    assert "1 of 2 examples have a different result" in text_of(signed_in.get(path).text)
    number = re.findall(r'name="example" value="(\d+)" aria-label="Simulate the example Ben"', signed_in.get(path).text)
    shown = text_of(signed_in.send(path, form(nora, id, example=number[0])).text)
    assert "The result of the example" in shown and "Hello Ben" in shown
    assert place(signed_in.send(f"{path}/examples", {"example": number[0]}, page=path)) == f"{path}#examples"
    assert "the example Ben" not in signed_in.get(path).text
    assert signed_in.send(f"{path}/examples", {"example": number[0]}, page=path).status_code == 404
    new = signed_in.send("/automations/new", keep | {"example_name": "x", "name": "", "script": GREET})
    assert "Save the automation first" in text_of(new.text)


def test_saving_a_policy_warns_about_its_callers(signed_in: Visitor, nora: Api) -> None:
    policy = f"{POLICY}callers:\n  somebody:\n    allow: yes\n"
    id = made(nora, "callers.one", FIND, policy_kata=policy)
    assert "has no effect" in text_of(signed_in.get(f"/automations/{id}").text)
    told = signed_in.send("/-/check/policy", {"text": policy}, page=f"/automations/{id}").json()["mistakes"]
    assert [reason.partition(":")[0] for _, reason in told] == ["a warning"]


def test_a_run_names_the_rule_that_allowed_or_denied_it(signed_in: Visitor, nora: Api) -> None:
    id = made(nora, "rules.one", FIND, policy_kata=POLICY)
    path = f"/automations/{id}"
    allowed = text_of(signed_in.send(path, form(nora, id, do="simulate")).text)
    assert "allowed by allow/orgs" in allowed and "time limit of 10 s" in allowed
    refused = POLICY.replace("allow/orgs", "deny/orgs") + "settings:\n  time_limit_ms: 3000\n"
    for policy, words in ((refused, "refused by deny/orgs"), ("", "refused: no rule allows it")):
        shown = text_of(signed_in.send(path, form(nora, id, do="simulate", policy_kata=policy)).text)
        assert words in shown, policy
    assert "time limit of 3 s" in text_of(signed_in.send(path, form(nora, id, do="run", policy_kata=refused)).text)


def test_a_simultaneous_change_is_not_overwritten_unseen(signed_in: Visitor, nora: Api) -> None:
    id = made(nora, "shared.one", "start:\n  return:\n    a: 1\n")
    path = f"/automations/{id}"
    begun = value(signed_in.get(path).text, "version")
    nora.update("automation", id, script="start:\n  return:\n    a: 2\n").ok()
    mine = form(nora, id, script="start:\n  return:\n    a: 3\n", version=begun)
    simulated = signed_in.send(path, {**mine, "do": "simulate"}).text
    assert '"a": "3"' in html.unescape(simulated) and value(simulated, "version") == begun
    refused = signed_in.send(path, {**mine, "do": "save"})
    assert refused.status_code == 422 and "Somebody saved version" in refused.text and "a: 3" in refused.text
    assert "a: 2" in nora.record("automation", id, expand="script").ok()["script"]
    again = {**mine, "version": value(refused.text, "version"), "do": "save"}
    assert place(signed_in.send(path, again)) == path
    assert "a: 3" in nora.record("automation", id, expand="script").ok()["script"]


ENDLESS = "start:\n  while:\n    if: yes\n    do:\n      set:\n        a: 1\n"


@pytest.mark.exhaustive("the form behind the button is tested below")
def test_a_run_is_stopped_by_the_worker_who_waits_for_it(page: Page, signed_in: Visitor, nora: Api) -> None:
    called = made(nora, "stopped.inner", ENDLESS)
    script = "start:\n  function:\n    uri: svc:automation:stopped.inner\n    output: a\n"
    id = made(nora, "stopped.outer", script, policy_kata="commands:\n  all:\n    allow@bool: yes\n")
    for path in (f"/automations/{called}", f"/automations/{id}"):
        page.goto(path)
        stop = page.get_by_role("button", name="Stop the run")
        expect(stop).to_be_hidden()
        # From within the page, since Playwright does not act on a page that waits for another one.
        page.evaluate("""() => {
            const stop = document.querySelector("[data-stop]");
            new MutationObserver(() => stop.hidden || stop.click()).observe(stop, { attributes: true });
        }""")
        page.get_by_role("button", name="Simulate", exact=True).click()
        expect(page.locator("#result")).to_contain_text("the run was stopped by the worker who started it")
        expect(stop).to_be_hidden()
    gone = signed_in.send("/automations/stop", {"run_code": "x"}, page=f"/automations/{id}")
    assert gone.status_code == 404 and "Nothing is running from this page" in gone.text


def test_a_real_run_is_stopped_in_its_own_page(server: Server, signed_in: Visitor, nora: Api) -> None:
    id = made(nora, "stopped.plain", ENDLESS)
    path, other = f"/automations/{id}", Visitor(server.url)
    asked = signed_in.send(path, form(nora, id, do="run")).text
    code = value(asked, "run_code")
    assert "Stop the run" in asked and code
    assert other.sign_in().status_code == 303
    stop, token = {"run_code": code}, other.token(path)
    with ThreadPoolExecutor(1) as apart:
        running = apart.submit(signed_in.send, path, form(nora, id, do="run", sure="1", run_code=code))
        told = set()
        while not running.done():  # it may not have begun yet
            response = other.post("/automations/stop", {**stop, "_xsrf": token})
            told.add((response.status_code, "The run stops after its current command" in response.text))
        assert (200, True) in told <= {(200, True), (404, False)}
    assert "the run was stopped by the worker who started it" in running.result().text
    found = nora.get("/rest/automations/logs/search.json", q="automation:(name:stopped.plain)").ok()["results"]
    assert [each["message"] for each in found] == ["the run was stopped by the worker who started it"]


def test_a_run_of_another_worker_cannot_be_stopped() -> None:
    runs, run = StoppableRuns(), Run(Script("start:\n"), {}, StandaloneHost())
    with runs.under(1, "code", run):
        assert [runs.stop(2, "code"), runs.stop(1, "other"), runs.stop(1, "code")] == [False, False, True]
        assert run.result().message == STOPPED
    assert not runs.stop(1, "code")


def test_a_waiting_run_can_be_followed_to_its_end(signed_in: Visitor, nora: Api) -> None:
    id = made(nora, "waits.one", WAIT, extension_id="svc.trigger.automation.timer")
    path = f"/automations/{id}"
    waiting = signed_in.send(path, form(nora, id, do="simulate")).text
    assert "The run is waiting at start:await" in text_of(waiting)
    continuation = re.findall(r'name="continuation" value="([^"]*)"', waiting)
    went_on = signed_in.send(path, form(nora, id, do="resume", continuation=html.unescape(continuation[0])))
    assert '"a": "1 later"' in html.unescape(went_on.text)
    for bad in ("", "[]", '{"__state": {"frames": 7}}'):
        assert signed_in.send(path, form(nora, id, do="resume", continuation=bad)).status_code in (200, 422)


def test_simulating_honours_on_simulate_and_writes_nothing(signed_in: Visitor, nora: Api) -> None:
    script = (
        "start:\n  record.create:\n    inputs:\n      record_type: org\n      fields:\n        name: Never made\n"
        "    output: org\n    on_simulate:\n      simulate.success:\n        id: 7\n  return:\n    id: {{org.id}}\n"
    )
    id = made(nora, "dry.one", script, policy_kata="commands:\n  all:\n    allow@bool: yes\n")
    shown = signed_in.send(f"/automations/{id}", form(nora, id, do="simulate")).text
    assert '"id": "7"' in html.unescape(shown) and nora.found("org", 'name:"Never made"') == []


def test_every_change_creates_a_version_whatever_its_source(signed_in: Visitor, nora: Api) -> None:
    id = made(nora, "history.one", "start:\n  return:\n    a: 1\n")
    path = f"/automations/{id}/history"
    nora.update("automation", id, script="start:\n  return:\n    a: 2\n", description="<b>two</b>").ok()
    nora.update("automation", id, script="start:\n  return:\n    a: 2\n").ok()
    nora.update("automation", id, name="history.renamed").ok()
    page = text_of(signed_in.get(path).text)
    assert "Version 3" in page and "Version 4" not in page
    assert "what it does, script" in page and "Nora Berg" in page and "created" in page
    second = text_of(signed_in.get(f"{path}?version=2").text)
    assert "− removed a: 1" in second and "+ added a: 2" in second and "<b>two</b>" in second
    assert "No difference." in text_of(signed_in.get(f"{path}?version=3&against=now").text)
    for unknown in ("99", str(2**63 - 1)):
        assert signed_in.get(f"{path}?version={unknown}").status_code == 422
    other = made(nora, "history.taken", "start:\n  return:\n    a: 1\n")
    nora.update("automation", id, name="history.two").ok()
    nora.update("automation", other, name="history.renamed").ok()
    refused = signed_in.send(f"/automations/{id}/restore", {"version": "3"}, page=path)
    assert refused.status_code == 422 and "history.renamed" in text_of(refused.text)
    assert signed_in.send(f"/automations/{id}/restore", {"version": "77"}, page=path).status_code == 422


def test_users_of_an_automation_are_listed_and_counted(signed_in: Visitor, nora: Api) -> None:
    id = made(nora, "used.one", "start:\n  return:\n    a: 1\n", extension_id="svc.trigger.webhook.respond")
    made(nora, "used.one.more", "start:\n  return:\n    a: 1\n", extension_id="svc.trigger.webhook.respond")
    path = f"/automations/{id}/uses"
    assert "Nothing uses this automation" in text_of(signed_in.get(path).text)
    binding = "automation/x:\n  uri: svc:automation:Used.One\n"
    hook = nora.create("webhook_listener", name="A hook", automations_kata=binding).ok()["id"]
    nora.create(
        "resource", name="used.csv", extension_id="svc.resource.dataset.csv", is_dynamic=1, automation_kata=binding
    ).ok()
    nora.create("webhook_listener", name="Another", automations_kata=binding.replace("One", "one.more")).ok()
    caller = made(nora, "used.caller", "start:\n  function:\n    uri: used.one\n    output: a\n")
    page = signed_in.get(path).text
    assert [name in page for name in ("A hook", "used.<wbr>csv", "used.<wbr>caller", "Another")] == [True] * 3 + [False]
    assert f"/automations/webhooks/{hook}" in page and f"/automations/{caller}" in page
    assert 'aria-label="Used by 3: used.one"' in signed_in.get("/automations?q=name:used.one").text


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("uri: svc:automation:A.b", ["a.b"]), ("uri@text: plain-name\n", ["plain-name"]), ("uri: {{x}}", []),
        ("{{ svc_automation('f.g', {}) }}", ["f.g"]), ('{{svc_automation(uri="h", inputs={})}}', ["h"]),
        ("query: type:automation.invoke name:i.j", ["i.j"]), ('{"kata": "  uri: k\\nx"}', ["k"]),
        ("uri: two words", []), ("my_uri: x\nURI: y", ["y"]), ("", []),
    ],
)  # fmt: skip
def test_names_in_texts(text: str, named: list[str]) -> None:
    assert sorted(uses.names(text)) == named


def test_the_list_shows_last_runs_and_failures(signed_in: Visitor, nora: Api) -> None:
    id = made(nora, "runs.one", "start:\n  error: no\n", extension_id="svc.trigger.data.query")
    assert "no runs" in text_of(signed_in.get("/automations?q=name:runs.one").text)
    signed_in.send(f"/automations/{id}", form(nora, id, do="run", sure="1"))
    page = text_of(signed_in.get("/automations?q=name:runs.one").text)
    assert "failed" in page and "1 of 1 (100 %)" in page and "just now" in page


def test_other_workers_see_only_names(server: Server, nora: Api) -> None:
    id = made(nora, "for.all", GREET)
    milo = Visitor(server.url)
    milo.sign_in("milo@desk.example")
    listed = milo.get("/automations?q=name:for.all").text
    assert "for.<wbr>all" in listed and "Used by" not in listed and f"/automations/{id}" not in listed
    for path in (f"/automations/{id}", f"/automations/{id}/history", f"/automations/{id}/uses", "/-/words"):
        assert milo.get(path).status_code == 403, path
    assert milo.get("/automations?q=nmae:x").status_code == 422


def test_the_editor_knows_the_words_of_the_language(signed_in: Visitor) -> None:
    found = signed_in.get("/-/words").json()
    assert "record_type" in found["commands"]["record.search"]["inputs"]
    assert found["flow"]["repeat"]["keys"] == ["each", "as", "do"]
    assert {"bool", "json"} <= set(found["annotations"]) and "all" in found["policy"]["commands"]
    assert "shop.echo" in found["names"]
    assert found["fields"]["org"]["name"] and "id" not in found["fields"]["org"]


# -- real values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trigger", telling(list(TRIGGERS), TRIED, "every trigger"))
def test_an_automation_of_each_trigger_is_tried_with_a_ticket(signed_in: Visitor, nora: Api, trigger: str) -> None:
    ticket = nora.parse(b"From: ann@trial.example\nSubject: Pump\n\nIt leaks.").ok()
    mask = nora.record("ticket", ticket["id"])["mask"]
    script = "start:\n  return:\n    subject: {{ticket_subject}}\n"
    id = made(nora, f"trial.{trigger.rpartition('.')[2]}.{ticket['id']}", script, extension_id=trigger)
    path = f"/automations/{id}"
    page = signed_in.send(path, {**form(nora, id), "do": "ticket", "ticket": f"#{mask}"}, path)
    assert page.status_code == 200 and "Pump" in text_of(page.text[page.text.index('id="result"') :])
    missing = signed_in.send(path, {**form(nora, id), "do": "ticket", "ticket": "no-such"}, path)
    assert missing.status_code == 422 and "There is no ticket" in text_of(missing.text)
    never = signed_in.send(path, {**form(nora, id), "do": "last"}, path)
    assert never.status_code == 422 and "has not run yet" in text_of(never.text)
    nora.remove("automation", id).ok()


def test_an_automation_is_tried_with_its_last_run(signed_in: Visitor, nora: Api) -> None:
    """The inputs of the run are in their fields, everything else is in the box."""
    script = (
        "inputs:\n  text/who:\n    default: nobody\nstart:\n  return:\n    told: {{inputs.who}} of {{email_subject}}\n"
    )
    id = made(nora, "trial.last", script, extension_id="svc.trigger.mail.filter")
    [event] = nora.found("automation_event", "name:mail.filter")
    binding = "automation/a:\n  uri: svc:automation:trial.last\n  inputs:\n    who: Ann\n"
    nora.update("automation_event", event, automations_kata=binding).ok()
    nora.parse(b"From: ann@trial.example\nSubject: Winch\n\nIt leaks.").ok()
    page = signed_in.send(f"/automations/{id}", {**form(nora, id), "do": "last"}, f"/automations/{id}").text
    assert "Ann of Winch" in text_of(page) and value(page, "input:who") == "Ann"
    nora.update("automation_event", event, automations_kata="").ok()
