"""Articles of the knowledge base. Their text is written in one of three formats and shown as safe HTML."""

from typing import Any

from server.digits import is_whole
from server.fields import IdSetChange, Intake, Listed, Name, Text, Uint, UpdatedAt
from server.fields.field import split_sign
from server.record_types.kb.article_content import ArticleFormat, RenderedText, format_number, rendered, to_html, words
from server.record_types.kb.categories import PLACED, Tree
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Expand,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared.maps import pairs_through
from server.record_types.traits import Attachments, Comments, CustomFields, Links, Search, Watchers
from server.search.filters import ByIdFilter, HasManyThrough, NumberFilter, WordsFilter
from server.store.fulltext import TextIndex as TextIndex
from server.store.tables import Column, Index

CONTENT_CHARS = 16_777_215
KB_TEXT = TextIndex("kb_text", ("title", "content"), "kb_article")


class CategoryIds(Listed):
    """Ids of categories, separated by commas or as a list; unknown ids are skipped."""

    def read(self, raw: Any, intake: Intake) -> IdSetChange:  # type: ignore[override]
        signed = []
        for text in filter(None, (each.strip() for each in super().read(raw, intake).split(","))):
            sign, number = split_sign(text)
            if not is_whole(number):
                raise self.bad(f"'{number[:50]}' is not the id of a category")
            signed.append((sign, int(number) if intake.lookup.exists("kb_category", int(number)) else 0))
        return IdSetChange.from_signed(signed)


def load_categories(view: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """`categories`: {category id: {id: name} of it and those above, the top first}."""
    tree = Tree(view.tx)
    by_article: dict[int, dict[str, Any]] = {record["id"]: {} for record in records}
    for article_id, category_id in pairs_through(view.tx, PLACED, "article_id", "category_id", records):
        by_article[article_id][str(category_id)] = {str(each.id): each.name for each in tree.trail(category_id)}
    return {id: {"categories": each} for id, each in by_article.items()}


class KbArticle(RecordType):
    """An article: its text, written in one format and shown as HTML, and its categories."""

    uri = "kb_article"
    plugin = "svc.kb"
    aliases = (
        "knowledgebase article",
        "knowledgebase articles",
        "article",
        "articles",
        "kb",
        "kb article",
        "kb articles",
    )
    label_names = ("Knowledgebase Article", "Knowledgebase Articles")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Watchers(), Attachments(), Search())
    access = Access(read="any worker", write=("privilege",))
    fields = {
        "categories": CategoryIds(
            "Ids of its categories, as a list or separated by commas; replaces them all, or with `+` "
            "or `-` in front adds and removes. Unknown ids are ignored.",
            stored=False,
        ),
        "content": Text("The text, in the given format.", CONTENT_CHARS, shown=False),
        "format": ArticleFormat(
            "Format of the text: text, html or markdown; the first letter counts, and p for plain is fine.",
            default="text",
            shown=False,
        ),
        "title": Name("Title; also the label."),
        "updated": UpdatedAt(),
        "views": Uint("How often it was read."),
    }
    columns = (Column("content_html", "TEXT"),)
    indexes = (
        Index(("title",), "articles by title"),
        Index(("updated",), "the newest articles"),
    )
    tables = (PLACED,)
    text = KB_TEXT
    keys = (
        Key("content", "text", "The text as sanitized HTML.", column="content_html"),
        Key("format", "number", "Format of the text: 0 plain, 1 HTML, 2 Markdown.", column="format"),
    )
    expands = (
        Expand(
            "categories",
            "map",
            "By category id: the names of the category and its ancestors by id, top first.",
            load_categories,
            reads="kb_category",
        ),
    )
    filters = (
        WordsFilter("text", "Words of title and text.", KB_TEXT, default=True),
        ByIdFilter(
            "category.id",
            "In one of these categories, by id; comparison and sets as for numbers.",
            "kb_category",
            HasManyThrough("kb_placed", "article_id", "category_id"),
            sortable=True,
        ),
        WordsFilter("content", "Words of the text.", KB_TEXT, "content"),
        NumberFilter("format", "0 plain, 1 HTML, 2 Markdown.", "format"),
    )
    subtotals = Subtotals(search=("category.id", "fieldset", "format", "links", "watchers"))
    label_column = "title"

    def before(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Renders the HTML outside of the write, since rendering a long text would block the writer."""
        content, format = fields.get("content"), format_number(fields.get("format", ""))
        if format is None or not isinstance(content, str) or len(content) > CONTENT_CHARS:
            return fields  # rendered by `prepare`, or rejected by the field
        return fields | {"content": rendered(content, format)}

    def prepare(self, change: Change, writing: Writing) -> None:
        if not (change.is_create or change.changes("content") or change.changes("format")):
            return
        content, format = change.value("content"), change.value("format")
        is_made = isinstance(content, RenderedText) and content.content_format == format
        change.new["content_html"] = content.content_html if is_made else to_html(content, format)
        change.new["content"] = str(content)

    def after_write(self, change: Change, writing: Writing) -> None:
        if "categories" not in change.extras:
            return
        set_change: IdSetChange = change.extras["categories"]
        present = {row[1] for row in writing.tx.find(PLACED, article_id=change.id)}
        writing.tx.delete(PLACED, article_id=change.id)
        for category_id in sorted(set_change.applied_to(present)):
            writing.tx.insert(PLACED, {"article_id": change.id, "category_id": category_id})

    def after_delete(self, record: Record, writing: Writing) -> None:
        writing.tx.delete(PLACED, article_id=record["id"])

    def texts(self, record: Record, writing: Writing) -> dict[str, str]:
        return {"title": record["title"], "content": words(record["content"], record["format"])}
