"""Automations of project boards: they draw cards with the rights of the reader, run for cards that come to a column
with the rights of whoever moves them, and are bound and checked as elsewhere."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from server.automation import uses
from server.automation.automation_service import MAX_DEPTH
from server.automation.card_drawing import CardPainter
from server.automation.card_functions import card_values
from server.automation.interactions import interaction_offers, interaction_runs
from server.errors import Forbidden, HelpdeskError, Invalid, NotFound, ScriptError, TimedOut
from server.jobs.scheduler import Scheduler
from server.people import project_boards
from server.record_types.boards.board_columns import CARD_ACTION, RENDER_CARD
from server.record_types.boards.column_cards import Card
from server.record_types.shared.triggers import OTHERS
from server.upkeep import checkup_automations
from tests.records.desk import Desk

ALL = "commands:\n  all:\n    allow: yes\n"
INTERACTION = interaction_offers.TRIGGER
TITLE = "start:\n  return:\n    sheet:\n      columns:\n        text/title:\n"
RENAME = (
    "inputs:\n  text/mark:\nstart:\n  record.update/it:\n    output: changed\n    inputs:\n      record_type: task\n"
    "      record_id@key: card_id\n      fields:\n        title: {{card_title}} in {{column_name}} {{inputs.mark}}\n"
)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def ids(desk: Desk) -> dict[str, int]:
    """nora administers; milo and olga have all privileges by a role; olga is in no group."""
    people = desk.people()
    desk.create("role", name="Everyone", privs_mode="all", member_query_worker="isDisabled:no")
    return people


class Board:
    """A board with two columns, and a task in the first one."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.id = desk.create("project_board", name="Website")["id"]
        self.next, self.doing = (
            desk.create("project_board_column", name=name, board_id=self.id)["id"] for name in ("Next", "Doing")
        )
        self.task = desk.create("task", title="Logo")["id"]
        self.card = Card("svc.contexts.task", self.task)
        desk.update("project_board_column", self.next, cards=[f"task:{self.task}"])

    def sheet(self, by: int, card: Card | None = None, seconds: float = 60) -> Any:
        """Returns how the card is drawn for a worker."""
        painter = CardPainter(self.desk.context(by), seconds)
        board, column = self.desk.row("project_board", self.id), self.desk.row("project_board_column", self.next)
        return painter.sheet(board, column, card or self.card)

    def move(self, source: int, target: int, by: int = 0) -> None:
        project_boards.move_card(self.desk.context(by), self.card, source, target)

    @property
    def title(self) -> str:
        return str(self.desk.row("task", self.task)["title"])


@pytest.fixture
def board(desk: Desk, ids: dict[str, int]) -> Board:
    return Board(desk)


@pytest.fixture
def automation(desk):
    """Creates automations."""

    def create(name, script, trigger=RENDER_CARD, policy=ALL):
        return desk.create("automation", name=name, extension_id=trigger, script=script, policy_kata=policy)["id"]

    return create


def binding(*names: str, more: str = "") -> str:
    return "".join(f"automation/{name}:\n  uri: svc:automation:{name}\n{more}" for name in names)


def run_jobs(desk: Desk) -> None:
    """Runs all jobs that are due, and those that they cause."""
    with ThreadPoolExecutor(1) as pool:
        for _ in range(MAX_DEPTH + 2):
            Scheduler(desk.service, pool).run_due(desk.context().now)


def logged(desk: Desk) -> list[str]:
    log = desk.registry.type("automation_log")
    return [log.record(row)["message"] for row in desk.read(lambda tx: tx.find(log.table))]


# -- drawn cards -------------------------------------------------------------------------------------------------------


def test_the_column_draws_before_the_board_and_the_first_sheet_counts(desk, ids, board, automation):
    for name in ("one", "two", "three"):
        automation(name, f"start:\n  return:\n    sheet:\n      columns:\n        text/{name}:\n")
    automation("silent", "start:\n  return:\n    text: None\n")
    desk.update("project_board", board.id, cards_kata=binding("three"))
    assert list(board.sheet(ids["nora"]).columns) == ["text/three"]
    desk.update("project_board_column", board.next, cards_kata=binding("silent", "two", "one"))
    assert list(board.sheet(ids["nora"]).columns) == ["text/two"]
    off = "  disabled@bool: {{card__context == 'svc.contexts.task'}}\n"
    desk.update("project_board_column", board.next, cards_kata=binding("two", more=off) + binding("one"))
    assert list(board.sheet(ids["nora"]).columns) == ["text/one"]
    desk.update("project_board_column", board.next, cards_kata=binding("silent"))
    desk.update("project_board", board.id, cards_kata="")
    assert board.sheet(ids["nora"]) is None


