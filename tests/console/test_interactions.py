"""Interactions on workspace pages: forms of automations, which run with the rights of whoever fills them in."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console import dashboards
from tests.console.browser import violations
from tests.console.dashboards import widget
from tests.console.test_workspaces import bring
from tests.console.visitor import Visitor, text_of
from tests.service import Api

ORDER = """inputs:
  text/shop:
    type: freeform
start:
  await:
    form:
      title: Return goods to {{inputs.shop}}
      elements:
        say/intro:
          content@text:
            Which **order** comes back?
        text/prompt_order:
          label: Order
          required@bool: yes
          max_length@int: 12
        text/prompt_amount:
          label: Amount
          type: number
          default: 3
        picklist/prompt_reason:
          label: Reason
          options@csv: broken, late
        checkbox/prompt_refund:
          label: Refund
        chooser/prompt_group:
          label: Group
          context: group
          single@bool: yes
        sheet/prompt_box:
          label: Box
          data:
            0:
              key: small
              label: Small <box>
            1:
              key: large
              label: Large box
          schema:
            columns:
              selection/key:
              text/label:
                label: Size
        textarea/prompt_note:
          label: Note
          validation@raw: {% if prompt_note == "no" %}Say more than no.{% endif %}
        submit/prompt_act:
          buttons:
            continue/send:
              label: Send it
            continue/keep:
              label: Keep it
            reset/again:
  return:
    alert: Order {{prompt_order}} ({{prompt_amount}}, {{prompt_reason}}) {{prompt_act}}
    open_url: /search/ticket
    snippet: {{prompt_box}} {{prompt_group}}
    note: {{prompt_note}}
"""
VIEWED = """inputs:
  text/ticket:
start:
  record.get/one:
    output: seen
    inputs:
      record_type: ticket
      record_id@int: {{inputs.ticket}}
  return:
    subject: {{seen.subject}}
"""
AGE = """inputs:
  text/name:
start:
  await:
    form:
      elements:
        text/prompt_age:
          label: Age of {{inputs.name}}
  return:
    age: {{prompt_age}}
"""
PERSON = """start:
  await:
    interaction:
      uri: svc:automation:NAME.inner
      output: found
      inputs:
        name: Ines
  return:
    alert: She is {{found.age}}.
"""
MENU = """menu/more:
  items:
    interaction/back:
      label: Return goods
      uri: svc:automation:NAME.return
      inputs:
        shop: Harbour
