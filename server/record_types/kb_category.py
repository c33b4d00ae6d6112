"""Categories of the knowledge base: a tree; an article can be in several categories."""

from server.errors import Invalid
from server.fields import Id, Name, UpdatedAt
from server.record_types.kb.categories import PLACED, Tree, below
from server.record_types.record_type import Access, Change, Record, RecordType, Subtotals, Writing
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.search.filters import ByIdFilter, ChooserFilter, HasManyThrough
from server.store.tables import Index

BY_ID = "by id; comparison and sets as for numbers."


class KbCategory(RecordType):
    """A place for articles, perhaps below another one. Deleting it deletes those below it; the articles stay."""

    uri = "kb_category"
    plugin = "svc.kb"
    aliases = (
        "knowledgebase category",
        "knowledgebase categories",
        "kb category",
        "kb categories",
        "kb cat",
        "kb cats",
    )
    label_names = ("Knowledgebase Category", "Knowledgebase Categories")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("privilege",))
    fields = {
        "name": Name("Name; also the label.", 64),
        "parent_id": Id("Category above it; 0 for none.", "kb_category", zero_ok=True),
        "updated_at": UpdatedAt(),
    }
    indexes = (Index(("parent_id",), "the categories below one"),)
    filters = (
        ByIdFilter(
            "article.id",
            f"Holds one of these articles, {BY_ID}",
            "kb_article",
            HasManyThrough("kb_placed", "category_id", "article_id"),
            sortable=True,
        ),
        ChooserFilter("parent.id", f"Category above it, {BY_ID}", "parent_id", target="kb_category"),
    )
    subtotals = Subtotals(search=("fieldset", "links", "parent.id", "watchers"), aliases={"parent": "parent.id"})

    def prepare(self, change: Change, writing: Writing) -> None:
        parent = change.value("parent_id")
        if change.is_create or not parent or not change.changes("parent_id"):
            return
        if any(each.id == change.id for each in Tree(writing.tx).trail(parent)):
            raise Invalid(
                f"parent_id: category {parent} is this category or below it; choose another", field="parent_id"
            )

    def after_delete(self, record: Record, writing: Writing) -> None:
        """Deletes the categories below, the lowest first, so that each has none below it."""
        writing.tx.delete(PLACED, category_id=record["id"])
        for id in reversed(below(writing.tx, record["id"])):
            writing.delete("kb_category", id)
