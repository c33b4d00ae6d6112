"""The full-text index of comments, and the filter `comments:` of types with comments.

In its own module since both these types and the comment type import it."""

from server.search.filters import HasMany, WordsFilter
from server.store.fulltext import TextIndex

COMMENT_TEXT = TextIndex("comment_text", ("comment",), "comment")


def comment_words(
    context: str, note: str = "Words in the comments on the record.", name: str = "comments", default: bool = False
) -> WordsFilter:
    """The filter `comments:` of the record type with this context: one comment contains all words. default: searches
    bare words; its name is then `text`."""
    way = HasMany("comment", "target_id", (("target__context", context),))
    return WordsFilter(name, note, COMMENT_TEXT, way=way, default=default)
