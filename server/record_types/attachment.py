"""Attachments: files of messages, comments and other records.

Equal bytes are stored once (store/blobs.py). Downloads are in records/stored_files.py."""

from typing import TYPE_CHECKING, Any

import peewee

from server.contexts import FILE_BUNDLE, WORKER
from server.errors import Invalid
from server.fields import Bytes, Name, References, Text, UpdatedAt
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
from server.record_types.shared import paths
from server.record_types.shared.collections import ids_text, listed, readable_pairs
from server.record_types.shared.expand_forms import read_form
from server.record_types.shared.file_content import FileContent, copied, decoded, keep, take_name
from server.record_types.shared.relation_tables import ATTACHED
from server.record_types.traits import Attachments, Comments, CustomFields, Links, Search
from server.search.ast import SearchValue as Value
from server.search.conditions import ALWAYS, At, Condition, negated
from server.search.filters import AllWords, DeepFilter, Filter, HasManyThrough, Relation
from server.search.filters.link_filters import ANY, NONE, type_named
from server.search.searchable import Searchable
from server.store import blobs
from server.store.statements import in_list, slot
from server.store.tables import Column, Index, table_named

if TYPE_CHECKING:
    from server.record_types.registry import Registry
    from server.search.compile import SearchScope

MAX_SHOWN = 250  # records of a file that are listed if the form has no number
COPIED = "application/vnd.svc.uri"  # MIME type that marks the content as the name of a resource to copy
STORAGE = "svc.storage.database"


class AttachedFilter(Filter):
    """Attached to at least one record of these types; any, none."""

    type = "links"
    splits_commas = True

    def one(self, text: Value, scope: "SearchScope") -> Condition:
        word = text.value.strip().lower()
        if word in ANY:
            return self._attached(None, scope)
        if word in NONE:
            return negated(self._attached(None, scope))
        return self._attached(type_named(word, scope), scope)

    def way_to(self, context: str) -> Relation:
        """How records of a context lead to their files, for `on.<type>:`."""
        return HasManyThrough("attached", "attachment_id", "record_id", (("context", context),))

    def _attached(self, on: Searchable | None, scope: "SearchScope") -> Condition:
        attached, own = table_named("attached").alias("hung"), peewee.Column(self.table.sql, "id")
        pair = (attached.c.context, attached.c.record_id)
        inner = scope.points_to_readable(*pair) if on is None else scope.points_to(*pair, on)

        def build(at: At) -> Any:
            query = attached.select(attached.c.attachment_id)
            return own.in_(query if inner is ALWAYS else query.where(inner.build(at)))

        return Condition(("hung", inner.key), inner.values, build)


def _load_on(view: DictionaryContext, records: list[Record], text: str) -> dict[int, dict[str, Any]]:
    """`on`: the records of each file that the caller may read."""
    form = read_form(text)
    table: Any = ATTACHED.sql
    rows = view.tx.rows(
        lambda: (
            table.select(table.attachment_id, table.context, table.record_id)
            .where(in_list(table.attachment_id, slot(0)))
            .order_by(table.attachment_id, table.context, table.record_id)
        ),
        (ids_text(records),),
    )
    most = MAX_SHOWN if form.plain else form.many
    pairs = readable_pairs(view, records, rows, form, most)
    return {own: {"on": each} for own, each in listed(view, pairs, form).items()}


