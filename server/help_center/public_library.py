"""The library of a brand: its published articles, and the categories that hold them, in each of its languages.

Titles and places of all articles are cached, so that a page needs one statement for its text. Nothing else decides what
is public: an article that is on no shelf of a brand does not exist for its visitors."""

import json
import re
import threading
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import field
from functools import cached_property
from typing import Any

import peewee

from server.context import Service
from server.dataclass import dataclass
from server.help_center import contact_forms
from server.markup import text_of_html
from server.record_types.kb.categories import PLACED
from server.record_types.kb_article import PUBLISHED
from server.record_types.record_type import Record
from server.record_types.shared import brands
from server.record_types.shared.brands import BrandProfile
from server.store import words
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

BEGINNING_CHARS = 1200  # characters of HTML, enough for the lines below a title
_CUT_TAG = re.compile(r"<[^<>]*\Z")


@dataclass(frozen=True, slots=True)
class PublicArticle:
    """A published article. original_id: of the article that it translates, else its own. categories: originals."""

    id: int
    original_id: int
    language: str
    title: str
    slug: str
    summary: str
    position: int
    updated: int
    published_at: int
    categories: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PublicCategory:
    """A category. original_id, parent_id: of the category that it translates, and of the original above that."""

    id: int
    original_id: int
    language: str
    name: str
    slug: str
    description: str
    position: int
    parent_id: int


@dataclass
class Shelf:
    """The articles for one language: those written in it, and articles in the first language of the brand without a
    translation. categories: by the id of the original, without empty ones. known_bits: the cache of article_search.py,
    by full-text query."""

    language: str
    articles: dict[int, PublicArticle] = field(default_factory=dict)
    categories: dict[int, PublicCategory] = field(default_factory=dict)
    known_bits: dict[str, int] = field(default_factory=dict)
    _below: dict[int, list[PublicCategory]] = field(default_factory=dict)
    _held: dict[int, list[PublicArticle]] = field(default_factory=dict)

    def by_original(self, id: int) -> PublicArticle | None:
        """The article of this shelf that is an original, or translates it."""
        return self._by_original.get(id)

    @cached_property
    def _by_original(self) -> dict[int, PublicArticle]:
        return {each.original_id: each for each in self.articles.values()}

    def below(self, category_id: int) -> list[PublicCategory]:
        """The categories below one, in their order; the top ones for 0."""
        return self._below.get(category_id, [])

    def held(self, category_id: int) -> list[PublicArticle]:
        """The articles of a category, in their order; for 0 the articles without a category."""
        return self._held.get(category_id, [])

    def count(self, category_id: int) -> int:
        """The number of articles in a category and below it."""
        return self._counts[category_id]

    @cached_property
    def _counts(self) -> dict[int, int]:
        return {id: len(self._all_held(id)) for id in self.categories}

    def _all_held(self, category_id: int) -> set[int]:
        ids = {each.id for each in self.held(category_id)}
        return ids.union(*(self._all_held(each.original_id) for each in self.below(category_id)))

    def trail(self, category_id: int) -> list[PublicCategory]:
        """A category and those above it, the top first."""
        trail: list[PublicCategory] = []
        while (category := self.categories.get(category_id)) is not None:
            trail.insert(0, category)
            category_id = category.parent_id
        return trail

    @cached_property
    def places(self) -> dict[int, int]:
        """The place of each article in the order of all articles, by its id."""
        return {id: place for place, id in enumerate(self.articles)}

    @cached_property
    def in_order(self) -> tuple[PublicArticle, ...]:
        """All articles, each at its place."""
        return tuple(self.articles.values())

    @cached_property
    def title_words(self) -> frozenset[str]:
        """The words of all titles, as the full-text index has them."""
        return frozenset(word for each in self.articles.values() for word in words.split(words.indexed(each.title)))

    @cached_property
    def updated(self) -> int:
        """When one of its articles changed last."""
        return max((each.updated for each in self.articles.values()), default=0)


@dataclass(frozen=True)
class Library:
    """All shelves of a brand, by language. version: of their data. forms: the contact forms that are switched on.
    rendered: parts that several pages share, as far as they were rendered, by the caller's keys."""

    brand: BrandProfile
    version: int
    shelves: dict[str, Shelf]
    forms: tuple[Record, ...] = ()
    rendered: dict[Hashable, Any] = field(default_factory=dict)

    def shelf(self, language: str) -> Shelf:
        return self.shelves[language]

    @property
    def first_language(self) -> str:
        return self.brand.languages[0]

    def article(self, id: int) -> PublicArticle | None:
        """A published article of the brand, None for any other id."""
        return next((shelf.articles[id] for shelf in self.shelves.values() if id in shelf.articles), None)

    def category(self, id: int) -> PublicCategory | None:
        """A category with published articles, by the id of an original or a translation; None for any other id."""
        return self._categories.get(id)

    @cached_property
    def _categories(self) -> dict[int, PublicCategory]:
        shown = (each for shelf in self.shelves.values() for each in shelf.categories.values())
        return {each.id: each for each in shown}

    def translations(self, article: PublicArticle) -> dict[str, PublicArticle]:
        """An article in each language that it is written in."""
        shown = {language: shelf.by_original(article.original_id) for language, shelf in self.shelves.items()}
        return {language: each for language, each in shown.items() if each is not None and each.language == language}


