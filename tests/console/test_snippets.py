"""The pages of snippets: a worker's own, those of a group, everybody's; their uses, preview, deletion and undo."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.test_tickets import undo
from tests.console.visitor import Visitor, place, text_of
from tests.service import Api

PAGE = "/snippets"


@pytest.fixture
def word(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return f"s{abs(hash(request.node.name)) % 10**9}"


def own(nora: Api, name: str = "nora") -> str:
    return f"svc.contexts.worker:{nora.ids[name]}"


def form_of(title: str, owner: str, content: str = "Hello {{mask}}", **more: str) -> dict[str, str]:
    return {"title": title, "owner": owner, "context": "ticket", "content": content, **more}


def create(visitor: Visitor, *fields: str, **more: str) -> Any:
    return visitor.send(f"{PAGE}/new", form_of(*fields, **more))


def snippet(nora: Api, title: str, **more: Any) -> dict[str, Any]:
    [found] = nora.search("snippet", f'title:"{title}"', **more).ok()["results"]
    return dict(found)


def test_a_snippet_is_created_changed_and_found_in_a_reply(signed_in: Visitor, nora: Api, word: str) -> None:
    response = create(signed_in, word, own(nora), "Hello {{mask}}\n- {{current_worker_first_name}}")
    assert (response.status_code, place(response)) == (303, PAGE), text_of(response.text)
    made = snippet(nora, word)
    assert (made["owner__context"], made["owner_id"]) == ("svc.contexts.worker", nora.ids["nora"])
    assert made["context"] == "svc.contexts.ticket"
    page = f"{PAGE}/{made['id']}"
    assert "Only me" in signed_in.get(PAGE, params={"q": word}).text
    response = signed_in.send(page, form_of(f"{word} b", "svc.contexts.app:0"))
    assert response.status_code == 303, text_of(response.text)
    assert "Everybody" in text_of(signed_in.get(PAGE, params={"q": word}).text)
    ticket = nora.create("ticket", subject="Pump", group_id=nora.ids["support"]).ok()
    nora.get(f"/rest/snippets/{made['id']}/paste.json", context_id=ticket["id"]).ok()
    shown = snippet(nora, f"{word} b", expand="last_used_at")
    assert shown["total_uses"] == 1 and shown["last_used_at"] > 0


def test_a_name_that_the_owner_has_already_and_an_unknown_placeholder_are_reported_at_their_fields(
    signed_in: Visitor, nora: Api, word: str
) -> None:
    create(signed_in, word, own(nora))
    again = create(signed_in, word.upper(), own(nora))
    assert again.status_code == 422 and f"there is a snippet {word.upper()} already" in text_of(again.text).replace(
        "There", "there"
    )
    assert 'id="title-error"' in again.text
    assert create(signed_in, word, "svc.contexts.app:0").status_code == 303
    unknown = create(signed_in, f"{word} c", own(nora), "Hi {{nothing}} {{mask}}")
    assert unknown.status_code == 422 and 'id="content-error"' in unknown.text
    assert "There is no placeholder {{nothing}}." in text_of(unknown.text)


def test_a_worker_manages_their_own_snippets_and_a_manager_those_of_the_group(
    visitor: Visitor, nora: Api, word: str
) -> None:
    everybody = nora.create("snippet", title=f"{word} all", content="x", owner__context="app", owner_id=0).ok()["id"]
    group = nora.create("group", name=word).ok()["id"]
    visitor.sign_in("olga@desk.example")
    page = visitor.get(f"{PAGE}/new").text
    assert ">Only me</option>" in page and ">Everybody</option>" not in page and f">Group {word}<" not in page
    assert create(visitor, word, own(nora, "olga")).status_code == 303
    for owner in ("svc.contexts.app:0", own(nora), f"svc.contexts.group:{group}"):
        refused = create(visitor, f"{word} no", owner)
        assert refused.status_code == 422 and "only administrators can choose others" in refused.text, owner
    assert place(visitor.get(f"{PAGE}/{everybody}")) == f"/records/snippet/{everybody}"
    assert f'href="{PAGE}/{everybody}"' not in visitor.get(f"/records/snippet/{everybody}").text
    assert visitor.send(f"{PAGE}/{everybody}/delete", page=PAGE).status_code == 403
    nora.update("group", group, members={"manager": str(nora.ids["olga"])}).ok()
    assert f">Group {word}</option>" in visitor.get(f"{PAGE}/new").text
    assert create(visitor, f"{word} of", f"svc.contexts.group:{group}").status_code == 303
    nora.remove("group", group).ok()


def test_a_deleted_snippet_is_restored_with_its_id_and_uses(
    signed_in: Visitor, visitor: Visitor, nora: Api, word: str
) -> None:
    create(signed_in, word, own(nora), "Hello {{mask}}")
    made = snippet(nora, word)
    nora.update("snippet", made["id"], total_uses=7).ok()
    assert place(signed_in.send(f"{PAGE}/{made['id']}/delete", page=f"{PAGE}/{made['id']}")) == PAGE
    assert not nora.found("snippet", f'title:"{word}"')
    visitor.sign_in("milo@desk.example")
    assert visitor.send(f"{PAGE}/{made['id']}/restore", page=PAGE).status_code == 404
    undo(signed_in, PAGE)
    restored = snippet(nora, word)
    assert {name: restored[name] for name in ("id", "content", "total_uses", "owner_id")} == {
        "id": made["id"],
        "content": "Hello {{mask}}",
        "total_uses": 7,
        "owner_id": nora.ids["nora"],
    }


def test_the_preview_fills_in_a_ticket(signed_in: Visitor, visitor: Visitor, nora: Api, word: str) -> None:
    ticket = nora.create("ticket", subject=f"Pump {word}", group_id=nora.ids["private"]).ok()
    own_ticket = {"subject": "Hose", "group_id": nora.ids["support"], "owner_id": nora.ids["nora"]}
    offered = nora.create("ticket", **own_ticket).ok()["id"]
    assert f'<option value="{offered}"' in signed_in.get(f"{PAGE}/new").text
    sent = {"content": "**{{subject}}** {{nothing}} <script>x</script>", "context": "ticket", "ticket": ticket["id"]}
    shown = signed_in.send("/-/snippets/preview", sent, page=f"{PAGE}/new")
    assert f"<strong>Pump {word}</strong>" in shown.text and "<script>" not in shown.text
    assert "There is no placeholder {{nothing}}." in shown.text
    visitor.sign_in("olga@desk.example")
    assert word not in visitor.send("/-/snippets/preview", sent, page=f"{PAGE}/new").text


def test_the_form_marks_text_inserts_placeholders_and_shows_the_preview(page: Page, nora: Api, word: str) -> None:
    page.goto(f"{PAGE}/new")
    page.get_by_label("Name", exact=True).fill(word)
    text = page.get_by_label("Text", exact=True)
    text.click()
    page.keyboard.press("Control+b")
    page.keyboard.type("Hello")
    page.keyboard.press("End")
    page.keyboard.type(" ")
    page.get_by_text("Placeholders", exact=True).click()
    page.get_by_role("button", name="Insert {{mask}}").click()
    expect(text).to_have_value("**Hello** {{mask}}")
    page.get_by_text("Preview", exact=True).click()
    page.get_by_role("button", name="Show preview").click()
    expect(page.frame_locator("iframe[name=snippet-preview]").locator("strong")).to_have_text("Hello")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text(f"{word} created.")
    assert snippet(nora, word)["content"] == "**Hello** {{mask}}"