def test_a_sheet_has_the_values_of_the_card_with_the_rights_of_the_reader(desk, ids, board, automation):
    few = desk.create("group", name="Few", is_private=1)["id"]
    secret = desk.create("ticket", subject="Secret offer", group_id=few)["id"]
    automation("seen", TITLE)
    desk.update("project_board_column", board.next, cards_kata=binding("seen"))
    row = board.sheet(ids["olga"]).row
    found = [row.get(key) for key in ("title", "card_title", "column_name", "board_name", "worker_first_name")]
    assert found == ["Logo", "Logo", "Next", "Website", "Olga"]
    for by, subject in (("nora", "Secret offer"), ("olga", None)):
        assert board.sheet(ids[by], Card("svc.contexts.ticket", secret)).row.get("card_subject") == subject


def test_a_sheet_may_have_a_schema_and_data(desk, ids, board, automation):
    script = (
        "start:\n  return:\n    sheet:\n      data:\n        0:\n          left: 3\n      schema:\n        layout:\n"
        "          title_column: left\n        columns:\n          text/left:\n            label: Days\n"
    )
    automation("seen", script)
    desk.update("project_board_column", board.next, cards_kata=binding("seen"))
    sheet = board.sheet(ids["nora"])
    assert (list(sheet.columns), sheet.layout["title_column"], sheet.row["left"]) == (["text/left"], "left", "3")


