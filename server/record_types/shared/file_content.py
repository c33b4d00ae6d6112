"""The content of files as it is sent, and kept as bytes once whatever the number of records that have it."""

import base64
import binascii
from typing import Any
from urllib.parse import unquote_to_bytes

from server.errors import Invalid, TooLarge
from server.fields import Intake, Text
from server.fields.base import as_text
from server.file_names import safe_name
from server.record_types.parts import Change, Record, Writing
from server.store import blobs

RESOURCE_URI = b"svc:automation_resource:"  # before the token of one whose content is to be copied


class FileContent(Text):
    """The bytes of a file: plain text as UTF-8, or a data URI. Stored as bytes elsewhere, never shown."""

    def read(self, raw: Any, intake: Intake) -> Any:
        return raw if isinstance(raw, bytes) else self.decode(as_text(raw))

    def decode(self, text: str) -> bytes:
        """The bytes of what was sent. Raises Invalid for a data URI that cannot be read."""
        if text[:5].lower() != "data:":
            return text.encode("utf-8", "replace")
        head, comma, body = text.partition(",")
        if not comma:
            raise self.bad("begins like a data URI; write data:<type>;base64,<bytes>")
        if not head.lower().endswith(";base64"):
            return unquote_to_bytes(body)
        try:
            return base64.b64decode("".join(body.split()), validate=True)
        except (binascii.Error, ValueError):
            raise self.bad("is not base64 behind the comma of the data URI") from None


def decoded(fields: dict[str, Any], field: FileContent) -> dict[str, Any]:
    """In `before`: sent fields with the content as bytes, since decoding a large file would hold up the one writer."""
    content = fields.get(field.name)
    return fields | {field.name: field.decode(content)} if isinstance(content, str) else fields


def take_name(change: Change) -> None:
    """In `prepare`: the name of a file becomes one that is safe to keep and to show. Raises Invalid where nothing of it
    is left."""
    given = change.new.get("name")
    if not given:
        return
    change.new["name"] = safe_name(given)
    if not change.new["name"]:
        raise Invalid(f"name: '{given[:80]}' is no name of a file", field="name")


def keep(writing: Writing, content: bytes) -> int:
    """Store bytes; answers the id of the blob. Raises TooLarge above the setting `max_attachment_bytes`."""
    most = writing.setting("max_attachment_bytes")
    if len(content) > most:
        raise TooLarge(f"content: a file may have at most {most} bytes, this has {len(content)}", limit=most)
    return blobs.keep(writing.tx, content)


def copied(writing: Writing, reference: bytes) -> tuple[int, Record]:
    """The id of the blob of an automation resource, which is used once more, and the resource.

    reference: svc:automation_resource:<token>. Raises Invalid where there is none that the caller may read."""
    token = reference.strip().removeprefix(RESOURCE_URI).decode("utf-8", "replace")
    found = writing.find("automation_resource", token=token) if reference.strip() != token.encode() else None
    if found is None or 0 < found["expires_at"] <= writing.now or not writing.actor.is_admin:
        raise Invalid(f"content: there is no automation resource '{token[:100]}'", field="content")
    return (blobs.use(writing.tx, found["blob_id"]) if found["blob_id"] else keep(writing, b"")), found
