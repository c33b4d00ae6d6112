"""Rules in the console: built by a form without scripts, put in order, tried on a ticket, shown as a script."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from console.pages.rules import rule_templates
from tests.console.test_tickets import undo
from tests.console.visitor import Visitor, loaded, text_of, value
from tests.service import Api

BASE = "/admin/rules"
TRIGGER = "svc.trigger.ticket.event"


@pytest.fixture
def word(request: pytest.FixtureRequest) -> str:
    """A word that no other test has."""
    return f"r{abs(hash(request.node.name)) % 10**9}"


@pytest.fixture(autouse=True)
def rules_end(nora: Api) -> Iterator[None]:
    """Removes the rules of a test: other tests create tickets, too."""
    yield
    for id in nora.found("automation", f"trigger:{TRIGGER}"):
        nora.remove("automation", id).ok()


def created(nora: Api, title: str, **more: Any) -> int:
    """Creates a rule by the API and returns its id."""
    form = {"title": title, "when": ["created"], "steps": [{"kind": "importance", "importance": "90"}]}
    form |= {"matches_everything": 1, **more}
    return int(nora.create("automation", extension_id=TRIGGER, form=json.dumps(form)).ok()["id"])


def form(title: str, *conditions: str, **more: str) -> dict[str, Any]:
    """Returns a form with the step that sets the importance to 90."""
    lines = {f"conditions-{place}": text for place, text in enumerate(conditions)}
    return {
        "title": title,
        "when[]": ["created"],
        "match": "all",
        "conditions": str(len(conditions)),
        **lines,
        "steps": "1",
        "steps-0-kind": "importance",
        "steps-0-importance": "90",
        "do": "save",
        **more,
    }


def test_a_rule_is_built_by_its_form(signed_in: Visitor, nora: Api, word: str) -> None:
    page = signed_in.send(f"{BASE}/new", form(word, f"subject:{word}*", step="add", added_step="tags"))
    assert page.status_code == 200 and "2. Change tags" in text_of(page.text)
    page = signed_in.send(f"{BASE}/new", form(word, f"subject:{word}*", condition="add"))
    assert 'name="conditions-1"' in page.text
    response = signed_in.send(f"{BASE}/new", form(word, f"subject:{word}*"))
    assert response.headers["Location"] == BASE
    text = text_of(signed_in.get(BASE).text)
    assert f"{word} A ticket is created · 1 condition · Set the importance" in text
    [id] = nora.found("automation", f'name:"rule.{word}"')
    assert nora.record("automation", id, "form").ok()["form"]["conditions"] == [f"subject:{word}*"]
    shown = signed_in.get(f"{BASE}/{id}").text
    assert value(shown, "title") == word and value(shown, "steps-0-importance") == "90"
    response = signed_in.send(f"{BASE}/{id}", form(word, "status:open", f"subject:{word}*"))
    assert response.headers["Location"] == BASE
    assert "${id} limit:1 ((status:open)" in signed_in.get(f"/automations/{id}").text


def test_steps_are_put_in_order_and_removed(signed_in: Visitor, word: str) -> None:
    two = form(word, "status:open") | {"steps": "2", "steps-1-kind": "close"}
    moved = text_of(signed_in.send(f"{BASE}/new", {**two, "step": "down:0"}).text)
    assert "1. Close" in moved and "2. Set the importance" in moved
    less = text_of(signed_in.send(f"{BASE}/new", {**two, "step": "remove:0"}).text)
    assert "1. Close" in less and "Set the importance 0 to 100." not in less


def test_a_rule_that_matches_every_ticket_asks_first(signed_in: Visitor, word: str) -> None:
    page = signed_in.send(f"{BASE}/new", form(word))
    assert "This rule would match every ticket. Is that intended?" in text_of(page.text)
    assert signed_in.send(f"{BASE}/new", form(word, sure="1")).headers["Location"] == BASE


def test_mistakes_are_shown_at_their_fields(signed_in: Visitor, nora: Api, word: str) -> None:
    created(nora, word)
    page = signed_in.send(f"{BASE}/new", form(word.upper(), "", "nosuch:1") | {"steps-0-importance": "x"})
    assert page.status_code == 422
    text = text_of(page.text)
    assert "1. Set the importance, Importance: Must be a number from 0 to 100" in text
    page = signed_in.send(f"{BASE}/new", form(word.upper(), "", "nosuch:1"))
    assert "'nosuch' is not a filter of ticket" in text_of(page.text)
    assert 'id="conditions-0-error"' in page.text
    page = signed_in.send(f"{BASE}/new", form(word.upper(), "status:open"))
    assert "Another rule has this name" in text_of(page.text) and 'id="title-error"' in page.text
    page = signed_in.send(f"{BASE}/new", {"title": "", "do": "save"})
    assert "Choose when it runs" in text_of(page.text)


def test_a_step_whose_group_was_deleted_says_so(signed_in: Visitor, nora: Api, word: str) -> None:
    group = nora.create("group", name=word).ok()["id"]
    two = form(word, "status:open") | {"steps": "2", "steps-1-kind": "move", "steps-1-place": f"group:{group}"}
    assert signed_in.send(f"{BASE}/new", two).headers["Location"] == BASE
    nora.delete(f"/rest/records/group/{group}.json").ok()
    [id] = nora.found("automation", f'name:"rule.{word}"')
    page = signed_in.get(f"{BASE}/{id}").text
    assert "2. Move to a group or bucket, To: The group with the ID" in text_of(page)
    assert 'id="steps-1-place-error"' in page


def test_a_step_notifies_the_ticked_workers(signed_in: Visitor, nora: Api, word: str) -> None:
    milo, me = (str(nora.ids[name]) for name in ("milo", "nora"))
    fields = form(word, "status:open", **{"steps-0-kind": "notify", "steps-0-text": "Look"})
    page = signed_in.send(f"{BASE}/new", fields)
    assert "Members of the group: Fill in one of: The owner of the ticket, Its watchers, Workers" in text_of(page.text)
    fields |= {"steps-0-worker_ids[]": [milo, me], "steps-0-to_watchers": "1"}
    assert signed_in.send(f"{BASE}/new", fields).headers["Location"] == BASE
    [id] = nora.found("automation", f'name:"rule.{word}"')
    [step] = nora.record("automation", id, "form").ok()["form"]["steps"]
    assert (step["to_watchers"], set(step["worker_ids"].split(", "))) == ("1", {milo, me})
    page = signed_in.get(f"{BASE}/{id}").text
    assert re.findall(r'name="steps-0-worker_ids\[\]" value="(\d+)"\s+checked', page)


def test_a_deleted_rule_is_restored_unless_another_has_its_name(signed_in: Visitor, nora: Api, word: str) -> None:
    id = created(nora, word)
    for _ in range(2):
        signed_in.send(f"{BASE}/{id}/delete", {"_sure": "1"}, page=f"{BASE}/{id}")
        undo(signed_in, BASE)
        assert word in text_of(signed_in.get(BASE).text)
    signed_in.send(f"{BASE}/{id}/delete", {"_sure": "1"}, page=f"{BASE}/{id}")
    created(nora, word)
    undo(signed_in, BASE)
    assert "Not restored: " in text_of(signed_in.get(BASE).text)


def test_tickets_that_match_now_are_listed(signed_in: Visitor, nora: Api, word: str) -> None:
    for number in range(2):
        nora.create("ticket", subject=f"{word} {number}", group_id=nora.ids["support"]).ok()
    unnamed = form("", f"subject:{word}*", do="match") | {"when[]": [], "steps": "0"}
    text = text_of(signed_in.send(f"{BASE}/new", unnamed).text)
    assert "2 tickets match now" in text and "Please fix" not in text
    page = signed_in.send(f"{BASE}/new", form(word, f"subject:{word}*", do="match"))
    text = text_of(page.text)
    assert "2 tickets match now" in text and f"{word} 0" in text
    assert re.search(r'href="/search/ticket\?q=[^"]+">Show them all', page.text)
    page = signed_in.send(f"{BASE}/new", form(word, "subject:ok", "nosuch:1", do="match"))
    assert 'id="conditions-1-error"' in page.text


def test_a_rule_is_tried_on_a_ticket(signed_in: Visitor, nora: Api, word: str) -> None:
    ticket = nora.create("ticket", subject=word, group_id=nora.ids["support"]).ok().json
    fits = form(word, f"subject:{word}", "status:open", do="try", ticket=ticket["mask"])
    text = text_of(signed_in.send(f"{BASE}/new", fits).text)
    assert "holds status:open" in text and "would be done 1. Set the importance" in text
    assert nora.record("ticket", ticket["id"]).ok()["importance"] == 50
    misses = form(word, "status:closed", do="try", ticket=ticket["mask"])
    text = text_of(signed_in.send(f"{BASE}/new", misses).text)
    assert "does not hold status:closed" in text and "does nothing with this ticket" in text
    page = signed_in.send(f"{BASE}/new", form(word, "status:closed", do="try", ticket="NO-1"))
    assert "There is no ticket 'NO-1'." in text_of(page.text)


def test_rules_are_moved_switched_and_deleted(signed_in: Visitor, nora: Api, word: str) -> None:
    first, second = created(nora, f"{word} first"), created(nora, f"{word} second")
    signed_in.send(f"{BASE}/{second}/move", {"to": "up"}, page=BASE)
    page = signed_in.get(BASE).text
    assert page.index(f"rule-{second}") < page.index(f"rule-{first}")
    signed_in.send(f"{BASE}/{first}/switch", {"on": "0"}, page=BASE)
    assert f"Switch on {word} first" in signed_in.get(BASE).text
    binding = nora.record("automation_event", event_id(nora), "automations_kata").ok()["automations_kata"]
    assert f"automation/rule_{first}:\n  uri: svc:automation:rule.{word}-first\n  disabled@bool: yes\n" in binding
    signed_in.send(f"{BASE}/{first}/delete", {"_sure": "1"}, page=BASE)
    page = signed_in.get(BASE).text
    assert f"rule-{first}" not in page and f"rule-{second}" in page


def event_id(nora: Api) -> int:
    return int(nora.found("automation_event", 'name:"ticket.event"')[0])


def test_a_rule_that_was_edited_as_a_script_says_so(signed_in: Visitor, nora: Api, word: str) -> None:
    id = created(nora, word)
    nora.update("automation", id, script="start:\n  return:\n    stop@bool: no\n").ok()
    text = text_of(signed_in.get(f"{BASE}/{id}").text)
    assert "This rule was edited as a script and is no longer a form." in text
    assert f"{word} ◆ script" in text_of(signed_in.get(BASE).text)


def test_a_new_rule_starts_from_a_template(signed_in: Visitor) -> None:
    page = signed_in.get(f"{BASE}/new?start=remind").text
    assert value(page, "title") == "Remind the owner"
    assert value(page, "conditions-0") == "status:open owner.id:any messages.last:(isOutgoing:no)"


@pytest.mark.parametrize("template", rule_templates.TEMPLATES, ids=lambda each: each.key)
def test_the_conditions_of_templates_can_be_searched(signed_in: Visitor, template: rule_templates.RuleTemplate) -> None:
    conditions = template.form["conditions"]
    more = {"match": template.form.get("match", "all"), "when[]": template.form["when"], "do": "match"}
    more |= {name: template.form[name] for name in ("since", "amount", "unit") if name in template.form}
    page = signed_in.send(f"{BASE}/new", form(template.key, *conditions) | more)
    assert "match now" in text_of(page.text) or "matches now" in text_of(page.text)


def test_a_rule_says_why_it_ran(signed_in: Visitor, nora: Api, word: str) -> None:
    id = created(nora, word, conditions=[f"subject:{word}*"])
    ticket = nora.create("ticket", subject=word, group_id=nora.ids["support"]).ok().json
    nora.create("ticket", subject=f"other {word}", group_id=nora.ids["support"]).ok()
    text = loaded(signed_in, f"{BASE}/{id}", "● done")
    assert f"[#{ticket['mask']}] {word} A ticket is created ● done" in text
    assert f"subject:{word}*" in text[text.index("Why not") :]
