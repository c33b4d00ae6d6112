"""The votes and comments of visitors on one article, for its page."""

from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.help_center.votes import VOTE
from server.records import records
from server.records.reading import RecordReader
from server.store.statements import slot
from server.store.transaction import Transaction

NEWEST_COMMENTS = 20


@dataclass(frozen=True, slots=True)
class FeedbackComment:
    """A comment with the vote of its author. at: Unix seconds."""

    is_helpful: bool
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class ArticleFeedback:
    """helpful, unhelpful: numbers of votes. comments: the newest. total: the number of all comments."""

    helpful: int
    unhelpful: int
    comments: tuple[FeedbackComment, ...]
    total: int


def article_feedback(ctx: Context, id: int) -> ArticleFeedback:
    """Returns what visitors said about an article. Raises NotFound, Forbidden."""

    def read(tx: Transaction) -> ArticleFeedback:
        RecordReader(ctx, tx).retrieve("kb_article", id)
        vote: Any = VOTE.sql
        rows = tx.rows(
            lambda: (
                vote.select(vote.is_helpful, vote.comment, vote.voted_at)
                .where(vote.article_id == slot(0))
                .order_by(vote.voted_at.desc(), vote.id.desc())
            ),
            (id,),
        )
        helpful = sum(1 for is_helpful, _comment, _at in rows if is_helpful)
        comments = [FeedbackComment(bool(is_helpful), text, at) for is_helpful, text, at in rows if text]
        newest = tuple(comments[:NEWEST_COMMENTS])
        return ArticleFeedback(helpful, len(rows) - helpful, newest, len(comments))

    return records.reading(ctx, read)
