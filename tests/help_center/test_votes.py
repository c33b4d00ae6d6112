"""Votes, readers and searches without results: counted without who the visitor is."""

import pytest

from server.help_center import team_articles, visit_counts, votes
from server.help_center.public_library import PublicArticle
from server.people import undoable_deletions
from tests.help_center.conftest import KITE, Visitors
from tests.records.desk import NOW

VISITOR = ("192.0.2.7", "Firefox")


@pytest.fixture
def article(desk) -> PublicArticle:
    id = desk.create("kb_article", title="Pumps", status="published")["id"]
    return PublicArticle(id, id, "en", "Pumps", "pumps", "", 0, NOW, NOW, ())


def vote(desk, article, visitor=VISITOR, is_helpful=True, comment="", now=NOW):
    desk.store.write(votes.vote_write(article, visitor, is_helpful, comment, now))


def tally(desk, article):
    return next(
        ((each.helpful, each.unhelpful) for each in votes.tallies(desk.context()) if each.article_id == article.id),
        None,
    )


def test_a_visitor_who_votes_again_changes_their_vote(desk, article):
    vote(desk, article)
    vote(desk, article, is_helpful=False, comment="No picture")
    vote(desk, article, is_helpful=False)
    assert tally(desk, article) == (0, 1)
    (comment,) = [each for each in votes.comments(desk.context(), 100) if each.article_id == article.id]
    assert (comment.comment, comment.is_helpful, comment.title) == ("No picture", False, "Pumps")
    vote(desk, article, ("192.0.2.8", "Firefox"))
    vote(desk, article, ("192.0.2.7", "Chromium"))
    assert tally(desk, article) == (2, 1)


def test_a_network_of_addresses_is_one_visitor(desk, article):
    for last in range(3):
        vote(desk, article, (f"2001:db8::{last}", "Firefox"))
    assert tally(desk, article) == (1, 0)


def test_votes_of_a_day_are_limited(desk, article):
    for number in range(votes.MAX_VOTES + 5):
        vote(desk, article, (f"10.0.{number // 250}.{number % 250}", ""))
    assert tally(desk, article) == (votes.MAX_VOTES, 0)
    vote(desk, article, ("10.1.0.1", ""), now=NOW + votes.DAY_SECONDS + 1)
    assert tally(desk, article) == (votes.MAX_VOTES + 1, 0)


def test_a_restored_article_has_its_votes(desk, article):
    ctx = desk.context(desk.worker("Vera", is_superuser=1))
    vote(desk, article)
    vote(desk, article, ("192.0.2.8", "Firefox"), is_helpful=False, comment="No picture")
    assert team_articles.delete_article(ctx, article.id)
    assert tally(desk, article) is None
    team_articles.forget_deleted(desk.service, NOW + 60)
    team_articles.restore_article(ctx, article.id)
    assert tally(desk, article) == (1, 1)
    assert [each.comment for each in votes.comments(ctx, 100) if each.article_id == article.id] == ["No picture"]
    vote(desk, article, is_helpful=False)
    assert tally(desk, article) == (0, 2), "the visitor is still recognized"


def test_the_votes_of_a_deleted_article_are_forgotten_with_it(desk, article):
    def rows():
        return desk.read(lambda tx: tx.find(votes.DELETED_VOTE, article_id=article.id))

    vote(desk, article)
    assert team_articles.delete_article(desk.context(desk.worker("Volker", is_superuser=1)), article.id)
    assert rows()[0][votes.DELETED_VOTE.position["visitor"]]
    votes.forget_visitors(desk.service, NOW + votes.RECOGNIZED_SECONDS + 1)
    assert not rows()[0][votes.DELETED_VOTE.position["visitor"]]
    after = NOW + undoable_deletions.RETENTION_SECONDS + 1
    undoable_deletions.forget_old(desk.service, after)
    team_articles.forget_deleted(desk.service, after)
    assert rows() == []


