"""Commands on files: attachments, resources, and temporary files of automations."""

import base64
import gzip
import io
import zipfile
import zlib
from datetime import UTC, datetime
from typing import IO, Any

from server.automation import file_contents
from server.automation.acting import changed, instant, service_of
from server.automation.command import CommandCall, CommandFailed, Input, command
from server.context import Context
from server.errors import Invalid, NotFound, TooLarge, nearest
from server.queries.archives import Ranges
from server.record_types.shared.file_content import FileContent
from server.records import stored_files
from server.records.stored_files import OCTETS, StoredFile
from server.template.shared.text_values import bytes_of
from server.template.values import pairs, printed

MAX_URI_CHARS = 2048
MAX_CONTENT_CHARS = 16_777_216
READ_BYTES, MAX_READ_BYTES = 1_024_000, 16_777_216  # bytes per file.read: default and maximum
MAX_UNPACKED_BYTES = 256 * 1024 * 1024  # decompressed bytes, up to the end of the range that is read
MAX_ZIPPED = 1000  # files in a new archive
PIECE_BYTES, PIECE_STEPS = 64 * 1024, 512  # bytes unpacked at a time, and their cost in steps of the budget
NAME_CHARS = 255
FILTERS = ("gzip.decompress",)
SOURCES = ("bytes", "text", "zip")
URI = Input(
    "uri",
    "text",
    "The file: svc:attachment:<id>, svc:resource:<name> or svc:automation_resource:<token>.",
    required=True,
    max=MAX_URI_CHARS,
)


# -- reading ----------------------------------------------------------------------------------------------------------


@command(
    "file.read",
    "Read part of a file.",
    URI,
    Input("offset", "id", "The first byte, counted from 0.", default=0),
    Input("length", "id", f"Number of bytes, at most {MAX_READ_BYTES:,}.", default=READ_BYTES),
    Input("length_split", "text", "The part ends after the last occurrence of this text."),
    Input("filters", "any", f"Filter to apply first: {', '.join(FILTERS)}."),
    Input("extract", "text", "A file in this ZIP archive to read instead of the archive.", max=MAX_URI_CHARS),
    Input("password", "text", "Password of the archive."),
    needs_output=True,
)
def read(call: CommandCall) -> Any:
    """Returns {bytes, uri, name, offset_from, offset_to, mime_type, size}. Bytes that are not text become a data URI; a
    character is never cut in two. size: of the whole file, as stored or in the archive."""
    ctx, inputs = service_of(call), call.inputs
    offset, length = inputs["offset"], inputs["length"]
    if not 1 <= length <= MAX_READ_BYTES:
        raise Invalid(f"file.read: length: {length:,} is not 1 to {MAX_READ_BYTES:,}", field="length")
    file = file_contents.find(ctx, inputs["uri"])
    name, size = file.name, file.size
    if inputs["extract"] or _filters(inputs["filters"]):
        name, size, part = _unpacked(call, ctx, file, offset, length + 1)
    else:
        part = b"".join(stored_files.pieces(ctx, file, offset, min(offset + length + 1, size)))
    is_end, part = len(part) <= length, part[:length]
    part = _cut(part, bytes_of(inputs["length_split"] or ""), is_end)
    text, used = _shown(part, file.mime_type, is_end)
    call.run.budget.text(len(text))
    return {
        "bytes": text,
        "uri": inputs["uri"],
        "name": name,
        "offset_from": offset,
        "offset_to": offset + used,
        "mime_type": file.mime_type,
        "size": size,
    }


def _filters(filters: Any) -> list[str]:
    """Returns the names of the filters, from a text, a list, or the keys of a map. Raises Invalid."""
    if isinstance(filters, dict):
        names = list(filters)
    else:
        names = [filters] if isinstance(filters, str) and filters else [printed(each) for _, each in pairs(filters)]
    for name in names:
        if name not in FILTERS:
            raise Invalid(f"file.read: there is no filter '{name[:50]}'{nearest(name, FILTERS)}", field="filters")
    return names


def _unpacked(call: CommandCall, ctx: Context, file: StoredFile, offset: int, length: int) -> tuple[str, int, bytes]:
    """Returns (name, size, bytes of the range) of a compressed file."""
    name, size, packed = file.name, file.size, file_contents.content(ctx, file)
    stream: IO[bytes] = io.BytesIO(packed)
    try:
        if call.inputs["extract"]:
            archive = zipfile.ZipFile(Ranges(len(packed), lambda start, end: packed[start:end]))
            name, size, stream = _member(archive, call.inputs["extract"], call.inputs["password"] or "")
        for _ in _filters(call.inputs["filters"]):
            stream = gzip.GzipFile(fileobj=stream)  # type: ignore[assignment]
        return name, size, _part(call, stream, offset, length)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        # Wrong passwords, unknown compression methods and damage each raise a different exception.
        raise CommandFailed(f"file.read: '{file.name[:100]}' cannot be unpacked: {error}") from error


def _member(archive: zipfile.ZipFile, name: str, password: str) -> tuple[str, int, IO[bytes]]:
    try:
        entry = archive.getinfo(name)
    except KeyError:
        near = nearest(name, archive.namelist()[:MAX_ZIPPED])
        raise NotFound(f"file.read: the archive has no file '{name[:100]}'{near}") from None
    return name, entry.file_size, archive.open(entry, pwd=password.encode() or None)


def _part(call: CommandCall, stream: IO[bytes], offset: int, length: int) -> bytes:
    if offset + length > MAX_UNPACKED_BYTES:
        raise TooLarge(f"file.read: at most {MAX_UNPACKED_BYTES:,} bytes are unpacked", limit=MAX_UNPACKED_BYTES)
    part, place = bytearray(), 0
    while len(part) < length:
        call.run.budget.step(PIECE_STEPS)
        piece = stream.read(min(PIECE_BYTES, offset + length - place))
        if not piece:
            break
        part += piece[max(offset - place, 0) :]
        place += len(piece)
    return bytes(part)


