"""Votes: whether an article helped, with a comment. A visitor who votes again changes their vote."""

from typing import Any

import peewee

from server.access import lockout
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import TooLarge
from server.help_center.public_library import PublicArticle
from server.jobs.scheduler import periodic
from server.markup.typed_text import clean_lines
from server.record_types.kb_article import PUBLISHED
from server.records.signed_names import ensured_key, keyed_digest
from server.store.statement_shapes import Builder
from server.store.statements import slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction
from server.store.writer import Write
from server.translation import N_, lazy_gettext

MAX_COMMENT_CHARS = 2000
MAX_VOTES = 200  # per article in 24 hours: a flood of visitors ends there
RECOGNIZED_SECONDS = 7 * 86400  # then the digest of the visitor is deleted
DAY_SECONDS = 86400
KEY = "help_center_key"  # setting with the key of the digests

VOTE = Table(
    "kb_vote",
    [
        Column("article_id", references="kb_article(id)"),
        Column("visitor", "TEXT"),
        Column("is_helpful"),
        Column("comment", "TEXT"),
        Column("voted_at"),
    ],
    [
        Index(("article_id", "voted_at"), "the votes on an article"),
        Index(("article_id", "visitor"), "the vote of a visitor"),
        Index(("voted_at",), "visitors that are recognized"),
    ],
)

DELETED_VOTE = Table(
    "kb_deleted_vote",
    [
        Column("article_id"),
        Column("visitor", "TEXT"),
        Column("is_helpful"),
        Column("comment", "TEXT"),
        Column("voted_at"),
    ],
    [Index(("article_id",), "the votes on an article"), Index(("voted_at",), "visitors that are recognized")],
)  # votes on deleted articles, until an article is restored or can no longer be
_VOTED = ("article_id", "visitor", "is_helpful", "comment", "voted_at")


@dataclass(frozen=True, slots=True)
class ArticleVotes:
    """The votes on an article. title: of the article."""

    article_id: int
    title: str
    helpful: int
    unhelpful: int


@dataclass(frozen=True, slots=True)
class VoteComment:
    """A comment with the vote of its author. at: Unix seconds."""

    article_id: int
    title: str
    is_helpful: bool
    comment: str
    at: int


def clean_comment(text: str) -> str:
    """Returns a comment as it is stored. Raises TooLarge."""
    comment = clean_lines(text)
    if len(comment) > MAX_COMMENT_CHARS:
        raise TooLarge(
            lazy_gettext("A comment can have at most {count} characters.", count=MAX_COMMENT_CHARS),
            limit=MAX_COMMENT_CHARS,
        )
    return comment


def vote_write(article: PublicArticle, visitor: tuple[str, str], is_helpful: bool, comment: str, now: int) -> Write:
    """Returns the write that stores a vote. visitor: network address and browser, of which a digest with a secret key
    is stored. comment: "" leaves an earlier one."""

    def write(tx: Transaction) -> None:
        if tx.value(_still_public, (article.id, PUBLISHED)) is None:
            return
        digest = _visitor_digest(tx, article.id, visitor)
        earlier = tx.first(VOTE, article_id=article.id, visitor=digest)
        values: dict[str, Any] = {"is_helpful": int(is_helpful), "voted_at": now}
        if comment:
            values["comment"] = comment
        if earlier is not None:
            tx.update(VOTE, earlier[0], values)
        elif _votes_since(tx, article.id, now - DAY_SECONDS) < MAX_VOTES:
            tx.insert(VOTE, {"article_id": article.id, "visitor": digest, "comment": "", **values})

    return write


def _still_public() -> Any:
    c: Any = table_named("kb_article").c
    return table_named("kb_article").select(c.id).where((c.id == slot(0)) & (c.status == slot(1)))


def _visitor_digest(tx: Transaction, article_id: int, visitor: tuple[str, str]) -> str:
    client, browser = visitor
    return keyed_digest(ensured_key(tx, KEY), f"{article_id}\0{lockout.address(client)}\0{browser}")


def _votes_since(tx: Transaction, article_id: int, since: int) -> int:
    vote = VOTE.sql
    return len(
        tx.rows(
            lambda: (
                vote.select(vote.id).where((vote.article_id == slot(0)) & (vote.voted_at > slot(1))).limit(MAX_VOTES)
            ),
            (article_id, since),
        )
    )


def hold_votes(tx: Transaction, article_id: int) -> None:
    """Holds the votes on an article that is deleted in this transaction, so that restore_votes can bring them back."""
    _copy_votes(tx, VOTE, DELETED_VOTE, article_id)


def restore_votes(tx: Transaction, article_id: int) -> None:
    """Restores the votes on an article that was created again with its id."""
    _copy_votes(tx, DELETED_VOTE, VOTE, article_id)
    tx.delete(DELETED_VOTE, article_id=article_id)


def _copy_votes(tx: Transaction, source: Table, target: Table, article_id: int) -> None:
    at = source.position
    rows = [[row[at[name]] for name in _VOTED] for row in tx.find(source, article_id=article_id)]
    tx.put_many(target, _VOTED, rows)


def tallies(ctx: Context) -> list[ArticleVotes]:
    """Returns the votes on articles, the least helpful article first."""
    rows = ctx.service.store.read(lambda tx: tx.rows(_tallied))
    articles = [ArticleVotes(id, title, int(yes), int(total) - int(yes)) for id, title, yes, total in rows]
    return sorted(articles, key=lambda each: (-each.unhelpful, each.helpful, each.article_id))


def comments(ctx: Context, number: int) -> list[VoteComment]:
    """Returns the newest comments."""
    rows = ctx.service.store.read(lambda tx: tx.rows(_commented, (number,)))
    return [VoteComment(id, title, bool(helpful), comment, at) for id, title, helpful, comment, at in rows]


def _tallied() -> Any:
    vote, article = VOTE.sql, table_named("kb_article")
    numbers = (peewee.fn.SUM(vote.is_helpful), peewee.fn.COUNT(vote.id))
    joined = vote.join(article, on=(article.c.id == vote.article_id))
    return joined.select(vote.article_id, article.c.title, *numbers).group_by(vote.article_id, article.c.title)


def _commented() -> Any:
    vote, article = VOTE.sql, table_named("kb_article")
    joined = vote.join(article, on=(article.c.id == vote.article_id))
    columns = (vote.article_id, article.c.title, vote.is_helpful, vote.comment, vote.voted_at)
    newest = joined.select(*columns).where(vote.comment != "").order_by(vote.voted_at.desc(), vote.id.desc())
    return newest.limit(slot(0))


@periodic(
    N_("visitors of the help center"), N_("Removes what recognizes a visitor who voted on an article."), deletes=True
)
def forget_visitors(service: Service, now: int) -> None:
    """Deletes the digests of visitors that are older than RECOGNIZED_SECONDS."""
    old = (now - RECOGNIZED_SECONDS,)
    for table in (VOTE, DELETED_VOTE):
        if service.store.read(lambda tx, table=table: tx.value(_recognized(table), old)) is not None:  # type: ignore[misc]
            service.store.write(lambda tx, table=table: tx.run(_forgotten(table), old))  # type: ignore[misc]


def _recognized(table: Table) -> Builder:
    vote: Any = table.sql
    return lambda: vote.select(vote.id).where((vote.voted_at < slot(0)) & (vote.visitor != "")).limit(1)


def _forgotten(table: Table) -> Builder:
    vote: Any = table.sql
    return lambda: vote.update({vote.visitor: ""}).where((vote.voted_at < slot(0)) & (vote.visitor != ""))