def test_nothing_tells_visitors_apart_after_a_week(desk, article):
    vote(desk, article)
    rows = desk.read(lambda tx: tx.find(votes.VOTE, article_id=article.id))
    assert VISITOR[0] not in str(rows) and rows[0][votes.VOTE.position["visitor"]]
    votes.forget_visitors(desk.service, NOW + votes.RECOGNIZED_SECONDS + 1)
    rows = desk.read(lambda tx: tx.find(votes.VOTE, article_id=article.id))
    assert rows[0][votes.VOTE.position["visitor"]] == "" and tally(desk, article) == (1, 0)


def test_a_vote_on_an_article_that_was_withdrawn_is_not_counted(desk, article):
    desk.update("kb_article", article.id, status="draft")
    vote(desk, article)
    assert tally(desk, article) is None
    desk.delete("kb_article", article.id)
    vote(desk, article)


def test_searches_without_results_are_counted_without_persons(desk):
    brand = desk.create("brand", name="Counted", host="counted.example")["id"]
    counts = visit_counts.visit_counts(desk.service)
    for query in ("Blue  Pump", "blue pump", "ana@kite.example", "call 030 123456", "4711-0815-99", " "):
        counts.count_miss(brand, "en", query, NOW)
    counts.count_miss(999, "en", "no such brand", NOW)
    missed = visit_counts.missed_searches(desk.context(), NOW, brand)
    assert [(each.words, each.count, each.day) for each in missed] == [("blue pump", 2, NOW - NOW % 86400)]
    counts.count_miss(brand, "en", "blue pump", NOW)
    assert visit_counts.missed_searches(desk.context(), NOW, brand)[0].count == 3
    visit_counts.forget_searches(desk.service, NOW + 366 * 86400 + 1)
    assert visit_counts.missed_searches(desk.context(), 0, brand) == []


def test_a_reader_counts_once_a_minute_and_changes_nothing_else(desk, article):
    before = desk.row("kb_article", article.id)
    counts = visit_counts.visit_counts(desk.service)
    for reader in ("a", "a", "b"):
        counts.count_reader(article.id, reader)
    visit_counts.write_counts(desk.service, NOW)
    after = desk.row("kb_article", article.id)
    assert after == before | {"views": before["views"] + 2}
    assert visit_counts.most_read(desk.service, {article.id}, 5) == [article.id]


def test_a_vote_over_http_thanks_and_asks_for_a_comment(visitors: Visitors):
    id = visitors.article("Vote here")
    path = f"/a/{id}-vote-here"
    thanks = visitors.send("POST", f"{path}/vote", data={"helpful": "no"})
    assert (thanks.status_code, thanks.headers["Location"]) == (303, f"{path}?helpful=no#helpful")
    assert thanks.headers["Cache-Control"] == "no-store" and "Set-Cookie" not in thanks.headers
    page = visitors.get(f"{path}?helpful=no")
    assert "What was missing?" in page.text and page.headers["Cache-Control"] == "no-store"
    sent = visitors.send("POST", f"{path}/vote", data={"helpful": "no", "comment": "A picture <b>"})
    assert sent.headers["Location"] == f"{path}?helpful=sent#helpful"
    assert "Thank you for your comment." in visitors.get(f"{path}?helpful=sent").text


@pytest.mark.parametrize(
    ("data", "headers", "status"),
    [
        ({"helpful": "maybe"}, {}, 303),
        ({}, {}, 303),
        ({"helpful": "no", "comment": "x" * 2001}, {}, 413),
        ({"helpful": "no", "comment": "x" * 20_000}, {}, 413),
        ({"helpful": "yes"}, {"Origin": "https://evil.example"}, 403),
        ({"helpful": "yes"}, {"Sec_Fetch_Site": "cross-site"}, 403),
        ({"helpful": "yes"}, {"Origin": f"https://{KITE}"}, 303),
        ("helpful=%ff", {}, 400),
    ],
)
def test_what_is_no_vote_is_refused(visitors: Visitors, data, headers, status):
    if "Bad vote" not in visitors.ids:
        visitors.article("Bad vote")
    path = f"/a/{visitors.ids['Bad vote']}/vote"
    assert visitors.send("POST", path, data=data, **headers).status_code == status
