"""Articles of the knowledge base. Their text is written in one of three formats and shown as safe HTML."""

from typing import Any

import peewee

from server.digits import is_whole
from server.errors import Forbidden
from server.fields import Id, IdSetChange, Intake, Listed, Name, Text, Timestamp, Uint, UpdatedAt, Word
from server.fields.field import split_sign
from server.record_types.kb import article_addresses, article_files, article_versions, translations
from server.record_types.kb.article_content import ArticleFormat, RenderedText, format_number, rendered, to_html, words
from server.record_types.kb.categories import PLACED, Tree
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Event,
    Expand,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared import brands
from server.record_types.shared.collections import ids_text
from server.record_types.shared.maps import pairs_through
from server.record_types.traits import Attachments, Comments, CustomFields, Links, Search, Watchers
from server.search.filters import ByIdFilter, ChoiceFilter, HasManyThrough, NumberFilter, WordsFilter
from server.store.fulltext import TextIndex as TextIndex
from server.store.statements import in_list, slot
from server.store.tables import Column, Index, table_named
from server.translation import lazy_gettext

CONTENT_CHARS = 16_777_215
# Columns that visitors do not see.
UNSEEN = frozenset(("updated", "views", "published_at"))
DRAFT, INTERNAL, PUBLISHED = STATUSES = ("draft", "internal", "published")
SUMMARY_CHARS = 500
# Columns that visitors see the effect of. `views` is not among them, since it changes with each visit.
PUBLIC_COLUMNS = (
    *("brand_id", "content_html", "language", "position", "published_at", "slug", "status", "summary", "title"),
    *("translation_of_id", "updated"),
)
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


