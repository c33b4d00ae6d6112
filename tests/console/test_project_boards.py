"""Pages of project boards: columns with cards, which are added, moved and removed, and the form that builds a board."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import NARROW, PHONE, Browser, is_sideways, violations
from tests.console.visitor import Visitor
from tests.following import Following
from tests.service import Api, Server
from tests.telling import telling

HOSTILE = "<img src=x onerror=alert(1)>\"'{{ 7*7 }}"


class Board:
    """A board with three columns and its cards, by their labels."""

    def __init__(self, nora: Api) -> None:
        self.nora = nora
        self.id = nora.create("project_board", name="Website").ok()["id"]
        self.columns = {name: self._column(name) for name in ("Next", "Doing", "Done")}
        self.tasks = {name: nora.create("task", title=name).ok()["id"] for name in ("Alpha", "Beta", "Gamma")}
        self.path, self.edit = f"/pages/boards/{self.id}", f"/boards/{self.id}/edit"
        self.put("Next", *self.tasks)

    def _column(self, name: str) -> int:
        return int(self.nora.create("project_board_column", name=name, board_id=self.id).ok()["id"])

    def put(self, column: str, *tasks: str) -> None:
        """Adds tasks at the end of a column."""
        references = [f"task:{self.tasks[name]}" for name in tasks]
        self.nora.update("project_board_column", self.columns[column], cards=references).ok()

    def stored(self, column: str) -> list[str]:
        """Returns the tasks of a column in their order."""
        found = self.nora.record("project_board_column", self.columns[column], expand="cards").ok()["cards"]
        names = {id: name for name, id in self.tasks.items()}
        return [names[each["id"]] for each in found if each["_context"] == "svc.contexts.task"]

    def move(self, name: str, source: str, target: str, before: str = "") -> dict[str, str]:
        """Returns the fields of a form that moves a task."""
        follower = f",task:{self.tasks[before]}" if before else ""
        to = f"{self.columns[target]}{follower}" if target else "0"
        return {"card": f"task:{self.tasks[name]}", "from": str(self.columns[source]), "to": to}


@pytest.fixture
def board(nora: Api) -> Iterator[Board]:
    built = Board(nora)
    yield built
    nora.remove("project_board", built.id).ok()


def shown(html: str) -> dict[str, list[str]]:
    """Returns the labels of the cards of a board by column."""
    found = re.findall(r"<h2[^>]*><bdi>(.*?)</bdi>.*?<ul>(.*?)</ul>", html, re.DOTALL)
    return {label: re.findall(r'<li class="card"[^>]*><a[^>]*>(.*?)</a>', cards) for label, cards in found}


def test_a_board_shows_columns_with_subject_customer_status_and_owner(
    signed_in: Visitor, nora: Api, board: Board
) -> None:
    fields: dict[str, Any] = {
        "participants": "Mara <mara@pumps.example>",
        "owner_id": nora.ids["nora"],
        "status": "waiting",
    }
    ticket = nora.create("ticket", subject="Broken seal", group_id=nora.ids["support"], **fields).ok()["id"]
    nora.update("project_board_column", board.columns["Doing"], cards=[f"ticket:{ticket}"]).ok()
    html = signed_in.get(board.path).text
    assert shown(html) == {"Next": ["Alpha", "Beta", "Gamma"], "Doing": ["Broken seal"], "Done": []}
    [card] = re.findall(rf'id="card-ticket-{ticket}".*?</li>', html, re.DOTALL)
    for part in ("mara@pumps.example", "waiting", "Nora"):
        assert part in card
    nora.update("project_board_column", board.columns["Doing"], cards=[f"-ticket:{ticket}"]).ok()
    assert shown(signed_in.get(board.path).text)["Doing"] == []


def test_a_card_is_moved_without_scripts_and_back_by_undo(signed_in: Visitor, board: Board) -> None:
    response = signed_in.send(f"{board.path}/move", board.move("Beta", "Next", "Doing"), page=board.path)
    assert response.headers["Location"] == f"{board.path}#card-task-{board.tasks['Beta']}"
    assert (board.stored("Next"), board.stored("Doing")) == (["Alpha", "Gamma"], ["Beta"])
    undo = board.move("Beta", "Doing", "Next", "Gamma")
    html = signed_in.get(board.path).text
    assert "Beta moved to Doing." in html
    assert f'value="{undo["to"]}"' in html.partition('class="toast')[2]
    signed_in.send(f"{board.path}/move", undo, page=board.path)
    assert (board.stored("Next"), board.stored("Doing")) == (["Alpha", "Beta", "Gamma"], [])


def test_two_workers_who_move_a_card_do_not_lose_it(signed_in: Visitor, board: Board) -> None:
    first = board.move("Beta", "Next", "Doing")
    signed_in.send(f"{board.path}/move", first, page=board.path)
    signed_in.send(f"{board.path}/move", board.move("Beta", "Next", "Done"), page=board.path)
    assert "Somebody has moved this card from Next to Doing in the meantime" in signed_in.get(board.path).text
    assert (board.stored("Doing"), board.stored("Done")) == (["Beta"], [])
    signed_in.send(f"{board.path}/move", board.move("Alpha", "Next", "Doing", "Gamma"), page=board.path)
    assert board.stored("Doing") == ["Beta", "Alpha"], "the card before which it was put is not there"


def test_a_card_is_added_by_name_number_or_mask_and_removed(signed_in: Visitor, nora: Api, board: Board) -> None:
    ticket = nora.create("ticket", subject="Leak in hall 3", group_id=nora.ids["support"]).ok()
    org = nora.create("org", name="Pumps of the north").ok()["id"]
    column = {"column": str(board.columns["Done"])}
    for type, record in (("ticket", ticket["mask"]), ("org", "Pumps of the north")):
        signed_in.send(f"{board.path}/add", column | {"type": type, "record": record}, page=board.path)
    assert shown(signed_in.get(board.path).text)["Done"] == ["Leak in hall 3", "Pumps of the north"]
    for type, record, said in (
        ("task", str(board.tasks["Beta"]), "It is already on this board, in the column Next"),
        ("task", "", "enter the name or ID of a record"),
        ("task", "No such task", "No record has exactly that name"),
        ("worker", "1", "Workers cannot be cards"),
        ("task", "999999", "there is no task 999999"),
    ):
        signed_in.send(f"{board.path}/add", column | {"type": type, "record": record}, page=board.path)
        assert said.lower() in signed_in.get(board.path).text.lower()
    remove = {"card": f"org:{org}", "from": column["column"], "to": "0"}
    signed_in.send(f"{board.path}/move", remove, page=board.path)
    html = signed_in.get(board.path).text
    assert "Pumps of the north removed from the board." in html and shown(html)["Done"] == ["Leak in hall 3"]
    signed_in.send(f"{board.path}/move", remove | {"from": "0", "to": column["column"]}, page=board.path)
    assert shown(signed_in.get(board.path).text)["Done"] == ["Leak in hall 3", "Pumps of the north"]


def test_wrong_moves_are_refused(signed_in: Visitor, board: Board) -> None:
    good = board.move("Beta", "Next", "Doing")
    for fields, status in (
        ({"to": "x"}, 422),
        ({"card": "task"}, 422),
        ({"card": "nothing:1"}, 404),
        ({"to": ""}, 422),
    ):
        assert signed_in.send(f"{board.path}/move", good | fields, page=board.path).status_code == status
    assert board.stored("Next") == ["Alpha", "Beta", "Gamma"]


def test_a_team_builds_a_board(signed_in: Visitor, nora: Api) -> None:
    response = signed_in.send("/boards/new", {"name": "Trade fair"}, page="/boards/new")
    edit = response.headers["Location"]
    id = int(edit.split("/")[2])
    assert "This board has no columns yet." in signed_in.get(f"/pages/boards/{id}").text
    for name in ("Ideas", "Later", ""):
        response = signed_in.send(f"/boards/{id}/columns", {"name": name}, page=edit)
        assert response.status_code == (303 if name else 422)
    names = [each["name"] for each in nora.search("project_board_column", f"board.id:{id} sort:id").ok()["results"]]
    assert names == ["Ideas", "Later"]
    ideas, later = (int(each) for each in nora.record("project_board", id).ok()["columns"].split(","))
    signed_in.send(f"/boards/columns/{later}/move", {"to": "up"}, page=edit)
    assert list(shown(signed_in.get(f"/pages/boards/{id}").text)) == ["Later", "Ideas"]
    signed_in.send(f"/boards/columns/{ideas}/rename", {"name": "Plans"}, page=edit)
    signed_in.send(f"/boards/columns/{later}/delete", {}, page=edit)
    assert list(shown(signed_in.get(f"/pages/boards/{id}").text)) == ["Plans"]
    assert signed_in.send(edit, {"name": "Fair"}, page=edit).headers["Location"] == f"/pages/boards/{id}"
    assert '<h1 dir="auto">Fair</h1>' in signed_in.get(f"/pages/boards/{id}").text
    assert f'href="/pages/boards/{id}"' in signed_in.get("/").text, "the rail has it"
    assert "Fair" in signed_in.get("/boards").text
    assert f'href="/pages/boards/{id}"' in signed_in.get("/jump?q=Fair").text
    assert signed_in.send(f"{edit}/delete", {}, page=edit).headers["Location"] == "/boards"
    assert signed_in.get(f"/pages/boards/{id}").status_code == 404


def test_who_may_not_change_boards_reads_them(nora: Api, board: Board) -> None:
    ticket = nora.create(
        "ticket", subject="Of support alone", group_id=nora.create("group", name="Few", is_private=1).ok()["id"]
    )
    nora.update("project_board_column", board.columns["Doing"], cards=[f"ticket:{ticket.ok()['id']}"]).ok()
    role = {"privs_mode": "itemized", "privs": ["contexts.svc.contexts.task.update"]}
    [every] = nora.found("role", 'name:"Everyone"')[:1] or [0]
    assert every, "workers have all privileges by this role"
    former = nora.record("role", every).ok()
    nora.update("role", every, **role).ok()
    try:
        olga = Visitor(nora.url)
        olga.sign_in("olga@desk.example")
        html = olga.get(board.path).text
        assert shown(html) == {"Next": ["Alpha", "Beta", "Gamma"], "Doing": [], "Done": []}
        assert "data-board" not in html and "Edit board" not in html and "Add a card" not in html
        move = board.move("Alpha", "Next", "Doing")
        olga.send(f"{board.path}/move", move, page="/account")
        assert "You may not update project board columns" in olga.get(board.path).text
        assert olga.get(board.edit).headers["Location"] == board.path
        assert olga.get("/boards/new").status_code == 403
        for path, fields in ((board.edit, {"name": "X"}), (f"/boards/columns/{board.columns['Done']}/delete", {})):
            assert olga.send(path, fields, page="/account").status_code in (403, 422)
    finally:
        nora.update("role", every, privs_mode=former["privs_mode"]).ok()
    assert board.stored("Next") == ["Alpha", "Beta", "Gamma"]


def test_hostile_names_stay_text(signed_in: Visitor, nora: Api) -> None:
    id = nora.create("project_board", name=HOSTILE).ok()["id"]
    column = nora.create("project_board_column", name=HOSTILE, board_id=id).ok()["id"]
    task = nora.create("task", title=HOSTILE).ok()["id"]
    nora.update("project_board_column", column, cards=[f"task:{task}"]).ok()
    for path in (f"/pages/boards/{id}", f"/boards/{id}/edit", "/boards"):
        html = signed_in.get(path).text
        assert "<img src=x" not in html and "&lt;img" in html and "{{ 7*7 }}" in html
    nora.remove("project_board", id).ok()


# -- automations -----------------------------------------------------------------------------------------------------


DRAWS = """start:
  record.get/it:
    output: task
    inputs:
      record_type: task
      record_id@key: card_id
  return:
    sheet:
      layout:
        title_column: name
      columns:
        text/name:
          params:
            value: <b>{{task.title}}</b> drawn
        text/column_name:
          label: Column
        text/blank:
