"""The right to publish help articles, and to change those that visitors see."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.errors import Forbidden, Invalid, Required
from server.imports import csv_rows, row_import
from server.imports.columns import CsvMapping
from server.packages.package_import import import_package
from server.people import rights_explained
from tests.packages.parcel import package
from tests.records.desk import Desk

ARTICLE = "contexts.svc.contexts.kb_article"
WRITE = [f"{ARTICLE}.{name}" for name in ("create", "update", "delete")]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Milo may write articles; Olga may also publish them."""
    opened = Desk(Path(tmp_path_factory.mktemp("publishing")))
    ids = opened.people()
    opened.create("brand", name="Kite")
    file = ["contexts.svc.contexts.attachment.create"]
    for name, privileges in (("milo", [*WRITE, *file]), ("olga", [*WRITE, *file, f"{ARTICLE}.publish"])):
        opened.create("role", name=name, privs_mode="itemized", privs=privileges, member_query_worker=f"id:{ids[name]}")
    yield opened
    opened.close()


MILO, OLGA = 2, 3
CHANGES = (
    {"title": "Other"}, {"content": "Other"}, {"format": "h"}, {"summary": "Other"}, {"slug": "other"},
    {"language": "de"}, {"position": 77}, {"status": "draft"}, {"status": "internal"}, {"brand_id": 1},
)  # fmt: skip


@pytest.mark.parametrize("fields", CHANGES, ids=lambda fields: "-".join(map(str, fields.items())))
def test_a_published_article_changes_only_with_the_right_to_publish(desk: Desk, fields: dict[str, str]) -> None:
    article = desk.create("kb_article", title="Refunds", content="*a*", status="published")
    with pytest.raises(Forbidden, match=f"{ARTICLE}.publish"):
        desk.update("kb_article", article["id"], by=MILO, **fields)
    assert desk.record("kb_article", article["id"]) == article
    desk.update("kb_article", article["id"], by=OLGA, **fields)
    own = desk.create("kb_article", by=MILO, title="Refunds", content="*a*", status="draft")
    desk.update("kb_article", own["id"], by=MILO, **fields)


def test_publishing_needs_its_own_right_by_every_way(desk: Desk) -> None:
    with pytest.raises(Forbidden, match="publish"):
        desk.create("kb_article", by=MILO, title="New", status="p")
    id = desk.create("kb_article", by=MILO, title="New", status="draft")["id"]
    with pytest.raises(Forbidden, match="publish"):
        desk.update("kb_article", id, by=MILO, status="published")
    rows = csv_rows.read(b"title;status\nFrom a file;published\n")
    mapping = CsvMapping("kb_article", ("title", "status"), "")
    assert "publish" in str(row_import.attempt(desk.context(MILO), rows, mapping).mistakes)
    desk.update("kb_article", id, by=OLGA, status="published")
    with pytest.raises(Forbidden, match="publish"):
        desk.delete("kb_article", id, by=MILO)
    with pytest.raises(Forbidden, match="publish"):
        desk.create("attachment", by=MILO, name="a.txt", content="a", attach=[f"kb_article:{id}"])
    desk.create("attachment", by=OLGA, name="a.txt", content="a", attach=[f"kb_article:{id}"])
    desk.delete("kb_article", id, by=OLGA)


def test_what_visitors_do_not_see_changes_without_the_right(desk: Desk) -> None:
    place = desk.create("kb_category", name="Money")["id"]
    other = desk.create("kb_category", name="Time")["id"]
    id = desk.create("kb_article", title="Refunds", status="published", categories=str(place))["id"]
    desk.update("kb_article", id, by=MILO, views=7, title="Refunds", status="published", categories=str(place))
    for categories in (str(other), "", f"-{place}", f"+{other}"):
        with pytest.raises(Forbidden, match="publish"):
            desk.update("kb_article", id, by=MILO, categories=categories)
    assert desk.found("kb_article", f"category.id:{place}") == [id]


def test_publishing_and_unpublishing_are_logged_once(desk: Desk) -> None:
    id = desk.create("kb_article", by=OLGA, title="Logged", status="published")["id"]
    desk.update("kb_article", id, by=OLGA, title="Logged twice")
    desk.update("kb_article", id, by=OLGA, status="internal")
    points = [each["activity_point"] for each in desk.log(target_id=id) if each["activity_point"].startswith("kb_")]
    assert points == ["kb_article.published", "kb_article.unpublished"]


def test_a_package_says_that_it_publishes(desk: Desk) -> None:
    entry = {"uid": "a", "_context": "kb_article", "title": "Shipped", "status": "published"}
    with pytest.raises(Required, match="publishes the help article Shipped"):
        import_package(desk.context(1), package(entry), {})


def test_the_check_of_permissions_explains_publishing(desk: Desk) -> None:
    def verdicts(worker: int, uri: str = "kb_article") -> list[str]:
        return [each.verdict for each in rights_explained.explain(desk.context(1), worker, uri, "publish")]

    assert (verdicts(MILO), verdicts(OLGA)) == (["may not"], ["may"])
    with pytest.raises(Invalid, match="not published"):
        verdicts(OLGA, "task")
