"""Submitted content of files, stored once per content."""

import base64
import binascii
from typing import Any
from urllib.parse import unquote_to_bytes

from server.errors import Invalid, TooLarge
from server.fields import Intake, Text
from server.fields.field import as_text
from server.file_names import safe_name
from server.record_types.parts import Change, Record, Writing
from server.store import blobs

RESOURCE_URI = b"svc:automation_resource:"  # prefix of the token of a resource to copy


class FileContent(Text):
    """The bytes of a file: plain text as UTF-8, or a data URI. Stored outside of the row, never shown."""

    def read(self, raw: Any, intake: Intake) -> Any:
        return raw if isinstance(raw, bytes) else self.decode(as_text(raw))

    def decode(self, text: str) -> bytes:
        """Decodes submitted text. Raises Invalid for an invalid data URI."""
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
    """Returns submitted fields with the content as bytes. Called in `before`, since decoding a large file would block
    the writer."""
    content = fields.get(field.name)
    return fields | {field.name: field.decode(content)} if isinstance(content, str) else fields


def take_name(change: Change) -> None:
    """Replaces the name of a file by a safe one. Called in `prepare`. Raises Invalid if no safe character remains."""
    raw_name = change.new.get("name")
    if not raw_name:
        return
    change.new["name"] = safe_name(raw_name)
    if not change.new["name"]:
        raise Invalid(f"name: '{raw_name[:80]}' is not a file name", field="name")


def keep(writing: Writing, content: bytes) -> int:
    """Stores bytes; returns the id of the blob. Raises TooLarge above the setting `max_attachment_bytes`."""
    most = writing.setting("max_attachment_bytes")
    if len(content) > most:
        raise TooLarge(f"content: a file may have at most {most} bytes, this has {len(content)}", limit=most)
    return blobs.keep(writing.tx, content)


def copied(writing: Writing, reference: bytes) -> tuple[int, Record]:
    """Returns the id of the blob of an automation resource, with one more use, and the resource.

    reference: svc:automation_resource:<token>. Raises Invalid if the caller may not read such a resource."""
    token = reference.strip().removeprefix(RESOURCE_URI).decode("utf-8", "replace")
    resource = writing.find("automation_resource", token=token) if reference.strip() != token.encode() else None
    if resource is None or 0 < resource["expires_at"] <= writing.now or not writing.actor.is_admin:
        raise Invalid(f"content: there is no automation resource '{token[:100]}'", field="content")
    return (blobs.use(writing.tx, resource["blob_id"]) if resource["blob_id"] else keep(writing, b"")), resource