"""
RENAMES = """start:
  record.update/it:
    output: task
    inputs:
      record_type: task
      record_id@key: card_id
      fields:
        title: {{card_title}} in {{column_name}}
"""


class Automations:
    """Automations with names that no other test has."""

    def __init__(self, nora: Api, prefix: str) -> None:
        self.nora, self.prefix = nora, prefix

    def create(self, name: str, trigger: str, script: str) -> str:
        """Creates an automation; returns the line of an entry that names it."""
        fields = {
            "name": f"{self.prefix}.{name}",
            "extension_id": f"svc.trigger.{trigger}",
            "script": script,
            "policy_kata": "commands:\n  all:\n    allow@bool: yes\n",
        }
        self.nora.create("automation", **fields).ok()
        return f"  uri: svc:automation:{self.prefix}.{name}\n"


@pytest.fixture
def automations(nora: Api, board: Board) -> Automations:
    return Automations(nora, f"board{board.id}")


def test_cards_are_drawn_in_parts_and_stay_plain_without(
    signed_in: Visitor, nora: Api, board: Board, automations: Automations
) -> None:
    assert "data-drawing" not in signed_in.get(board.path).text
    uri = automations.create("draws", "projectBoard.renderCard", DRAWS)
    nora.update("project_board", board.id, cards_kata=f"automation/draws:\n{uri}").ok()
    html = signed_in.get(board.path).text
    assert shown(html) == {"Next": ["Alpha", "Beta", "Gamma"], "Doing": [], "Done": []}
    assert f'data-drawing="{board.path}/cards"' in html
    part = signed_in.get(f"{board.path}/cards").json()
    assert [(each["ref"], each["title"]) for each in part["cards"]] == [
        (f"task:{id}", f"<b>{name}</b> drawn") for name, id in board.tasks.items()
    ]
    assert "Column:</span> Next" in part["cards"][0]["html"] and "Blank" not in part["cards"][0]["html"]
    assert (part["problems"], part["next"]) == ({}, "")
    assert [each["title"] for each in signed_in.get(f"{board.path}/cards?from=2").json()["cards"]] == [
        "<b>Gamma</b> drawn"
    ]
    assert signed_in.get("/pages/boards/999999/cards").status_code == 404


def test_what_is_drawn_is_text(signed_in: Visitor, nora: Api, board: Board, automations: Automations) -> None:
    script = f"start:\n  return:\n    sheet:\n      columns:\n        text/card_title:\n          label: {HOSTILE}\n"
    uri = automations.create("hostile", "projectBoard.renderCard", script.replace("{{ 7*7 }}", ""))
    nora.update("project_board", board.id, cards_kata=f"automation/draws:\n{uri}").ok()
    nora.update("task", board.tasks["Alpha"], title=HOSTILE).ok()
    [first, *_] = signed_in.get(f"{board.path}/cards").json()["cards"]
    assert first["html"].count("&lt;img src=x") == 2 and "<img" not in first["html"] and "{{ 7*7 }}" in first["html"]


def test_a_column_whose_automation_fails_says_so_once(
    signed_in: Visitor, nora: Api, board: Board, automations: Automations
) -> None:
    uri = automations.create("draws", "projectBoard.renderCard", DRAWS)
    broken = automations.create("broken", "projectBoard.renderCard", "start:\n  error: It is broken\n")
    nora.update("project_board", board.id, cards_kata=f"automation/draws:\n{uri}").ok()
    nora.update("project_board_column", board.columns["Next"], cards_kata=f"automation/broken:\n{broken}").ok()
    board.put("Doing", "Gamma")
    part = signed_in.get(f"{board.path}/cards").json()
    assert [each["title"] for each in part["cards"]] == ["<b>Gamma</b> drawn"]
    [(column, messages)] = part["problems"].items()
    assert (column, messages) == (str(board.columns["Next"]), ["It is broken"])


def test_a_column_offers_interactions(signed_in: Visitor, nora: Api, board: Board, automations: Automations) -> None:
    uri = automations.create("count", "interaction.worker", "start:\n  return:\n    alert: In {{column_name}}\n")
    toolbar = f"interaction/count:\n  label: Count\n{uri}menu/more:\n  items:\n    interaction/lost:\n      uri: lost\n"
    nora.update("project_board_column", board.columns["Doing"], toolbar_kata=toolbar).ok()
    html = signed_in.get(board.path).text
    [path] = re.findall(r'href="(/pages/forms/columns/[^"]*)"', html)
    assert "The automation does not exist." in html, "an administrator sees what is missing"
    assert "Starts the automation" in signed_in.get(path).text
    run = signed_in.send(path.partition("?")[0], {"form": "count"}, page=path).headers["Location"]
    result = signed_in.get(run).text
    assert "In Doing" in result and f'href="{board.path}"' in result and f'href="{path}"' in result
    assert signed_in.get(path.replace("count", "none")).status_code == 404
    toolbar = f"interaction/count:\n  label: {{{{1|no_such_filter}}}}\n{uri}"
    refused = nora.update("project_board_column", board.columns["Doing"], toolbar_kata=toolbar)
    assert refused.status == 422 and "toolbar_kata: line 2" in refused["message"]
    toolbar = f"interaction/count:\n  label: {{{{range(1, 99999999)|join}}}}\n{uri}"
    nora.update("project_board_column", board.columns["Doing"], toolbar_kata=toolbar).ok()
    html = signed_in.get(board.path).text
    assert 'class="wrong"' in html, "the error is in its place"
    assert shown(signed_in.get(board.path).text)["Next"] == ["Alpha", "Beta", "Gamma"]


def test_columns_are_edited_with_checks(signed_in: Visitor, nora: Api, board: Board, automations: Automations) -> None:
    path = f"/boards/columns/{board.columns['Doing']}/edit"
    assert f'href="{path}"' in signed_in.get(board.edit).text
    html = signed_in.get(path).text
    assert 'data-check="/-/check/toolbar"' in html and html.count('data-check="/-/check/binding"') == 2
    response = signed_in.send(path, {"name": "Doing", "functions_kata": "automation/a:\n  uri: lost\n"}, page=path)
    assert response.status_code == 422 and "there is no automation &#39;lost&#39;" in response.text
    uri = automations.create("rename", "projectBoard.cardAction", RENAMES)
    fields = {"name": "In work", "functions_kata": f"automation/a:\r\n{uri}", "toolbar_kata": "", "cards_kata": ""}
    assert signed_in.send(path, fields, page=path).headers["Location"] == board.path
    stored = nora.record("project_board_column", board.columns["Doing"]).ok()
    assert (stored["name"], stored["functions_kata"].strip()) == ("In work", f"automation/a:\n{uri}".strip())
    response = signed_in.send(board.edit, {"name": "Website", "cards_kata": "colour: red"}, page=board.edit)
    assert response.status_code == 422 and "Line 1: [colour]" in response.text


def test_editors_of_boards_are_for_workers(signed_in: Visitor, nora: Api, automations: Automations) -> None:
    automations.create("rename", "projectBoard.cardAction", RENAMES)
    olga = Visitor(nora.url)
    olga.sign_in("olga@desk.example")
    words = "/-/words/binding?trigger=svc.trigger.projectBoard.cardAction"
    names = signed_in.get(words).json()["names"]
    assert f"{automations.prefix}.rename" in names
    assert list(olga.get(words).json()["entries"]["automation"]) == ["uri", "inputs", "disabled"]
    assert olga.get("/-/words/other?trigger=svc.trigger.webhook.respond").status_code == 404
    assert olga.get("/-/words/toolbar?trigger=nothing").status_code == 404
    found = olga.send("/-/check/toolbar", {"text": "interaction/a:\n  label: x\n"}, page="/account").json()
    assert found["mistakes"][0][0] == 1 and "'uri' is required" in found["mistakes"][0][1]


# -- in a browser ----------------------------------------------------------------------------------------------------


def test_cards_are_moved_in_place_by_keys(page: Page, board: Board) -> None:
    page.goto(board.path)
    page.get_by_role("button", name="Move Beta to Doing").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Beta moved to Doing.")
    expect(page.get_by_role("button", name="Move Beta to Done")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("[aria-labelledby=column-3]")).to_contain_text("Beta")
    page.get_by_role("button", name="Undo").last.click()
    expect(page.locator("[aria-labelledby=column-2]")).to_contain_text("Beta")
    assert (board.stored("Next"), board.stored("Doing")) == (["Alpha", "Gamma"], ["Beta"])


def test_a_card_is_dragged_before_another_and_to_a_column(page: Page, board: Board) -> None:
    page.goto(board.path)
    card, columns = page.locator(".card"), page.locator(".board section")
    card.filter(has_text="Gamma").drag_to(card.filter(has_text="Alpha"))
    expect(columns.first.locator(".card").first).to_contain_text("Gamma")
    card.filter(has_text="Alpha").drag_to(columns.nth(2))
    expect(columns.nth(2)).to_contain_text("Alpha")
    assert (board.stored("Next"), board.stored("Done")) == (["Gamma", "Beta"], ["Alpha"])


def test_automations_draw_run_and_are_offered(page: Page, nora: Api, board: Board, automations: Automations) -> None:
    draws = automations.create("draws", "projectBoard.renderCard", DRAWS)
    rename = automations.create("rename", "projectBoard.cardAction", RENAMES)
    count = automations.create("count", "interaction.worker", "start:\n  return:\n    alert: In {{column_name}}\n")
    nora.update("project_board", board.id, cards_kata=f"automation/draws:\n{draws}").ok()
    doing = {
        "functions_kata": f"automation/rename:\n{rename}",
        "toolbar_kata": f"interaction/count:\n  label: Count\n{count}",
    }
    nora.update("project_board_column", board.columns["Doing"], **doing).ok()
    page.goto(board.path)
    card = page.locator(f"#card-task-{board.tasks['Beta']}")
    expect(card.locator("a").first).to_have_text("<b>Beta</b> drawn")
    expect(card).to_contain_text("Column: Next")
    with Following(nora) as changes:
        page.get_by_role("button", name="Move Beta to Doing").click()
        while nora.record("task", board.tasks["Beta"]).ok()["title"] != "Beta in Doing":
            changes.change()
    expect(page.locator(".toast")).to_contain_text("Beta moved to Doing.")
    expect(card).to_contain_text("Column: Doing")
    page.reload()
    expect(card.locator("a").first).to_have_text("<b>Beta in Doing</b> drawn")
    page.get_by_role("link", name="Count").click()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("main")).to_contain_text("In Doing")


@pytest.mark.exhaustive("editors of scripts check and complete in the same way")
def test_an_editor_completes_and_checks_a_binding(page: Page, board: Board, automations: Automations) -> None:
    automations.create("rename", "projectBoard.cardAction", RENAMES)
    page.goto(f"/boards/columns/{board.columns['Doing']}/edit")
    editor = page.get_by_label("Automations that run when a card comes here")
    editor.fill("automation/a:\n  ")
    editor.press("End")
    editor.press_sequentially("ur")
    page.get_by_role("option", name="uri").click()
    editor.press_sequentially(f" {automations.prefix}")
    page.get_by_role("option", name=f"svc:automation:{automations.prefix}.rename").click()
    assert editor.input_value() == f"automation/a:\n  uri: svc:automation:{automations.prefix}.rename"
    editor.fill("automation/a:\n  urj: x")
    expect(page.locator("#functions_kata-mistakes")).to_contain_text("'urj' is not a known attribute")


@pytest.mark.exhaustive("the form of links suggests records in the same way")
def test_a_card_is_found_while_typing(page: Page, nora: Api, board: Board) -> None:
    nora.create("task", title="Order a banner").ok()
    page.goto(board.path)
    column = page.locator(".board section").nth(1)
    column.get_by_text("Add a card").click()
    column.get_by_role("combobox", name="Type").fill("Task")
    page.get_by_role("option", name="Task", exact=True).click()
    column.get_by_role("combobox", name="Name or ID").fill("banner")
    page.get_by_role("option", name="Order a banner").click()
    column.get_by_role("button", name="Add", exact=True).click()
    expect(column.locator(".card")).to_contain_text("Order a banner")


@pytest.mark.parametrize("scheme", telling(["light", "dark"], [], "accessibility of a single page"))
def test_a_board_is_accessible(
    chromium: Browser,
    server: Server,
    signed_in: Visitor,
    nora: Api,
    board: Board,
    scheme: Any,
    automations: Automations,
) -> None:
    draws = automations.create("draws", "projectBoard.renderCard", DRAWS)
    broken = automations.create("broken", "projectBoard.renderCard", "start:\n  error: It is broken\n")
    doing = {"cards_kata": f"automation/broken:\n{broken}", "toolbar_kata": "interaction/lost:\n  uri: lost\n"}
    nora.update("project_board", board.id, cards_kata=f"automation/draws:\n{draws}").ok()
    nora.update("project_board_column", board.columns["Doing"], **doing).ok()
    board.put("Doing", "Gamma")
    with chromium.page(server.url, cookies=signed_in.cookies, color_scheme=scheme) as opened:
        for path in (board.path, board.edit, f"/boards/columns/{board.columns['Doing']}/edit", "/boards"):
            opened.goto(path)
            if path == board.path:
                expect(opened.locator(".board .wrong")).to_have_text("Some cards are not drawn: It is broken")
            assert violations(opened) == []


@pytest.mark.parametrize("size", telling({"phone": PHONE, "narrow": NARROW}, [], "a further form of display"))
def test_a_board_fits_a_phone(chromium: Browser, server: Server, signed_in: Visitor, board: Board, size: Any) -> None:
    with chromium.page(server.url, size, cookies=signed_in.cookies) as opened:
        for path in (board.path, board.edit):
            opened.goto(path)
            assert not is_sideways(opened)
        opened.goto(board.path)
        opened.get_by_role("button", name="Move Beta to Doing").click()
        expect(opened.locator(".toast")).to_contain_text("Beta moved to Doing.")
