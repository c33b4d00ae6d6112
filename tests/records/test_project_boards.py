"""Project boards: the order of columns, and cards, which are records linked to a column in an order."""

import pytest

from server.errors import Conflict, Forbidden, Invalid, NotFound
from server.people import project_boards
from server.record_types.boards import column_cards
from server.record_types.boards.board_columns import MAX_COLUMNS
from server.record_types.boards.column_cards import Card

MOVED = "project_board.card.moved"


@pytest.fixture
def everyone(desk, ids):
    """A role by which every worker has all privileges."""
    desk.create("role", name="Everyone", privs_mode="all", member_query_worker="isDisabled:no")


@pytest.fixture
def board(desk, ids):
    return desk.create("project_board", name="Website")["id"]


@pytest.fixture
def columns(desk, board):
    """Two columns of the board."""
    return [desk.create("project_board_column", name=name, board_id=board)["id"] for name in ("Next", "Doing")]


@pytest.fixture
def tasks(desk, ids):
    """References to three tasks."""
    return [f"task:{desk.create('task', title=title)['id']}" for title in ("One", "Two", "Three")]


def cards(desk, column, by=0):
    found = desk.record("project_board_column", column, by, "cards")["cards"]
    return [f"{each['_context'].removeprefix('svc.contexts.')}:{each['id']}" for each in found]


def card(reference):
    name, _, id = reference.partition(":")
    return Card(f"svc.contexts.{name}", int(id))


def move(desk, reference, source, target, before=None, by=0):
    context = desk.context(by)
    return project_boards.move_card(context, card(reference), source, target, card(before) if before else None)


def order(desk, board):
    return desk.record("project_board", board)["columns"]


# -- columns ---------------------------------------------------------------------------------------------------------


def test_columns_have_the_order_of_their_creation_until_another_is_sent(desk, board, columns):
    planned, doing = columns
    assert order(desk, board) == f"{planned},{doing}"
    done = desk.create("project_board_column", name="Done", board_id=board)["id"]
    for sent, expected in (
        (f"{doing}, {planned},{done},{doing}", f"{doing},{planned},{done}"),
        (str(done), f"{done},{planned},{doing}"),
        (f"[{planned}, {done}]", f"{planned},{done},{doing}"),
    ):
        desk.update("project_board", board, columns=sent)
        assert order(desk, board) == expected
    desk.delete("project_board_column", done)
    assert order(desk, board) == f"{planned},{doing}"


def test_an_order_names_columns_of_the_board(desk, board, columns):
    other = desk.create("project_board", name="Other")["id"]
    foreign = desk.create("project_board_column", name="Theirs", board_id=other)["id"]
    with pytest.raises(Invalid, match=f"columns: the board has no column {foreign}"):
        desk.update("project_board", board, columns=f"{columns[0]},{foreign}")
    with pytest.raises(Invalid, match="columns: takes the ids of columns"):
        desk.update("project_board", board, columns="first,second")
    with pytest.raises(Invalid, match="the board has no column"):
        desk.create("project_board", name="New", columns=str(columns[0]))


def test_a_column_moves_to_another_board_with_its_cards(desk, board, columns, tasks):
    other = desk.create("project_board", name="Other")["id"]
    desk.update("project_board_column", columns[0], cards=tasks)
    desk.update("project_board_column", columns[0], board_id=other)
    assert (order(desk, board), order(desk, other)) == (str(columns[1]), str(columns[0]))
    assert cards(desk, columns[0]) == tasks


def test_a_board_has_a_limited_number_of_columns(desk, board):
    for _ in range(MAX_COLUMNS):
        desk.create("project_board_column", name="C", board_id=board)
    with pytest.raises(Conflict, match=f"board_id: at most {MAX_COLUMNS}"):
        desk.create("project_board_column", name="C", board_id=board)


def test_deleting_a_board_deletes_its_columns_and_no_record(desk, board, columns, tasks):
    desk.update("project_board_column", columns[0], cards=tasks)
    desk.delete("project_board", board)
    assert desk.found("project_board_column", f"board.id:{board}") == []
    assert desk.found("task", f"links.project_board_column:(id:{columns[0]})") == []
    assert desk.record("task", card(tasks[0]).id)["title"] == "One"


def test_a_board_with_very_many_cards_is_emptied_first(desk, board, columns, tasks, monkeypatch):
    monkeypatch.setattr("server.record_types.project_board.MAX_CARDS_GONE", 2)
    desk.update("project_board_column", columns[0], cards=tasks)
    with pytest.raises(Conflict, match="more than 2 cards are on this board; delete its columns first"):
        desk.delete("project_board", board)
    desk.delete("project_board_column", columns[0])
    desk.delete("project_board", board)


# -- cards -----------------------------------------------------------------------------------------------------------


