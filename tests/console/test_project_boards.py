"""Pages of project boards: columns with cards, which are added, moved and removed, and the form that builds a board."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import NARROW, PHONE, Browser, is_sideways, violations
from tests.console.visitor import Visitor
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
    chromium: Browser, server: Server, signed_in: Visitor, board: Board, scheme: Any
) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies, color_scheme=scheme) as opened:
        for path in (board.path, board.edit, "/boards"):
            opened.goto(path)
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
