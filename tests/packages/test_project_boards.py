"""Project boards in packages: boards with columns and cards, which are created and exported with them."""

import json

import pytest

from server.errors import HelpdeskError
from server.packages.package_export import export_package
from server.packages.package_import import import_package
from tests.packages.parcel import Tree, bring, package, task
from tests.packages.test_import import ids_of, on
from tests.records.desk import Desk

BOARD: Tree = {
    "uid": "board",
    "name": "Website",
    "columns": [
        {
            "uid": "next",
            "name": "Next",
            "cards": [
                {"uid": "texts", "_context": "task", "title": "Write texts for {{{uid.board}}}"},
                {"uid": "kite", "_context": "svc.contexts.org", "name": "Kite"},
                {"uid": "logo", "_context": "task", "title": "Draw a logo", "links": ["org:{{{uid.kite}}}"]},
            ],
        },
        {"uid": "done", "name": "Done", "cards": [], "cards_kata": "automation/card:\n  uri: svc:automation:card\n"},
    ],
}


TOOLBAR = "interaction/a:\n  uri: svc:automation:orders\n  label: {{{x}}}\n"
CARD: Tree = {
    "uid": "card_automation",
    "_context": "automation",
    "name": "card",
    "extension_id": "svc.trigger.projectBoard.renderCard",
    "script": "start:\n  return:\n    sheet:\n      columns:\n        text/title:\n",
}


@pytest.fixture(autouse=True)
def automation(desk: Desk) -> None:
    """The automation that draws the cards of Done."""
    if not desk.found("automation", "name:card"):
        desk.create("automation", **{name: value for name, value in CARD.items() if name not in ("uid", "_context")})


def board_of(desk: Desk, id: int) -> dict[str, list[str]]:
    """Returns the labels of the cards by column, in order."""
    columns = {}
    for column_id in map(int, desk.record("project_board", id)["columns"].split(",")):
        column = desk.record("project_board_column", column_id, expand="cards:_label")
        columns[column["name"]] = [each["_label"] for each in column["cards"]]
    return columns


def export(desk: Desk, *records: str) -> Tree:
    return json.loads(json.dumps(export_package(desk.context(), records, "Mine")))


def test_a_board_comes_with_columns_and_cards(desk: Desk) -> None:
    made = ids_of(bring(desk, package(project_boards=[BOARD])))
    assert set(made) == {"board"}, "columns and cards are not reported"
    id = made["board"]
    assert board_of(desk, id) == {"Next": [f"Write texts for {id}", "Kite", "Draw a logo"], "Done": []}
    assert desk.row("project_board", id)["owner__context"] == "svc.contexts.app"
    [done] = on(desk, "project_board_column", board_id=id, name="Done")
    assert done["cards_kata"] == "automation/card:\n  uri: svc:automation:card\n"
    [kite] = desk.found("org", 'name:"Kite"')
    assert len(desk.found("task", f"links.org:(id:{kite})")) == 1, "a card keeps its own links"


def test_entries_may_refer_to_columns_and_exclude_cards(desk: Desk) -> None:
    boards = json.loads(json.dumps([BOARD]))
    boards[0]["columns"][0]["cards"][1]["_exclude"] = True
    boards[0]["columns"][0]["cards"][2].pop("links")
    made = ids_of(bring(desk, package(task("late", links=["board column:{{{uid.done}}}"]), project_boards=boards)))
    assert board_of(desk, made["board"])["Next"][1:] == ["Draw a logo"]
    assert len(board_of(desk, made["board"])["Done"]) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda board: board.pop("columns"), r"project_boards: 'board': lacks columns"),
        (lambda board: board["columns"][0].pop("cards"), r"project_boards: 'board': columns: 'next': lacks cards"),
        (lambda board: board["columns"][1].update(uid="next"), r"'next': the uid appears twice"),
        (lambda board: board["columns"][0]["cards"][0].pop("_context"), r"cards: 'texts': lacks _context"),
        (lambda board: board["columns"][0]["cards"][0].update(_context="boat"), r"cards: 'texts': .*'boat' is not"),
        (lambda board: board["columns"][0]["cards"][0].update(_context=5), r"cards: 'texts': _context must be"),
        (lambda board: board["columns"][0]["cards"][0].update(title=""), r"cards: 'texts': title"),
        (lambda board: board["columns"][0]["cards"][0].update(links="org:1"), r"cards: 'texts': links takes a list"),
        (lambda board: board["columns"][0]["cards"][0].update(_context="tag", name="x"), r"cards: 'texts'"),
        (lambda board: board["columns"][0].update(size=1), r"columns: 'next': .*'size' is not a field"),
        (lambda board: board["columns"][0].update(name=""), r"columns: 'next': name"),
        (lambda board: board.update(columns="x"), r"columns: must be a list"),
    ],
)
def test_mistakes_are_reported_at_their_place_and_nothing_is_written(change, message, desk: Desk) -> None:
    board = json.loads(json.dumps(BOARD))
    change(board)
    counts = [len(desk.found(uri, "")) for uri in ("project_board", "project_board_column", "task", "org")]
    with pytest.raises(HelpdeskError, match=message):
        bring(desk, package(project_boards=[board]))
    assert counts == [len(desk.found(uri, "")) for uri in ("project_board", "project_board_column", "task", "org")]


