"""Files of published articles."""

from typing import Any

from server.context import Service
from server.contexts import context_of
from server.help_center.public_library import PublicArticle
from server.record_types.shared.brands import BrandProfile
from server.record_types.shared.relation_tables import ATTACHED
from server.records.stored_files import StoredFile
from server.store import blobs
from server.store.statements import slot
from server.store.tables import table_named

ARTICLE = context_of("kb_article")
_COLUMNS = ("id", "name", "mime_type", "size", "storage_sha1hash", "updated", "blob_id")


def files_of(service: Service, article: PublicArticle) -> list[StoredFile]:
    """Returns the stored files of an article and of the article that it translates, by name."""
    rows = service.store.read(lambda tx: tx.rows(_attached_files, (ARTICLE, article.id, article.original_id)))
    return [StoredFile(*row) for row in rows]


def logo(service: Service, brand: BrandProfile) -> bytes:
    """Returns the picture of a brand, a PNG; b"" for none."""
    return service.store.read(lambda tx: blobs.read(tx, brand.logo_id))


def _attached_files() -> Any:
    table, attached = table_named("attachment"), ATTACHED.sql
    is_of_article = (attached.record_id == slot(1)) | (attached.record_id == slot(2))
    ids = attached.select(attached.attachment_id).where((attached.context == slot(0)) & is_of_article)
    columns = (getattr(table.c, name) for name in _COLUMNS)
    return (
        table.select(*columns).where((table.c.dropped == "") & table.c.id.in_(ids)).order_by(table.c.name, table.c.id)
    )