def test_cards_are_links_in_the_order_sent(desk, columns, tasks):
    planned, _ = columns
    one, two, three = tasks
    desk.update("project_board_column", planned, cards=[three, one])
    desk.update("project_board_column", planned, cards=[two])
    assert cards(desk, planned) == [three, one, two]
    desk.update("project_board_column", planned, cards=[three, f"-{one}"])
    assert cards(desk, planned) == [two, three], "a card that is sent again moves to the end"
    assert desk.found("task", f"links.project_board_column:(id:{planned})") == [card(two).id, card(three).id]


def test_a_record_has_one_card_on_a_board(desk, board, columns, tasks):
    planned, doing = columns
    desk.update("project_board_column", planned, cards=tasks)
    desk.update("project_board_column", doing, cards=tasks[:1])
    assert (cards(desk, planned), cards(desk, doing)) == (tasks[1:], tasks[:1])
    elsewhere = desk.create("project_board", name="Other")["id"]
    other = desk.create("project_board_column", name="All", board_id=elsewhere)["id"]
    desk.update("project_board_column", other, cards=tasks[:1])
    assert cards(desk, doing) == cards(desk, other) == tasks[:1]


def test_linking_a_record_adds_a_card_and_unlinking_removes_it(desk, columns, tasks):
    planned, doing = columns
    id = card(tasks[0]).id
    desk.update("task", id, links=[f"project_board_column:{planned}"])
    desk.update("project_board_column", planned, cards=tasks[1:])
    assert cards(desk, planned) == tasks
    desk.update("task", id, links=[f"board column:{doing}"])
    assert (cards(desk, planned), cards(desk, doing)) == (tasks[1:], tasks[:1])
    desk.update("task", id, links=[f"-project_board_column:{doing}"])
    assert cards(desk, doing) == []


def test_watchers_are_no_cards(desk, ids, columns):
    with pytest.raises(Invalid, match="cards: workers cannot be cards"):
        desk.update("project_board_column", columns[0], cards=[f"worker:{ids['milo']}"])
    with pytest.raises(Invalid, match="card: workers cannot be cards"):
        move(desk, f"worker:{ids['milo']}", 0, columns[0])
    desk.update("project_board_column", columns[0], links=[f"worker:{ids['milo']}"])
    assert cards(desk, columns[0]) == []
    assert desk.found("project_board_column", f"watchers:(id:{ids['milo']})") == columns[:1]


def test_a_deleted_record_has_no_card(desk, columns, tasks):
    desk.update("project_board_column", columns[0], cards=tasks)
    desk.delete("task", card(tasks[1]).id)
    assert cards(desk, columns[0]) == [tasks[0], tasks[2]]


def test_readers_see_the_cards_whose_records_they_may_read(desk, ids, everyone, columns, tasks):
    ticket = desk.create(
        "ticket", subject="Secret offer", group_id=desk.create("group", name="Few", is_private=1)["id"]
    )
    secret = f"ticket:{ticket['id']}"
    desk.update("project_board_column", columns[0], cards=[secret, *tasks])
    assert cards(desk, columns[0]) == [secret, *tasks]
    assert cards(desk, columns[0], ids["olga"]) == tasks
    board = desk.record("project_board", desk.record("project_board_column", columns[0])["board_id"])
    [first, _] = project_boards.columns_of(desk.context(ids["olga"]), board)
    assert (first.total, [row["title"] for _, row in first.rows]) == (3, ["One", "Two", "Three"])
    with pytest.raises(Forbidden):
        move(desk, secret, columns[0], columns[1], by=ids["olga"])
    desk.update("project_board_column", columns[0], by=ids["olga"], cards=[f"-{secret}"])
    assert cards(desk, columns[0]) == [secret, *tasks], "what one may not read is not removed either"
    with pytest.raises(Invalid, match="there is no"):
        desk.update("project_board_column", columns[1], by=ids["olga"], cards=[secret])
    desk.update("project_board_column", columns[0], cards=[tasks[0], secret, tasks[1]])
    assert move(desk, tasks[0], columns[0], columns[1], by=ids["olga"]) == card(tasks[1]), "the undo names no secret"


def test_a_column_has_a_limited_number_of_cards(desk, columns, tasks, monkeypatch):
    monkeypatch.setattr(column_cards, "MAX_CARDS", 2)
    desk.update("project_board_column", columns[0], cards=tasks[:2])
    with pytest.raises(Conflict, match="the column Next is full: it has 2 cards"):
        desk.update("task", card(tasks[2]).id, links=[f"project_board_column:{columns[0]}"])
    assert cards(desk, columns[0]) == tasks[:2]