"""


@pytest.fixture
def word(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return f"w{abs(hash(request.node.name)) % 10**9}"


@pytest.fixture
def milo(visitor: Visitor) -> Visitor:
    """A worker who is no administrator."""
    visitor.sign_in("milo@desk.example")
    return visitor


def automation(nora: Api, name: str, script: str, policy: str = "", trigger: str = "interaction.worker") -> int:
    fields = {"name": name, "extension_id": f"svc.trigger.{trigger}", "script": script, "policy_kata": policy}
    return int(nora.create("automation", **fields).ok()["id"])


def page_with(nora: Api, kata: str) -> tuple[int, int]:
    """A page with a widget of interactions: its id, and that of the widget."""
    [page] = bring(nora, dashboards.page("Forms", widget("Orders", "form_interaction", interactions_kata=kata)))
    [id] = nora.found("workspace_widget", f"tab:(page.id:{page})")
    return page, id


@pytest.fixture
def orders(nora: Api, word: str) -> tuple[int, int]:
    automation(nora, f"{word}.return", ORDER)
    return page_with(nora, MENU.replace("NAME", word))


def start(visitor: Visitor, widget_id: int, name: str = "more.back") -> str:
    """Starts an interaction; returns the path of its run."""
    path = f"/pages/forms/{widget_id}"
    return visitor.send(path, {"form": name}, page=f"{path}?form={name}").headers["Location"]


def filled(visitor: Visitor, path: str, **values: str) -> str:
    """Submits the form of a run; returns the text of the page afterwards."""
    assert visitor.send(path, {"step": "1", **values}, page=path).status_code == 303
    return text_of(visitor.get(path).text)


FILLED: dict[str, Any] = {
    "value_prompt_order": "A-7",
    "value_prompt_amount": "4",
    "value_prompt_reason": "late",
    "value_prompt_box": "large",
    "value_prompt_note": "Soon",
    "button": "1",
    "step": "1",
}


@pytest.mark.exhaustive("in a browser as well")
def test_a_form_is_filled_in_and_its_result_is_shown(page: Page, nora: Api, orders: tuple[int, int]) -> None:
    page.goto(f"/pages/{orders[0]}")
    page.get_by_role("link", name="Return goods").click()
    expect(page.get_by_text("with your rights")).to_be_visible()
    expect(page.get_by_role("definition")).to_have_text("Harbour")
    assert violations(page) == []
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", name="Return goods to Harbour")).to_be_visible()
    expect(page.get_by_label("Amount")).to_have_value("3")
    assert violations(page) == []
    page.get_by_label("Order").fill("A-7")
    page.get_by_label("Reason").select_option("broken")
    page.get_by_label("Choose Small <box>").check()
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_text("Order A-7 (3, broken) keep")).to_be_visible()
    expect(page.get_by_role("link", name="/search/ticket")).to_be_visible()
    assert violations(page) == []


def test_mistakes_are_at_their_fields_and_nothing_goes_on(signed_in: Visitor, orders: tuple[int, int]) -> None:
    path = start(signed_in, orders[1])
    wrong = {"value_prompt_amount": "many", "value_prompt_reason": "lost", "value_prompt_box": "huge"}
    response = signed_in.send(
        path, {**FILLED, **wrong, "value_prompt_order": "", "value_prompt_group": "9999"}, page=path
    )
    assert response.status_code == 422
    for name in ("order", "amount", "reason", "box", "group"):
        assert f'id="value_prompt_{name}-error"' in response.text, name
    assert 'value="many"' in response.text and "Soon</textarea>" in response.text
    response = signed_in.send(path, {**FILLED, "value_prompt_note": "no"}, page=path)
    assert response.status_code == 422 and "Say more than no." in response.text
    token = signed_in.token(path)
    done = filled(signed_in, path, **FILLED)
    assert "Order A-7 (4, late) keep" in done and "large" in done
    signed_in.post(path, {**FILLED, "value_prompt_note": "Later", "_xsrf": token})
    assert "was submitted already" in signed_in.get(path).text


def test_a_start_is_in_the_activity_log(signed_in: Visitor, nora: Api, orders: tuple[int, int], word: str) -> None:
    start(signed_in, orders[1])
    [entry] = nora.search("activity_log", "activity:automation.run sort:-id limit:1").ok()["results"]
    assert f"{word}.return" in json.dumps(entry) and entry["actor_id"] == nora.ids["nora"]


def test_a_run_belongs_to_who_started_it_and_has_their_rights(
    signed_in: Visitor, milo: Visitor, nora: Api, orders: tuple[int, int], word: str
) -> None:
    path = start(signed_in, orders[1])
    assert milo.get(path).status_code == 404
    private = nora.create("group", name=f"{word} board", is_private=1).ok()["id"]
    ticket = nora.create("ticket", subject=f"Secret {word}", group_id=private).ok()["id"]
    automation(nora, f"{word}.view", VIEWED, "commands:\n  record.get:\n    allow@bool: yes\n")
    kata = f"interaction/view:\n  uri: svc:automation:{word}.view\n  inputs:\n    ticket: {ticket}\n"
    _page, id = page_with(nora, kata)
    assert f"Secret {word}" in text_of(signed_in.get(start(signed_in, id, "view")).text)
    seen = milo.get(start(milo, id, "view"))
    assert f"Secret {word}" not in seen.text


def test_what_cannot_be_started_says_why(signed_in: Visitor, milo: Visitor, nora: Api, word: str) -> None:
    automation(nora, f"{word}.timer", "start:\n  return:\n    a: 1\n", trigger="automation.function")
    closed = "callers:\n  svc.trigger.interaction.worker:\n    deny@bool: yes\n"
    automation(nora, f"{word}.closed", "start:\n  return:\n    a: 1\n", closed)
    automation(nora, f"{word}.late", "start:\n  await:\n    duration:\n      until: 1 hour\n")
    automation(nora, f"{word}.open", "start:\n  return:\n    total: 12\n")
    names = ("timer", "closed", "late", "open", "gone")
    entries = [f"interaction/{name}:\n  uri: svc:automation:{word}.{name}\n" for name in names]
    page, id = page_with(nora, "".join([*entries, "interaction/off:\n  uri: a\n  hidden@bool: yes\n"]))
    shown = text_of(signed_in.get(f"/pages/{page}").text)
    assert "its trigger is svc.trigger.automation.function" in shown and "does not allow you to start it" in shown
    assert "The automation does not exist." in shown and "off" not in shown.split("Orders")[1].split("API")[0]
    assert f"{word}.gone" not in milo.get(f"/pages/{page}").text
    for name in ("timer", "closed", "gone"):
        assert signed_in.get(f"/pages/forms/{id}?form={name}").status_code == 422, name
    assert signed_in.get(f"/pages/forms/{id}?form=off").status_code == 404
    assert "awaits duration; on a page it can await a form" in text_of(signed_in.get(start(signed_in, id, "late")).text)
    assert "total 12" in text_of(signed_in.get(start(signed_in, id, "open")).text)


def test_an_interaction_goes_on_with_the_result_of_another(signed_in: Visitor, nora: Api, word: str) -> None:
    automation(nora, f"{word}.inner", AGE)
    automation(nora, f"{word}.outer", PERSON.replace("NAME", word))
    _page, id = page_with(nora, f"interaction/ask:\n  uri: svc:automation:{word}.outer\n")
    path = start(signed_in, id, "ask")
    assert "Age of Ines" in signed_in.get(path).text
    assert "She is 44." in filled(signed_in, path, value_prompt_age="44")
