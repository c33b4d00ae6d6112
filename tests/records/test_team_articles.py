"""Articles as the team writes them: versions, order, files, deletion and undo."""

from typing import Any

import pytest

from server.errors import Forbidden, NotFound
from server.help_center import article_history, team_articles
from server.records import stored_files
from tests.records.desk import NOW, Desk

DAY = 86_400


@pytest.fixture
def workers(desk: Desk) -> dict[str, int]:
    ids = desk.people()
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    return ids


def article(desk: Desk, title: str, **fields: Any) -> int:
    return int(desk.create("kb_article", title=title, **fields)["id"])


def titles(desk: Desk, q: str = "", missing: str = "") -> dict[str, list[str]]:
    listed = team_articles.overview(desk.context(), q, missing=missing)
    return {each.name: [article.title for article in each.articles] for each in listed}


def test_every_saved_text_is_a_version_with_its_author(desk: Desk, workers: dict[str, int]) -> None:
    id = article(desk, "Refunds", content="One", by=workers["milo"])
    desk.update("kb_article", id, by=workers["olga"], content="Two", title="Money back")
    desk.update("kb_article", id, views=7)
    desk.update("kb_article", id, status="published")
    listed = article_history.list_article_versions(desk.context(), id)
    assert [each.number for each in listed] == [3, 2, 1]
    assert [each.actor_name for each in listed[1:]] == ["Olga", "Milo"]
    assert [each.changed for each in listed] == [("status",), ("title", "content"), ()]
    shown = article_history.compare_article(desk.context(), id, 2, is_with_now=False)
    assert (shown.differing["content"], shown.older) == (("One", "Two"), 1)
    assert article_history.restore_version(desk.context(workers["nora"]), id, 1) == 3
    row = desk.row("kb_article", id)
    assert (row["title"], row["content"], row["status"]) == ("Refunds", "One", "published")
    assert not article_history.compare_article(desk.context(), id, 1, is_with_now=True).differing
    with pytest.raises(NotFound, match="version 9"):
        article_history.restore_version(desk.context(), id, 9)


def test_an_article_from_before_versions_keeps_its_first_text(desk: Desk) -> None:
    id = article(desk, "Refunds", content="One")
    desk.store.write(lambda tx: tx.delete(team_articles.VERSION, article_id=id))
    desk.update("kb_article", id, content="Two")
    shown = article_history.compare_article(desk.context(), id, 2, is_with_now=False)
    assert shown.differing["content"] == ("One", "Two")


def test_articles_move_within_their_category(desk: Desk) -> None:
    place, other = (desk.create("kb_category", name=name)["id"] for name in ("Money", "Time"))
    one, two, three = (article(desk, title, categories=f"{place}") for title in ("One", "Two", "Three"))
    free = article(desk, "Free")
    desk.update("kb_article", two, categories=f"+{other}")
    assert titles(desk) == {"Money": ["One", "Two", "Three"], "Time": ["Two"], "": ["Free"]}
    team_articles.move_article(desk.context(), place, three, -2)
    team_articles.move_article(desk.context(), place, one, 99)
    assert titles(desk)["Money"] == ["Three", "Two", "One"]
    team_articles.move_category(desk.context(), other, -1)
    assert list(titles(desk)) == ["Time", "Money", ""]
    with pytest.raises(NotFound):
        team_articles.move_article(desk.context(), other, free, 1)


def test_articles_with_one_position_can_be_put_in_order(desk: Desk) -> None:
    ids = [article(desk, title, position=0) for title in ("One", "Two", "Three")]
    team_articles.move_article(desk.context(), 0, ids[2], -1)
    assert titles(desk)[""] == ["One", "Three", "Two"]


def test_categories_are_listed_with_those_below_them(desk: Desk) -> None:
    top = desk.create("kb_category", name="Devices")["id"]
    desk.create("kb_category", name="Money")
    desk.create("kb_category", name="Pumps", parent_id=top)
    desk.create("kb_category", name="Geräte", language="de", translation_of_id=top)
    listed = team_articles.overview(desk.context(), "")
    assert [(each.name, each.trail) for each in listed] == [("Devices", ()), ("Pumps", ("Devices",)), ("Money", ())]


def test_missing_translations_are_listed(desk: Desk) -> None:
    first = article(desk, "Refunds")
    article(desk, "Erstattung", language="de", translation_of_id=first)
    article(desk, "Opening hours")
    article(desk, "Nur hier", language="de")
    assert titles(desk) == {"": ["Refunds", "Opening hours", "Nur hier"]}
    assert titles(desk, missing="de") == {"": ["Opening hours"]}
    assert titles(desk, "language:de") == {"": ["Erstattung", "Nur hier"]}


def test_a_deleted_article_comes_back_with_its_files_and_versions(desk: Desk, workers: dict[str, int]) -> None:
    ctx = desk.context(workers["milo"])
    picture = stored_files.upload(ctx, "a.png", "image/png", b"png")["id"]
    private = stored_files.upload(desk.context(workers["olga"]), "b.png", "image/png", b"secret")["id"]
    place = desk.create("kb_category", name="Money")["id"]
    text = "\n".join(f"![](https://desk.example/files/{each})" for each in (picture, private))
    places = {"categories": f"{place}", "status": "published"}
    id = article(desk, "Refunds", by=workers["milo"], format="m", content=text, **places)
    german = article(desk, "Erstattung", language="de", translation_of_id=id)
    attached = desk.record("kb_article", id, expand="attachments")["attachments"]
    assert [each["id"] for each in attached] == [picture]
    assert team_articles.delete_article(ctx, id)
    assert desk.row("kb_article", german)["translation_of_id"] == 0
    team_articles.forget_deleted(desk.service, NOW)
    with pytest.raises(NotFound):
        team_articles.restore_article(desk.context(workers["olga"]), id)
    assert team_articles.restore_article(ctx, id) == "Refunds"
    shown = desk.record("kb_article", id, expand="attachments,categories")
    assert [each["id"] for each in shown["attachments"]] == [picture]
    assert (shown["slug"], shown["status"], list(shown["categories"])) == ("refunds", "published", [str(place)])
    assert desk.row("kb_article", german)["translation_of_id"] == id
    assert len(article_history.list_article_versions(ctx, id)) == 2
    team_articles.delete_article(desk.context(), id)  # by the service, which cannot undo it
    team_articles.forget_deleted(desk.service, NOW)
    assert desk.found("attachment", "name:a.png") == []


def test_a_file_is_removed_from_an_article_by_those_who_may_change_it(desk: Desk, workers: dict[str, int]) -> None:
    id, other = article(desk, "Refunds"), article(desk, "Other")
    kept = desk.create("attachment", name="k.txt", content="k", attach=[f"kb_article:{id}", f"kb_article:{other}"])[
        "id"
    ]
    file = desk.create("attachment", name="a.txt", content="a", attach=[f"kb_article:{id}"])["id"]
    for name in (kept, file):
        team_articles.detach_file(desk.context(workers["milo"]), id, name)
    assert desk.found("attachment", "") == [kept]
    with pytest.raises(NotFound):
        team_articles.detach_file(desk.context(), id, kept)
    desk.update("role", 1, privs_mode="itemized", privs=["contexts.svc.contexts.kb_article.update"])
    desk.update("kb_article", other, status="published")
    with pytest.raises(Forbidden, match="publish"):
        team_articles.detach_file(desk.context(workers["milo"]), other, kept)