FAILING = {
    "an error": ("start:\n  error: It is broken\n", ALL, ScriptError, "It is broken"),
    "a change": (
        "start:\n  storage.set/x:\n    output: made\n    inputs:\n      key: a\n      value: 1\n",
        ALL,
        ScriptError,
        "only reads",
    ),
    "a policy": (
        TITLE,
        ALL + f"callers:\n  {RENDER_CARD}:\n    allow@bool: {{{{worker_first_name == 'Milo'}}}}\n",
        Forbidden,
        "does not allow you",
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_what_prevents_drawing_is_told(name, desk, ids, board, automation):
    script, policy, error, message = FAILING[name]
    automation("draws", script, policy=policy)
    desk.update("project_board_column", board.next, cards_kata=binding("draws"))
    with pytest.raises(error, match=message):
        board.sheet(ids["nora"])


def test_templates_of_the_board_call_no_functions_of_the_service(desk, ids, board, automation):
    automation("draws", TITLE)
    more = "  inputs:\n    who: {{svc_automation('x', {})}}\n"
    desk.update("project_board_column", board.next, cards_kata=binding("draws", more=more))
    with pytest.raises(HelpdeskError, match="svc_automation"):
        board.sheet(ids["nora"])


def test_a_card_has_a_time_limit(desk, ids, board, automation):
    automation("draws", TITLE)
    desk.update("project_board_column", board.next, cards_kata=binding("draws"))
    with pytest.raises(TimedOut):
        board.sheet(ids["nora"], seconds=-1)


def test_drawing_is_neither_logged_nor_counted(desk, ids, board, automation):
    id = automation("draws", "start:\n  log: Seen\n  return:\n    sheet:\n      columns:\n        text/title:\n")
    desk.update("project_board_column", board.next, cards_kata=binding("draws"))
    before = desk.row("automation", id)
    assert board.sheet(ids["nora"]) is not None
    assert (desk.row("automation", id), logged(desk)) == (before, [])


@pytest.mark.parametrize("name", ["projectBoard.renderCard", "projectBoard.cardAction"])
def test_the_documented_keys_are_passed(name, desk, ids, board):
    column = desk.row("project_board_column", board.next)
    passed = card_values(desk.context(ids["milo"]), column, board.card.context, board.card.id)
    documented = set(OTHERS[name].keys) - {"inputs"}
    assert set(passed) == {f"{key}{part}" for key in documented for part in ("_context", "id")}


# -- functions ---------------------------------------------------------------------------------------------------------


def test_functions_run_for_a_card_that_is_moved_or_added_and_not_within_the_column(desk, ids, board, automation):
    automation("rename", RENAME, CARD_ACTION)
    mark = "  inputs:\n    mark: for {{worker_first_name}}\n"
    desk.update("project_board_column", board.doing, functions_kata=binding("rename", more=mark))
    board.move(board.next, board.doing, by=ids["milo"])
    assert board.title == "Logo", "nothing runs inside the write"
    run_jobs(desk)
    assert board.title == "Logo in Doing for Milo"
    project_boards.move_card(desk.context(ids["milo"]), board.card, board.doing, board.doing)
    desk.update("project_board_column", board.doing, cards=[f"task:{board.task}"])
    run_jobs(desk)
    assert board.title == "Logo in Doing for Milo", "a card that is in the column already does not come to it"
    board.move(board.doing, 0, by=ids["milo"])
    desk.update("task", board.task, by=ids["milo"], title="Logo", links=[f"board column:{board.doing}"])
    run_jobs(desk)
    assert board.title == "Logo in Doing for Milo"


def test_functions_have_the_rights_of_whoever_moves_the_card(desk, ids, board, automation):
    few = desk.create("group", name="Few", is_private=1)["id"]
    secret = desk.create("ticket", subject="Secret offer", group_id=few)["id"]
    script = (
        "start:\n  record.update/it:\n    output: changed\n    inputs:\n      record_type: ticket\n"
        f"      record_id: {secret}\n      fields:\n        subject: Taken\n"
    )
    automation("take", script, CARD_ACTION)
    desk.update("project_board_column", board.doing, functions_kata=binding("take"))
    board.move(board.next, board.doing, by=ids["olga"])
    run_jobs(desk)
    assert desk.row("ticket", secret)["subject"] == "Secret offer"
    assert any("ticket" in message for message in logged(desk)), "the refusal is in the automation log"
    board.move(board.doing, board.next, by=ids["nora"])
    board.move(board.next, board.doing, by=ids["nora"])
    run_jobs(desk)
    assert desk.row("ticket", secret)["subject"] == "Taken"


def test_each_function_runs_and_one_that_fails_is_logged(desk, ids, board, automation):
    automation("broken", "start:\n  error: It is broken\n", CARD_ACTION)
    automation("rename", RENAME, CARD_ACTION)
    desk.update("project_board_column", board.doing, functions_kata=binding("broken", "rename"))
    board.move(board.next, board.doing, by=ids["milo"])
    run_jobs(desk)
    assert board.title.startswith("Logo in Doing")
    assert "It is broken" in logged(desk)


def test_functions_of_a_worker_who_was_disabled_and_of_a_deleted_column_do_not_run(desk, ids, board, automation):
    automation("rename", RENAME, CARD_ACTION)
    desk.update("project_board_column", board.doing, functions_kata=binding("rename"))
    board.move(board.next, board.doing, by=ids["milo"])
    desk.update("worker", ids["milo"], is_disabled=1)
    run_jobs(desk)
    assert board.title == "Logo"
    assert any("whoever moved the card is disabled" in message for message in logged(desk))
    board.move(board.doing, board.next)
    board.move(board.next, board.doing)
    desk.delete("project_board_column", board.doing)
    run_jobs(desk)
    assert board.title == "Logo"


def test_a_policy_says_for_whom_functions_run(desk, ids, board, automation):
    policy = ALL + f"callers:\n  {CARD_ACTION}:\n    allow@bool: {{{{worker_first_name == 'Nora'}}}}\n"
    automation("rename", RENAME, CARD_ACTION, policy)
    desk.update("project_board_column", board.doing, functions_kata=binding("rename"))
    board.move(board.next, board.doing, by=ids["milo"])
    run_jobs(desk)
    assert board.title == "Logo" and any("does not let" in message for message in logged(desk))
    board.move(board.doing, board.next)
    board.move(board.next, board.doing, by=ids["nora"])
    run_jobs(desk)
    assert board.title.startswith("Logo in Doing")


def test_columns_that_move_a_card_to_each_other_come_to_an_end(desk, ids, board, automation):
    def moving(name, target):
        fields = f"      fields:\n        cards:\n          0: task:{board.task}\n"
        script = (
            "start:\n  record.update/it:\n    output: changed\n    inputs:\n      record_type: project_board_column\n"
        )
        automation(name, f"{script}      record_id: {target}\n{fields}", CARD_ACTION)

    moving("forth", board.doing)
    moving("back", board.next)
    desk.update("project_board_column", board.next, functions_kata=binding("forth"))
    desk.update("project_board_column", board.doing, functions_kata=binding("back"))
    board.move(board.next, board.doing, by=ids["milo"])
    run_jobs(desk)
    assert any("automations that triggered each other" in message for message in logged(desk))


# -- toolbars ----------------------------------------------------------------------------------------------------------


def test_a_column_offers_interactions_that_know_it(desk, ids, board, automation):
    automation(
        "ask",
        "inputs:\n  text/who:\nstart:\n  return:\n    alert: {{board_name}}, {{column_name}}, {{inputs.who}}\n",
        INTERACTION,
    )
    toolbar = (
        "interaction/ask:\n  label: Ask in {{column_name}}\n  uri: svc:automation:ask\n  inputs:\n"
        "    who: {{worker_first_name}}\nmenu/more:\n  label: More\n  icon: cog\n  items:\n    interaction/lost:\n"
        "      uri: svc:automation:lost\n"
    )
    desk.update("project_board_column", board.next, toolbar_kata=toolbar)
    ctx = desk.context(ids["olga"])
    place = interaction_offers.place_of(ctx, "project_board_column", board.next)
    ask, lost = interaction_offers.offers(ctx, place)
    assert (ask.label, lost.name, lost.automation) == ("Ask in Next", "more.lost", None)
    run = interaction_runs.show(ctx, interaction_runs.start(ctx, place, "ask"))
    assert (run.place, run.place_id, run.result) == (
        "project_board_column",
        board.next,
        {"alert": "Website, Next, Olga"},
    )
    with pytest.raises(Invalid, match="does not exist"):
        interaction_runs.start(ctx, place, "more.lost")
    with pytest.raises(NotFound, match="not offered"):
        interaction_runs.start(ctx, place, "nothing")


# -- checks, and where automations are used ----------------------------------------------------------------------------

WRONG = {
    "not KATA": ("cards_kata", "a\n b", "is not KATA at line 1"),
    "an unknown key": ("functions_kata", "automation/a:\n  uri: x\n  colour: red\n", r"line 3: .*colour"),
    "no automation named": ("cards_kata", "automation/a:\n  inputs:\n    x: y\n", r"line 1: .*'uri' is required"),
    "a template": ("cards_kata", "automation/a:\n  uri: draws\n  disabled@bool: {{x\n", "line 3"),
    "a missing automation": (
        "cards_kata",
        binding("drawz"),
        "line 1: automation/drawz: there is no automation 'drawz'",
    ),
    "another trigger": (
        "functions_kata",
        binding("draws"),
        "has the trigger .*renderCard, but .*cardAction is required",
    ),
    "a toolbar without items": ("toolbar_kata", "menu/a:\n  label: x\n", "line 1: .*'items' is required"),
    "a button that starts nothing": ("toolbar_kata", "interaction/a:\n  label: x\n", "line 1: .*'uri' is required"),
    "a misspelt toolbar": ("toolbar_kata", "interactions/a:\n  uri: x\n", "line 1: .*interaction"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_could_never_run_is_refused_with_its_line(name, desk, board, automation):
    field, text, message = WRONG[name]
    automation("draws", TITLE)
    with pytest.raises(Invalid, match=f"^{field}: .*{message}"):
        desk.update("project_board_column", board.next, **{field: text})
    assert desk.row("project_board_column", board.next)[field] == ""


def test_uses_and_the_checkup_name_boards_and_columns(desk, ids, board, automation):
    id = automation("draws", TITLE)
    desk.update("project_board", board.id, cards_kata=binding("draws"))
    desk.update(
        "project_board_column",
        board.next,
        cards_kata=binding("draws"),
        toolbar_kata="interaction/a:\n  uri: svc:automation:draws\n",
    )
    found = {(each.uri, each.id) for each in uses.uses_of(desk.context(ids["nora"]), "draws")}
    assert found == {("project_board", board.id), ("project_board_column", board.next)}
    assert len(uses.uses_of(desk.context(ids["nora"]), "draws")) == 2
    assert uses.counts(desk.context(ids["nora"]))["draws"] == 2
    assert list(checkup_automations.of_bindings(desk.service)) == []
    desk.update("automation", id, name="draws.now")
    problems = [str(each.found) for each in checkup_automations.of_bindings(desk.service)]
    assert len(problems) == 2
    assert any("project_board_column 'Next': automation/draws never runs" in each for each in problems)
    with pytest.raises(NotFound, match="automation/draws names no automation with the trigger"):
        board.sheet(ids["nora"])
