"""Pictures of records."""

from typing import TYPE_CHECKING

from server.fields import Field, Image
from server.record_types.parts import Change, DictionaryContext, Key, Record, Writing
from server.record_types.traits.trait import Trait
from server.store import blobs
from server.store.tables import Column

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType

BLOB = "image_blob_id"


class Avatars(Trait):
    """Records with a picture. is_logo: in any format of the web."""

    name = "avatars"
    columns = (Column(BLOB),)

    def __init__(self, *, is_logo: bool = False) -> None:
        self.is_logo = is_logo

    def fields(self) -> dict[str, Field]:
        if self.is_logo:
            note = (
                "PNG, JPEG, GIF or WebP as a data URI, 50 to 500 pixels a side, or a plain SVG; `data:null` removes it."
            )
            return {"image": Image(note, is_logo=True)}
        return {"image": Image("PNG as a data URI, 50 to 500 pixels a side; `data:null` removes it.")}

    def keys(self, record_type: "RecordType") -> list[Key]:
        def url(record: Record, view: DictionaryContext) -> str:
            return view.address(f"/avatars/{record_type.uri}/{record['id']}?v={record[BLOB]}")

        return [Key("_image_url", "url", "Address of the picture.", url)]

    def write(self, change: Change, writing: Writing) -> None:
        if "image" not in change.extras:
            return
        content, old = change.extras["image"], change.was(BLOB)
        if old:
            blobs.forget(writing.tx, old)
        blob_id = blobs.keep(writing.tx, content) if content else 0
        writing.tx.update(change.type.table, change.id, {BLOB: blob_id})

    def remove(self, record_type: "RecordType", record: Record, writing: Writing) -> None:
        if record[BLOB]:
            blobs.forget(writing.tx, record[BLOB])
