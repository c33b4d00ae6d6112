"""The full-text index of comments, and the filter `comments:` of the types that are commented on.

It stands here and not in record_types/comment.py, since those types and the comment itself need it."""

from server.search.filters import HasMany, WordsFilter
from server.store.fulltext import TextIndex

COMMENT_TEXT = TextIndex("comment_text", ("comment",), "comment")


def comment_words(
    context: str, note: str = "Words in the comments on the record.", name: str = "comments", default: bool = False
) -> WordsFilter:
    """`comments:` of the record type with this context: one of its comments holds all the words. default: bare words go
    there; then the name is `text`."""
    way = HasMany("comment", "target_id", (("target__context", context),))
    return WordsFilter(name, note, COMMENT_TEXT, way=way, default=default)