def _cut(part: bytes, delimiter: bytes, is_end: bool) -> bytes:
    if is_end or not delimiter:
        return part
    at = part.rfind(delimiter)
    return part[: at + len(delimiter)] if at >= 0 else part


def _shown(part: bytes, mime_type: str, is_end: bool) -> tuple[str, int]:
    """Returns bytes as a text or data URI, and the number of bytes used."""
    try:
        if b"\0" not in part:
            return part.decode(), len(part)
    except UnicodeDecodeError as error:
        if not is_end and error.start > max(len(part) - 4, 0) and error.end == len(part):
            return part[: error.start].decode(), error.start
    return f"data:{mime_type};base64,{base64.b64encode(part).decode()}", len(part)


# -- writing ----------------------------------------------------------------------------------------------------------


@command(
    "file.write",
    "Store a file for a limited time.",
    Input(
        "content",
        "text or map",
        "The text; or `text:`, `bytes:` (a data URI is decoded) or `zip:` with `files:`, "
        "each path with `uri:` or `bytes:`.",
        required=True,
        max=MAX_CONTENT_CHARS,
    ),
    Input("mime_type", "text", f"MIME type of the file; {OCTETS} when blank.", max=NAME_CHARS),
    Input("name", "text", "Its name, stored in lower case.", max=NAME_CHARS),
    Input("expires", "text", "When it may be deleted: a time; 15 minutes from now when blank, never when 0."),
    Input("uri", "text", "An automation resource to append the content to.", max=MAX_URI_CHARS),
    needs_output=True,
)
def write(call: CommandCall) -> Any:
    """Returns {uri, mime_type, expires_at, size, id}, and the name if there is one."""
    ctx, inputs = service_of(call, ("content",)), call.inputs
    content = _content(call, ctx, inputs["content"])
    if inputs["uri"]:
        for name in ("mime_type", "name", "expires"):
            if inputs[name]:
                raise Invalid(f"file.write: {name} comes from the file that is appended to; leave it out", field=name)
        file = changed(call, ctx, lambda ctx: file_contents.append(ctx, inputs["uri"], content))
    else:
        expires_at = instant(call, ctx, "expires", ctx.now + file_contents.FRESH_SECONDS)
        name = (inputs["name"] or "").lower()
        file = changed(
            call, ctx, lambda ctx: file_contents.store(ctx, content, inputs["mime_type"] or OCTETS, name, expires_at)
        )
    output = {key: file[key] for key in ("uri", "mime_type", "expires_at", "size", "id")}
    return output | ({"name": file["name"]} if file["name"] else {})


def _content(call: CommandCall, ctx: Context, parts: Any) -> bytes:
    if isinstance(parts, str):
        return bytes_of(parts)
    names = [str(key) for key, _ in pairs(parts)]
    if len(names) != 1 or names[0] not in SOURCES:
        raise Invalid(f"file.write: content: takes one of {', '.join(SOURCES)}", field="content")
    value = parts[names[0]]
    if names[0] == "zip":
        return _zipped(call, ctx, value)
    return _bytes(value) if names[0] == "bytes" else bytes_of(printed(value))


def _bytes(value: Any) -> bytes:
    """Returns the bytes of a text or of a data URI. Raises Invalid."""
    text = printed(value)
    return _DATA.decode(text) if text[:5].lower() == "data:" else bytes_of(text)


_DATA = FileContent("Bytes.", MAX_CONTENT_CHARS, stored=False)
_DATA.name = "content"


def _zipped(call: CommandCall, ctx: Context, spec: Any) -> bytes:
    """Returns a ZIP archive of files. Raises Invalid, TooLarge above the setting `max_attachment_bytes`."""
    if not isinstance(spec, dict) or set(spec) - {"files", "password"} or not isinstance(spec.get("files"), dict):
        raise Invalid("file.write: content: zip takes `files:` with a path for each", field="content")
    if spec.get("password"):
        raise Invalid("file.write: content: archives with a password can be read but not created", field="content")
    if len(spec["files"]) > MAX_ZIPPED:
        raise Invalid(f"file.write: content: an archive has at most {MAX_ZIPPED:,} files", field="content")
    most, target = ctx.service.settings.max_attachment_bytes, io.BytesIO()
    stamp = datetime.fromtimestamp(ctx.now, UTC).timetuple()[:6]
    size = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, each in spec["files"].items():
            content = _zipped_file(ctx, path, each)
            size += len(content)
            if size > most:
                raise TooLarge(f"file.write: content: the files have more than {most:,} bytes", limit=most)
            call.run.budget.entries(PIECE_STEPS * (1 + len(content) // PIECE_BYTES))
            entry = zipfile.ZipInfo(path, stamp)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return target.getvalue()


def _zipped_file(ctx: Context, path: str, entry: Any) -> bytes:
    if not path or path.startswith("/") or "\\" in path or ".." in path.split("/") or len(path) > NAME_CHARS:
        raise Invalid(f"file.write: content: '{path[:100]}' is not a path inside an archive", field="content")
    if not isinstance(entry, dict) or len(entry) != 1 or not set(entry) <= {"uri", "bytes"}:
        raise Invalid(f"file.write: content: '{path[:100]}' takes `uri:` or `bytes:`", field="content")
    if "bytes" in entry:
        return _bytes(entry["bytes"])
    return file_contents.content(ctx, file_contents.find(ctx, printed(entry["uri"])))