def test_boards_need_privileges(desk, ids, columns, tasks):
    privileges = ["contexts.svc.contexts.task.update"]
    desk.create("role", name="Tasks", privs_mode="itemized", privs=privileges, member_query_worker="isDisabled:no")
    olga = ids["olga"]
    assert cards(desk, columns[0], olga) == []
    for attempt in (
        lambda: desk.create("project_board", by=olga, name="Mine"),
        lambda: desk.update("project_board_column", columns[0], by=olga, cards=tasks),
        lambda: desk.update("task", card(tasks[0]).id, by=olga, links=[f"board column:{columns[0]}"]),
        lambda: move(desk, tasks[0], 0, columns[0], by=olga),
        lambda: project_boards.move_column(desk.context(olga), columns[0], 1),
    ):
        with pytest.raises(Forbidden, match="project board"):
            attempt()
    assert cards(desk, columns[0]) == []


# -- moves -----------------------------------------------------------------------------------------------------------


def test_a_card_is_moved_before_another_with_one_entry(desk, ids, everyone, board, columns, tasks):
    planned, doing = columns
    one, two, three = tasks
    desk.update("project_board_column", planned, cards=[one, two])
    desk.update("project_board_column", doing, cards=[three])
    before = len(desk.log())
    assert move(desk, one, planned, doing, three, by=ids["milo"]) == card(two), "what followed it, for an undo"
    assert (cards(desk, planned), cards(desk, doing)) == ([two], [one, three])
    [entry] = desk.log()[before:]
    assert (entry["activity_point"], entry["target_id"], entry["about_id"]) == (MOVED, board, card(one).id)
    assert entry["params"]["variables"] | {"actor": ""} == {
        "actor": "", "target": "Website", "card": "One", "before": "Next", "column": "Doing",
    }  # fmt: skip
    assert move(desk, one, doing, planned, two) == card(three)
    assert (cards(desk, planned), cards(desk, doing)) == ([one, two], [three]), "the undo restores its place"


@pytest.mark.parametrize("way", ["a page", "cards of the column", "links of the record"])
def test_the_board_logs_what_was_added_moved_and_removed(way, desk, ids, everyone, board, columns, tasks):
    planned, doing = columns
    one, milo = tasks[0], ids["milo"]

    def put(source, target):
        if way == "a page":
            move(desk, one, source, target, by=milo)
        elif way == "cards of the column":
            reference = one if target else f"-{one}"
            desk.update("project_board_column", target or source, by=milo, cards=[reference])
        else:
            column = f"project_board_column:{target}" if target else f"-project_board_column:{source}"
            desk.update("task", card(one).id, by=milo, links=[column])

    put(0, planned)
    put(planned, doing)
    put(doing, 0)
    entries = [each for each in desk.log() if each["activity_point"].startswith("project_board.card.")]
    assert [(each["activity_point"].rpartition(".")[2], each["target_id"], each["about_id"]) for each in entries] == [
        (act, board, card(one).id) for act in ("added", "moved", "removed")
    ]
    for entry, names in zip(
        entries, ({"column": "Next"}, {"before": "Next", "column": "Doing"}, {"column": "Doing"}), strict=True
    ):
        variables = {name: value for name, value in entry["params"]["variables"].items() if name != "actor"}
        assert variables == {"target": "Website", "card": "One"} | names


def test_an_order_within_a_column_is_not_logged(desk, columns, tasks):
    planned, _ = columns
    desk.update("project_board_column", planned, cards=tasks)
    before = len(desk.log())
    assert move(desk, tasks[2], planned, planned, tasks[0]) is None
    assert cards(desk, planned) == [tasks[2], *tasks[:2]]
    assert len(desk.log()) == before


def test_a_move_of_a_card_that_is_elsewhere_by_now_changes_nothing(desk, columns, tasks):
    planned, doing = columns
    desk.update("project_board_column", planned, cards=tasks)
    move(desk, tasks[0], planned, doing)
    with pytest.raises(Conflict, match="somebody has moved this card from Next to Doing in the meantime"):
        move(desk, tasks[0], planned, doing)
    with pytest.raises(Conflict, match="it is already on this board, in the column Doing"):
        move(desk, tasks[0], 0, planned)
    move(desk, tasks[0], doing, 0)
    with pytest.raises(Conflict, match="somebody has removed this card from Doing in the meantime"):
        move(desk, tasks[0], doing, planned)
    assert (cards(desk, planned), cards(desk, doing)) == (tasks[1:], [])


def test_a_card_follows_one_that_is_gone_at_the_end(desk, columns, tasks):
    planned, doing = columns
    desk.update("project_board_column", planned, cards=tasks)
    move(desk, tasks[0], planned, doing, tasks[1])
    assert cards(desk, doing) == tasks[:1]


def test_a_move_stays_on_one_board(desk, columns, tasks):
    other = desk.create("project_board", name="Other")["id"]
    foreign = desk.create("project_board_column", name="Theirs", board_id=other)["id"]
    desk.update("project_board_column", columns[0], cards=tasks)
    with pytest.raises(Invalid, match="different boards"):
        move(desk, tasks[0], columns[0], foreign)
    with pytest.raises(NotFound):
        move(desk, tasks[0], columns[0], 999_999)
    assert cards(desk, columns[0]) == tasks