class Attachment(RecordType):
    """A file: its name, type and bytes, and the records it is attached to."""

    uri = "attachment"
    aliases = ("attachments", "file", "files")
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="attached", write=("admins",), create=("privilege",))
    fields = {
        "attach": References("Records to attach the file to, as `<type>:<id>`; a leading `-` detaches."),
        "content": FileContent(
            "The bytes: plain text, or base64 as a data URI. At most as large as the setting `max_attachment_bytes`.",
            4294967295,
            stored=False,
        ),
        "mime_type": Text(
            f"MIME type. With {COPIED}, `content` names the automation resource whose bytes and type are copied.",
            default="application/octet-stream",
            filter="mimetype",
            match="exact",
        ),
        "name": Name("File name; also the label.", match="exact"),
        "size": Bytes(
            "Bytes stored; set by the service.",
            immutable=True,
            filter_note="Takes size units: >200kb, 1MB, 1KB...2KB.",
        ),
        "storage_extension": Text(
            "Where the bytes are stored; set by the service.",
            immutable=True,
            filter="storage.extension",
            match="exact",
        ),
        "storage_key": Text("Their storage name; set by the service.", immutable=True, filter=None),
        "updated": UpdatedAt("Last change; set to the current time on every write unless sent."),
    }
    columns = (
        Column("blob_id"),
        Column("storage_sha1hash", "TEXT"),
        Column("dropped", "TEXT"),
        Column("uploader_id"),  # the worker who uploaded it and may read it until it is attached
    )
    indexes = (
        Index(("name",), "files by name"),
        Index(("updated",), "the newest files"),
        Index(("uploader_id",), "files that a worker has sent and may read"),
        Index(("storage_sha1hash",), "the same bytes again"),
    )
    keys = (
        Key(
            "dropped",
            "text",
            "Why its content was not stored, such as a file in an email that was too large; otherwise blank.",
            column="dropped",
        ),
        Key("storage_sha1hash", "text", "SHA-1 of the content.", column="storage_sha1hash"),
        Key(
            "url_download",
            "url",
            "Download address in the console; that of the API is `/rest/attachments/<id>/download.json`.",
            lambda record, view: view.address(paths.file(record["id"], record["name"])),
        ),
    )
    expands = (
        Expand(
            "on",
            "records",
            "Records it is attached to, as {_context, id}; `on.<type>` those of one type, `on:<key>` "
            "with a key of each.",
            _load_on,
        ),
    )
    filters = (
        AllWords("Bare words match the beginning of `name`.", "name", "prefix"),
        DeepFilter(
            "bundle",
            "In a matching file bundle.",
            "file_bundle",
            HasManyThrough("attached", "attachment_id", "record_id", (("context", FILE_BUNDLE),)),
        ),
        AttachedFilter("on", "Attached to records of these types; any or none."),
    )
    subtotals = Subtotals(search=("fieldset", "links", "mimetype", "name", "storage.extension"))

    def before(self, fields: dict[str, Any]) -> dict[str, Any]:
        field = self.fields["content"]
        assert isinstance(field, FileContent)
        return decoded(fields, field)

    def bind(self, registry: "Registry") -> None:
        self.registry = registry

    def privileged(self, change: Change, writing: Writing) -> None:
        """Requires update access to the records that the file is attached to or detached from."""
        for _, context, id in change.extras.get("attach", ()):
            target = self.registry.find(context)
            if target is None:
                writing.require("update", context, id)
            else:
                target.require_file_change(id, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        """Stores the bytes; sets size, hash and uploader."""
        new = change.new
        take_name(change)
        for adds, context, _ in change.extras.get("attach", ()):
            target = self.registry.find(context)
            if adds and (target is None or not target.has(Attachments)):
                raise Invalid(f"attach: files cannot be attached to records of type {context[:80]}", field="attach")
        content = change.extras.pop("content", None)
        is_copy = str(new.get("mime_type", "")).strip().lower() == COPIED
        if is_copy:
            new["blob_id"], resource = copied(writing, content or b"")
            new["mime_type"] = resource["mime_type"]
        elif content is not None or (change.is_create and not new.get("blob_id")):
            new["blob_id"] = keep(writing, content or b"")
        if (is_copy or content is not None) and change.was("blob_id"):
            blobs.forget(writing.tx, change.was("blob_id"))
        if "blob_id" in new:
            new.setdefault("dropped", "")
            blob = writing.tx.get(blobs.BLOB, new["blob_id"])
            if blob is None:
                raise Invalid("content: its bytes are not there", field="content")
            place = blobs.BLOB.position
            size = new["size"] if new.get("dropped") else blob[place["size"]]
            new |= {"size": size, "storage_sha1hash": blob[place["sha1"]]}
            new |= {"storage_extension": STORAGE, "storage_key": str(new["blob_id"])}
        if change.is_create and "uploader_id" not in new and change.sent and writing.actor.context == WORKER:
            new["uploader_id"] = writing.actor.id

    def after_write(self, change: Change, writing: Writing) -> None:
        for adds, context, id in change.extras.get("attach", ()):
            row = {"attachment_id": change.id, "context": context, "record_id": id}
            if adds:
                writing.tx.add(ATTACHED, row)
            else:
                writing.tx.delete(ATTACHED, **row)

    def after_delete(self, record: Record, writing: Writing) -> None:
        tx, id = writing.tx, record["id"]
        tx.delete(ATTACHED, attachment_id=id)
        if record["blob_id"]:
            blobs.forget(tx, record["blob_id"])
        message: Any = table_named("message")
        # SQL text, which SQLite needs to choose the partial index.
        tx.run(
            lambda: message.update({message.c.html_attachment_id: 0}).where(
                message.c.html_attachment_id == slot(0), peewee.SQL('"html_attachment_id" > 0')
            ),
            (id,),
        )