def load_helpful(view: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads `helpful`."""
    return {id: {"helpful": yes} for id, (yes, _no) in _votes(view, records).items()}


def load_unhelpful(view: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads `unhelpful`."""
    return {id: {"unhelpful": no} for id, (_yes, no) in _votes(view, records).items()}


def _votes(view: DictionaryContext, records: list[Record]) -> dict[int, tuple[int, int]]:
    """Returns the numbers of votes by id: helpful, and not helpful."""
    vote = table_named("kb_vote")
    rows = view.tx.rows(
        lambda: (
            vote.select(vote.c.article_id, peewee.fn.SUM(vote.c.is_helpful), peewee.fn.COUNT(vote.c.id))
            .where(in_list(vote.c.article_id, slot(0)))
            .group_by(vote.c.article_id)
        ),
        (ids_text(records),),
    )
    numbers = {record["id"]: (0, 0) for record in records}
    return numbers | {id: (int(yes), int(total) - int(yes)) for id, yes, total in rows}


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
    access = Access(read="any worker", write=("privilege",), publish=("privilege",))
    fields = {
        "brand_id": Id(
            "Brand whose help center shows it; 0 for all of them.",
            "brand",
            zero_ok=True,
            nested_note="Brand whose help center shows it; 0 for all of them.",
            deep="In the help center of a matching brand alone.",
        ),
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
        "language": Text(
            "Language, as a tag such as de or pt-BR; blank for the first language of the brand.",
            32,
            form="language",
            match="exact",
        ),
        "position": Uint("Place among the articles of its categories; the last when omitted."),
        "published_at": Timestamp("When it was first published; set then when omitted."),
        "slug": Text(
            "Its words in web addresses, unique in its language; made from the title when omitted or blank. A number "
            "is added to one that another article has or had. Former slugs still lead to the article.",
            255,
            exact=True,
            match="exact",
        ),
        "status": Word(
            "Who can read it: `draft` and `internal` are for workers, `published` is in the help center. The first "
            "letter is enough.",
            STATUSES,
            default=INTERNAL,
        ),
        "summary": Text("What it is about, in a sentence or two; shown in lists and search results.", SUMMARY_CHARS),
        "title": Name("Title; also the label."),
        "translation_of_id": Id(
            "Article that it is a translation of; 0 for an original. The article and its translations have different "
            "languages.",
            "kb_article",
            zero_ok=True,
            nested_note="Article that it is a translation of; 0 for an original.",
        ),
        "updated": UpdatedAt(),
        "views": Uint("How often it was read."),
    }
    columns = (Column("content_html", "TEXT"),)
    bumps = {brands.VERSION: PUBLIC_COLUMNS}
    indexes = (
        Index(("title",), "articles by title"),
        Index(("updated",), "the newest articles"),
        Index(("slug", "language"), "the article of an address"),
        Index(("translation_of_id",), "the translations of an article"),
        Index(("position",), "the last place"),
    )
    tables = (PLACED, article_addresses.FORMER_SLUG, article_versions.VERSION)
    exported_tables = (article_addresses.FORMER_SLUG,)
    text = KB_TEXT
    keys = (
        Key("content", "text", "The text as sanitized HTML.", column="content_html"),
        Key("format", "number", "Format of the text: 0 plain, 1 HTML, 2 Markdown.", column="format"),
        Key(
            "source",
            "text",
            "The text as it was written, in its format.",
            lambda record, view: record["content"],
            on_expand=True,
        ),
    )
    expands = (
        Expand("helpful", "number", "Number of visitors whom it helped.", load_helpful, reads="kb_article"),
        Expand("unhelpful", "number", "Number of visitors whom it did not help.", load_unhelpful, reads="kb_article"),
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
        ChoiceFilter(
            "status",
            "draft, internal or published; a letter is enough.",
            "status",
            {each: each for each in STATUSES},
            sortable=True,
        ),
    )
    subtotals = Subtotals(
        search=("category.id", "fieldset", "format", "language", "links", "status", "watchers"),
    )
    events = (
        Event("kb_article.published", "it was published"),
        Event("kb_article.unpublished", "it was removed from the help center"),
    )
    label_column = "title"

    def privileged(self, change: Change, writing: Writing) -> None:
        """Requires the right to publish for everything that visitors see."""
        was_public = not change.is_create and change.was("status") == PUBLISHED
        is_public = change.value("status") == PUBLISHED
        if self._changes_page(change, writing) if was_public else is_public:
            self._require_publish(writing)

    def _require_publish(self, writing: Writing) -> None:
        if not writing.actor.may(f"contexts.{self.context}.publish"):
            raise Forbidden(
                lazy_gettext(
                    "you may not publish help articles, or change published ones; ask for a role with the privilege "
                    "{privilege}",
                    privilege=f"contexts.{self.context}.publish",
                )
            )

    @staticmethod
    def _changes_page(change: Change, writing: Writing) -> bool:
        """Whether something changes that visitors see."""
        if any(change.changes(name) for name in change.new if name not in UNSEEN):
            return True
        if "categories" not in change.extras:
            return False
        present = {row[1] for row in writing.tx.find(PLACED, article_id=change.id)}
        return bool(change.extras["categories"].applied_to(present) != present)

    def require_file_change(self, id: int, writing: Writing) -> None:
        super().require_file_change(id, writing)
        self._require_publish_of(writing.record(self.uri, id), writing)

    def check_delete(self, record: Record, writing: Writing) -> None:
        self._require_publish_of(record, writing)

    def _require_publish_of(self, record: Record | None, writing: Writing) -> None:
        if record is not None and record["status"] == PUBLISHED:
            self._require_publish(writing)

    def before(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Renders the HTML outside of the write, since rendering a long text would block the writer."""
        content, format = fields.get("content"), format_number(fields.get("format", ""))
        if format is None or not isinstance(content, str) or len(content) > CONTENT_CHARS:
            return fields  # rendered by `prepare`, or rejected by the field
        return fields | {"content": rendered(content, format)}

    def prepare(self, change: Change, writing: Writing) -> None:
        translations.settle_translation(change, writing)
        article_addresses.settle_slug(change, change.value("title"))
        article_addresses.reserve_slug(change, writing)
        if change.is_create and "position" not in change.sent:
            change.new["position"] = article_addresses.last_position(writing, self.uri)
        if change.value("status") == PUBLISHED and not change.value("published_at"):
            change.new["published_at"] = writing.now
        self._render(change)

    @staticmethod
    def _render(change: Change) -> None:
        if not (change.is_create or change.changes("content") or change.changes("format")):
            return
        content, format = change.value("content"), change.value("format")
        is_made = isinstance(content, RenderedText) and content.content_format == format
        change.new["content_html"] = content.content_html if is_made else to_html(content, format)
        change.new["content"] = str(content)

    def after_write(self, change: Change, writing: Writing) -> None:
        article_addresses.remember_slug(change, writing)
        was_public = not change.is_create and change.was("status") == PUBLISHED
        if was_public != (change.value("status") == PUBLISHED):
            point = "kb_article.unpublished" if was_public else "kb_article.published"
            writing.log(point, self.context, change.id, {"target": change.value("title")})
        article_versions.store_version(change, writing)
        if "content_html" in change.new:
            article_files.attach_own(writing, change.id, article_files.files_in(change.new["content_html"]))
        if "categories" not in change.extras:
            return
        set_change: IdSetChange = change.extras["categories"]
        present = {row[1] for row in writing.tx.find(PLACED, article_id=change.id)}
        writing.tx.delete(PLACED, article_id=change.id)
        for category_id in sorted(set_change.applied_to(present)):
            writing.tx.insert(PLACED, {"article_id": change.id, "category_id": category_id})

    def after_delete(self, record: Record, writing: Writing) -> None:
        writing.tx.delete(PLACED, article_id=record["id"])
        article_addresses.forget_slugs(writing, self.uri, record["id"])
        translations.release_translations(record, writing, self.uri)

    def texts(self, record: Record, writing: Writing) -> dict[str, str]:
        content = words(record["content"], record["format"])
        return {"title": record["title"], "content": f"{record['summary']}\n{content}".strip()}
