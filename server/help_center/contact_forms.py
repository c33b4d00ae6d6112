"""Reads contact forms for their pages: the form at an address in a language, and its fields with their definitions."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from markupsafe import Markup

from server.access.service_actor import own_context
from server.context import Service
from server.contexts import TICKET
from server.dataclass import dataclass
from server.markup import clean_html, markdown_to_html
from server.record_types.record_type import Record
from server.record_types.shared.brands import BrandProfile
from server.record_types.shared.contact_fields import FormField, form_fields
from server.record_types.shared.custom import FieldDefinition, definitions
from server.records.reading import RecordReader
from server.store.transaction import Transaction
from server.tickets import acknowledging

PATH = "/contact"


@dataclass(frozen=True)
class PublicForm:
    """A form that visitors can open. definitions: the custom fields of tickets by id, {} for a form without fields.
    intro_text, consent_text: Markdown."""

    id: int
    brand_id: int
    title: str
    slug: str
    language: str
    group_id: int
    bucket_id: int
    intro_text: str
    consent_text: str
    consent_version: int
    fields: tuple[FormField, ...]
    definitions: dict[int, FieldDefinition]
    frame_origins: tuple[str, ...]
    has_files: bool
    has_proof: bool
    confirms_address: bool
    is_name_required: bool

    @cached_property
    def intro(self) -> Markup:
        """The introduction as HTML."""
        return _html(self.intro_text)

    @cached_property
    def consent(self) -> Markup:
        """The consent text as HTML, empty if visitors need not agree."""
        return _html(self.consent_text)

    @property
    def path(self) -> str:
        """The path of the form below prefix and language."""
        return form_path(self.slug)


def form_path(slug: str) -> str:
    """Returns the path of a form below prefix and language."""
    return f"{PATH}/{slug}" if slug else PATH


def forms_of(service: Service, tx: Transaction, brand: BrandProfile) -> tuple[Record, ...]:
    """Reads the forms of a brand that are switched on."""
    record_type = service.registry.type("contact_form")
    return tuple(record_type.record(row) for row in tx.find(record_type.table, is_on=1, brand_id=brand.id))


def form_at(
    service: Service, forms: Sequence[Record], brand: BrandProfile, slug: str, language: str
) -> PublicForm | None:
    """Returns the form at an address, or None if there is none. Prefers a form in the visitor's language, then a form
    for all languages, then one in the first language of the brand. forms: those of the brand that are switched on."""
    variants = {each["language"]: each for each in forms if each["slug"] == slug}
    record = variants.get(language) or variants.get("") or variants.get(brand.languages[0])
    return service.store.read(lambda tx: _public(tx, record)) if record is not None else None


def form_by_id(service: Service, id: int, *, also_off: bool = False) -> PublicForm | None:
    """Returns a form that is switched on, None for other ids. also_off: include forms that are switched off."""

    def read(tx: Transaction) -> PublicForm | None:
        record = _record(service, tx, id=id, **({} if also_off else {"is_on": 1}))
        return _public(tx, record) if record is not None else None

    return service.store.read(read)


def is_acknowledged(service: Service, group_id: int, bucket_id: int) -> bool:
    """Whether the group of a form confirms by email that a message has arrived."""
    ctx = own_context(service)
    return service.store.read(lambda tx: acknowledging.is_sent(RecordReader(ctx, tx), group_id, bucket_id))


def contact_path(forms: Sequence[Record]) -> str:
    """Returns the path of the form that pages link to: `/contact`, or else the only form; "" if there is no such form.
    forms: those of a brand that are switched on."""
    slugs = {each["slug"] for each in forms}
    if "" in slugs:
        return PATH
    return f"{PATH}/{slugs.pop()}" if len(slugs) == 1 else ""


def _record(service: Service, tx: Transaction, **equals: Any) -> Record | None:
    record_type = service.registry.type("contact_form")
    row = tx.first(record_type.table, **equals)
    return record_type.record(row) if row is not None else None


def _public(tx: Transaction, record: Record) -> PublicForm:
    fields = tuple(form_fields(record["form_fields"]))
    return PublicForm(
        id=record["id"],
        brand_id=record["brand_id"],
        title=record["name"],
        slug=record["slug"],
        language=record["language"],
        group_id=record["group_id"],
        bucket_id=record["bucket_id"],
        intro_text=record["intro"],
        consent_text=record["consent_text"],
        consent_version=record["consent_version"],
        fields=fields,
        definitions={each.id: each for each in definitions(tx).fields_of(TICKET)} if fields else {},
        frame_origins=tuple(record["frame_origins"].split()),
        has_files=bool(record["has_files"]),
        has_proof=bool(record["has_proof"]),
        confirms_address=bool(record["confirms_address"]),
        is_name_required=bool(record["is_name_required"]),
    )


def _html(markdown: str) -> Markup:
    return Markup(clean_html(markdown_to_html(markdown))) if markdown.strip() else Markup()