def test_a_rehearsal_writes_nothing(desk: Desk) -> None:
    before = desk.found("project_board", "")
    result = import_package(desk.context(), package(project_boards=[BOARD]), {}, dry_run=True)
    assert set(ids_of(result)) == {"board"} and desk.found("project_board", "") == before


def test_a_package_brings_automations_with_its_board_and_functions_need_consent(desk: Desk) -> None:
    own = CARD | {"uid": "moved", "name": "moved", "extension_id": "svc.trigger.projectBoard.cardAction"}
    board = json.loads(json.dumps(BOARD))
    board["columns"][1]["functions_kata"] = "automation/moved:\n  uri: svc:automation:moved\n"
    sent = package(own, project_boards=[board])
    with pytest.raises(HelpdeskError, match="runs the automation moved when somebody moves a card to the column Done"):
        import_package(desk.context(), sent, {})
    made = ids_of(bring(desk, sent))
    [done] = on(desk, "project_board_column", board_id=made["board"], name="Done")
    assert done["functions_kata"] == board["columns"][1]["functions_kata"]


def test_an_exported_board_is_imported_again(desk: Desk, ids: dict[str, int]) -> None:
    made = ids_of(bring(desk, package(project_boards=[BOARD])))
    [next_id, done] = map(int, desk.record("project_board", made["board"])["columns"].split(","))
    ticket = desk.create("ticket", subject="Not exported", group_id=ids["support"])["id"]
    desk.update("project_board_column", done, cards=[f"ticket:{ticket}"], toolbar_kata=TOOLBAR)
    desk.update("project_board", made["board"], columns=f"{done},{next_id}")
    sent = export(desk, f"board:{made['board']}")
    assert sent["records"] == [] and sent["package"]["requires"]["plugins"] == ["svc.project_boards"]
    again = ids_of(bring(desk, sent))
    copied = board_of(desk, again[f"project_board_{made['board']}"])
    assert list(copied) == ["Done", "Next"]
    assert copied == {"Done": [], "Next": board_of(desk, made["board"])["Next"]}, "conversations are left out"
    [copy] = on(desk, "project_board_column", board_id=again[f"project_board_{made['board']}"], name="Done")
    assert copy["toolbar_kata"] == TOOLBAR


def test_a_card_of_two_boards_is_exported_once(desk: Desk) -> None:
    made = ids_of(bring(desk, package(project_boards=[BOARD])))
    other = desk.create("project_board", name="Other")["id"]
    column = desk.create("project_board_column", name="All", board_id=other)["id"]
    [logo] = desk.found("task", 'title:"Draw a logo" sort:-id limit:1')[:1]
    desk.update("project_board_column", column, cards=[f"task:{logo}"])
    sent = export(desk, f"board:{made['board']}", f"board:{other}", f"task:{logo}")
    assert sent["records"] == []
    again = ids_of(bring(desk, sent))
    assert board_of(desk, again[f"project_board_{other}"]) == {"All": ["Draw a logo"]}
    assert board_of(desk, again[f"project_board_{made['board']}"])["Next"][2:] == ["Draw a logo"]


def test_an_update_leaves_cards_where_workers_have_moved_them(desk: Desk) -> None:
    first = package(project_boards=[BOARD])
    made = ids_of(bring(desk, first))
    [next_id, done] = map(int, desk.record("project_board", made["board"])["columns"].split(","))
    [logo] = desk.found("task", f'title:"Draw a logo" links.project_board_column:(id:{next_id})')
    desk.update("project_board_column", done, cards=[f"task:{logo}"])
    changed = json.loads(json.dumps(first))
    changed["project_boards"][0]["columns"][0]["cards"].append({"uid": "new", "_context": "task", "title": "Proofread"})
    import_package(desk.context(), changed, {}, mode="update")
    columns = board_of(desk, made["board"])
    assert columns["Done"] == ["Draw a logo"] and columns["Next"][1:] == ["Kite", "Proofread"]
