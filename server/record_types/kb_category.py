"""Categories of the knowledge base: a tree; an article can be in several categories."""

from server.errors import Invalid
from server.fields import Id, Name, Text, Uint, UpdatedAt
from server.record_types.kb import article_addresses, translations
from server.record_types.kb.categories import PLACED, Tree, below
from server.record_types.record_type import Access, Change, Record, RecordType, Subtotals, Writing
from server.record_types.shared import brands
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
        "brand_id": Id(
            "Brand whose help center shows it; 0 for all of them.",
            "brand",
            zero_ok=True,
            nested_note="Brand whose help center shows it; 0 for all of them.",
            deep="In the help center of a matching brand alone.",
        ),
        "description": Text("What its articles are about, in a sentence or two.", 500),
        "language": Text(
            "Language, as a tag such as de or pt-BR; blank for the first language of the brand.",
            32,
            form="language",
            match="exact",
        ),
        "name": Name("Name; also the label.", 64),
        "parent_id": Id("Category above it; 0 for none.", "kb_category", zero_ok=True),
        "position": Uint("Place among the categories beside it; the last when omitted."),
        "slug": Text(
            "Its words in web addresses, unique in its language; made from the name when omitted or blank. A number "
            "is added to one that another category has or had. Former slugs still lead to the category.",
            255,
            exact=True,
            match="exact",
        ),
        "translation_of_id": Id(
            "Category that it is a translation of; 0 for an original. The category and its translations have "
            "different languages.",
            "kb_category",
            zero_ok=True,
            nested_note="Category that it is a translation of; 0 for an original.",
        ),
        "updated_at": UpdatedAt(),
    }
    bumps = {brands.VERSION: ()}
    indexes = (
        Index(("parent_id",), "the categories below one"),
        Index(("slug", "language"), "the category of an address"),
        Index(("translation_of_id",), "the translations of a category"),
        Index(("position",), "the last place"),
    )
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
    subtotals = Subtotals(
        search=("fieldset", "language", "links", "parent.id", "watchers"), aliases={"parent": "parent.id"}
    )

    def prepare(self, change: Change, writing: Writing) -> None:
        translations.settle_translation(change, writing)
        article_addresses.settle_slug(change, change.value("name"))
        article_addresses.reserve_slug(change, writing)
        if change.is_create and "position" not in change.sent:
            change.new["position"] = article_addresses.last_position(writing, self.uri)
        self._require_no_circle(change, writing)

    @staticmethod
    def _require_no_circle(change: Change, writing: Writing) -> None:
        parent = change.value("parent_id")
        if change.is_create or not parent or not change.changes("parent_id"):
            return
        if any(each.id == change.id for each in Tree(writing.tx).trail(parent)):
            raise Invalid(
                f"parent_id: category {parent} is this category or below it; choose another", field="parent_id"
            )

    def after_write(self, change: Change, writing: Writing) -> None:
        article_addresses.remember_slug(change, writing)

    def after_delete(self, record: Record, writing: Writing) -> None:
        """Deletes the categories below, the lowest first, so that each has none below it."""
        writing.tx.delete(PLACED, category_id=record["id"])
        article_addresses.forget_slugs(writing, self.uri, record["id"])
        translations.release_translations(record, writing, self.uri)
        for id in reversed(below(writing.tx, record["id"])):
            writing.delete("kb_category", id)