class Libraries:
    """The libraries of all brands, cached until their version rises."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._known: tuple[int, dict[str, Library | None]] = (-1, {})  # version, libraries by host name of a brand

    def version(self, steps: int | None = None) -> int:
        """Returns the version of all libraries. steps: the budget on the event loop."""
        return self._service.store.read(lambda tx: tx.version(brands.VERSION), steps)

    def library(self, host: str) -> Library | None:
        """Returns the current library of the brand at a host name, "" for the brand without one; None if that is not
        public. Raises OutOfSteps on the event loop if it has to be read."""
        return self._service.store.read(lambda tx: self._library(tx, host))

    def hidden(self, host: str) -> Library | None:
        """Returns the brand at a host name that is not public, without its articles; None if there is none."""
        return self._service.store.read(lambda tx: self._hidden(tx, host))

    def _hidden(self, tx: Transaction, host: str) -> Library | None:
        brand = brands.brand_at(brands.all_brands(tx), host)
        if brand is None or brand.is_public:
            return None
        shelves = {language: Shelf(language) for language in brand.languages}
        return Library(brand, 0, shelves, contact_forms.forms_of(self._service, tx, brand))

    def _library(self, tx: Transaction, host: str) -> Library | None:
        version = tx.version(brands.VERSION)
        known_version, libraries = self._known
        if version == known_version and host in libraries:
            return libraries[host]
        tx.store.require_thread()
        with self._lock:  # a flood of visitors loads it once
            if version != self._known[0]:
                self._known = (version, {})
            libraries = self._known[1]
            if host not in libraries:
                libraries[host] = self._public(tx, host, version)
            return libraries[host]

    def _public(self, tx: Transaction, host: str, version: int) -> Library | None:
        brand = brands.brand_at(brands.all_brands(tx), host)
        if brand is None or not brand.is_public:
            return None
        return Library(brand, version, load_shelves(tx, brand), contact_forms.forms_of(self._service, tx, brand))


def load_shelves(tx: Transaction, brand: BrandProfile) -> dict[str, Shelf]:
    """Reads the shelves of a brand, with three statements."""
    categories = _Categories(brand, _category_rows(tx, brand.id))
    articles = _articles(tx, brand, categories)
    return {language: _shelf(language, brand, articles, categories) for language in brand.languages}


def article_html(service: Service, article: PublicArticle, brand: BrandProfile) -> str | None:
    """Returns the sanitized HTML of an article, None if it is no longer public."""

    def read(tx: Transaction) -> str | None:
        html = tx.value(_public_html, (article.id, PUBLISHED, brand.id))
        return None if html is None else str(html)

    return service.store.read(read)


def plain_texts(service: Service, articles: list[PublicArticle]) -> dict[int, str]:
    """Returns the beginnings of the texts of articles, for those without a summary."""
    ids = [each.id for each in articles if not each.summary]
    if not ids:
        return {}
    rows = service.store.read(lambda tx: tx.rows(_beginnings, (json.dumps(ids),)))
    return {id: _plain_beginning(html) for id, html in rows}


def _plain_beginning(html: str) -> str:
    return " ".join(text_of_html(_CUT_TAG.sub("", html)).split())


def _beginnings() -> Any:
    c: Any = table_named("kb_article").c
    beginning = peewee.fn.SUBSTR(c.content_html, peewee.SQL("1"), peewee.SQL(str(BEGINNING_CHARS)))
    return table_named("kb_article").select(c.id, beginning).where(in_list(c.id, slot(0)))


def _public_html() -> Any:
    """The text of an article, if it is public."""
    c: Any = table_named("kb_article").c
    is_public = (c.id == slot(0)) & (c.status == slot(1)) & ((c.brand_id == 0) | (c.brand_id == slot(2)))
    return table_named("kb_article").select(c.content_html).where(is_public)


def language_in(brand: BrandProfile, tag: str) -> str:
    """Returns the language of a brand that matches a tag, "" if none does. A tag without a region matches the first
    language with one, and the other way round."""
    if not tag:
        return brand.languages[0]
    alike = (each for each in brand.languages if each.partition("-")[0] == tag.partition("-")[0])
    return tag if tag in brand.languages else next(alike, "")


class _Categories:
    """The categories of a brand, without those below a category of another brand."""

    def __init__(self, brand: BrandProfile, rows: list[PublicCategory]) -> None:
        known = {each.id: each for each in rows}
        originals = {each.id: each.original_id if each.original_id in known else each.id for each in rows}
        self.original_of = {each.id: originals[each.id] for each in rows if _is_reachable(each.id, known, originals)}
        self.versions: dict[int, dict[str, PublicCategory]] = defaultdict(dict)
        for each in rows:
            if each.id in self.original_of:
                language = language_in(brand, each.language) or each.language
                self.versions[self.original_of[each.id]].setdefault(language, each)
        self._first = brand.languages[0]
        self._known = known
        self._originals = originals

    def parent_of(self, original_id: int) -> int:
        """The original above a category, 0 for none."""
        return self._originals.get(self._known[original_id].parent_id, 0)

    def shown(self, original_id: int, language: str) -> PublicCategory:
        """Returns a category in a language, or else in the first language of the brand, or else the original."""
        versions = self.versions[original_id]
        return versions.get(language) or versions.get(self._first) or self._known[original_id]


def _is_reachable(id: int, known: dict[int, PublicCategory], originals: dict[int, int]) -> bool:
    """Whether a category and all categories above it belong to the brand."""
    passed: set[int] = set()
    while id and id not in passed:
        passed.add(id)
        if id not in known:
            return False
        id = known[originals[id]].parent_id
    return id == 0


def _category_rows(tx: Transaction, brand_id: int) -> list[PublicCategory]:
    return [PublicCategory(id, original or id, *rest) for id, original, *rest in tx.rows(_all_categories, (brand_id,))]


def _all_categories() -> Any:
    c: Any = table_named("kb_category").c
    columns = (c.id, c.translation_of_id, c.language, c.name, c.slug, c.description, c.position, c.parent_id)
    is_own = (c.brand_id == 0) | (c.brand_id == slot(0))
    return table_named("kb_category").select(*columns).where(is_own).order_by(c.position, c.id)


def _all_articles() -> Any:
    c: Any = table_named("kb_article").c
    columns = (c.id, c.translation_of_id, c.language, c.title, c.slug, c.summary, c.position, c.updated)
    is_public = (c.status == slot(0)) & ((c.brand_id == 0) | (c.brand_id == slot(1)))
    selected = table_named("kb_article").select(*columns, c.published_at)
    return selected.where(is_public).order_by(c.position, c.id)


def _articles(tx: Transaction, brand: BrandProfile, categories: _Categories) -> list[PublicArticle]:
    rows = tx.rows(_all_articles, (PUBLISHED, brand.id))
    placed = PLACED.sql
    places: dict[int, list[int]] = defaultdict(list)
    for article_id, category_id in tx.rows(lambda: placed.select(placed.article_id, placed.category_id)):
        if category_id in categories.original_of:
            places[article_id].append(categories.original_of[category_id])
    articles = []
    for row in rows:
        id, original, language, title, slug, summary, position, updated, published_at = row
        spoken = language_in(brand, language)
        if spoken:
            own = tuple(dict.fromkeys(places.get(id) or places.get(original) or ()))
            articles.append(
                PublicArticle(id, original or id, spoken, title, slug, summary, position, updated, published_at, own)
            )
    return articles


def _shelf(language: str, brand: BrandProfile, articles: Iterable[PublicArticle], categories: _Categories) -> Shelf:
    chosen: dict[int, PublicArticle] = {}
    for each in articles:
        if each.language == language and (
            each.original_id not in chosen or chosen[each.original_id].language != language
        ):
            chosen[each.original_id] = each
        elif each.language == brand.languages[0]:
            chosen.setdefault(each.original_id, each)
    shelf = Shelf(language)
    for article in sorted(chosen.values(), key=lambda each: (each.position, each.id)):
        shelf.articles[article.id] = article
        for category_id in article.categories or (0,):
            shelf._held.setdefault(category_id, []).append(article)
    used: set[int] = set()
    for id in shelf._held:
        while id and id not in used:
            used.add(id)
            id = categories.parent_of(id)
    shown: Any = ((id, categories.shown(id, language), categories.parent_of(id)) for id in used)
    for id, category, parent_id in sorted(shown, key=lambda each: (each[1].position, each[0])):
        named = PublicCategory(
            category.id,
            id,
            category.language,
            category.name,
            category.slug,
            category.description,
            category.position,
            parent_id,
        )
        shelf.categories[id] = named
        shelf._below.setdefault(parent_id, []).append(named)
    return shelf
