"""Counts the public articles, categories and files of each brand, for administrators."""

from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.help_center.public_files import ARTICLE
from server.help_center.public_library import load_shelves
from server.record_types.shared import brands
from server.record_types.shared.brands import BrandProfile
from server.record_types.shared.relation_tables import ATTACHED
from server.store.statements import slot
from server.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class LanguageCount:
    """A language of a brand. address: of its home page. articles: written in it. fallbacks: shown in the first language
    instead."""

    language: str
    address: str
    articles: int
    fallbacks: int


@dataclass(frozen=True, slots=True)
class BrandChecklist:
    """A brand with its public articles, categories and files in numbers."""

    brand: BrandProfile
    address: str
    languages: tuple[LanguageCount, ...]
    articles: int
    categories: int
    files: int


def checklists(ctx: Context) -> list[BrandChecklist]:
    """Returns what each brand shows. Raises AdminOnly."""
    ctx.require_admin("see what the help center shows")
    return ctx.service.store.read(lambda tx: [_checklist(ctx, tx, each) for each in brands.all_brands(tx)])


def _checklist(ctx: Context, tx: Transaction, brand: BrandProfile) -> BrandChecklist:
    shelves = load_shelves(tx, brand)
    address = brands.address(ctx.service, brand)
    counts = []
    for language, shelf in shelves.items():
        own = sum(each.language == language for each in shelf.articles.values())
        path = brands.language_prefix(brand, language)
        counts.append(LanguageCount(language, f"{address}{path}/", own, len(shelf.articles) - own))
    articles = {id for shelf in shelves.values() for id in shelf.articles}
    categories = {id for shelf in shelves.values() for id in shelf.categories}
    files = {file_id for file_id, article_id in tx.rows(_attached, (ARTICLE,)) if article_id in articles}
    return BrandChecklist(brand, address, tuple(counts), len(articles), len(categories), len(files))


def _attached() -> Any:
    attached = ATTACHED.sql
    return attached.select(attached.attachment_id, attached.record_id).where(attached.context == slot(0))
