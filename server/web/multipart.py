"""Splits a `multipart/form-data` body into parts and builds the same tree as form_data.py; file parts become Upload.

Strict and linear: lines end in CRLF, every part has a name, the last boundary is present. Only heads are decoded: the
content of a part is exactly the bytes between its head and the next boundary. Follows RFC 7578, RFC 2046.

Not the package multipart, because it rejects content that resembles a boundary and blanks after one, and parses heads
more loosely: repeated names, encoded parts. It could only do the splitting, and forms would take a quarter longer."""

import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from server.dataclass import dataclass
from server.errors import Malformed, TooLarge
from server.web.form_data import FormBuilder, Tree, Upload, path_of

MAX_PARTS = 100
MAX_PART_HEAD_BYTES = 10_240
OCTETS = "application/octet-stream"  # default type of a file part

_BOUNDARY = re.compile(rb"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_TYPE = re.compile(r"[ \t]*+([^;]*+)")
# A backtracking group: Python before 3.11.5 loses characters if a possessive one fails half way.
_PARAMETER = re.compile(r"""[ \t]*+;[ \t]*+(?:([^\s;="]++)[ \t]*+=[ \t]*+(?:"((?:[^"\\]|\\.)*+)"|([^\s;"]*+)))?""")
_PLAIN_HEAD = re.compile(rb'(?i:content-disposition): form-data; name="([!#-\[\]-~]++)"')  # most heads of text fields
_ESCAPED = re.compile(r'\\(["\\])')  # other backslashes belong to paths that some clients send


def decode_multipart(raw: bytes, content_type: str) -> Tree:
    """Returns the tree of a body whose Content-Type header is `content_type`, which holds the boundary.

    Raises Malformed for a broken body, TooLarge above MAX_PARTS or MAX_PART_HEAD_BYTES."""
    form = FormBuilder()
    for part in form_parts(raw, content_type):
        if not part.is_file:
            form.add(path_of(part.name), part.content)
        elif part.filename or part.content:  # with neither, it is a file field without a file
            form.add(path_of(part.name), Upload(part.filename, part.content_type or OCTETS, part.content))
    return form.tree()


@dataclass(frozen=True, slots=True)
class FormPart:
    """One part of a body. filename: as the client sent it; is_file: whether the client sent one, possibly empty.
    content_type: "" for none."""

    name: str
    content: bytes
    is_file: bool
    filename: str
    content_type: str


def form_parts(raw: bytes, content_type: str, is_lenient: bool = False) -> Iterator[FormPart]:
    """Yields the parts of a body in their order. is_lenient: whether to decode invalid UTF-8 in heads as U+FFFD. Raises
    the errors of decode_multipart()."""
    for count, (start, end) in enumerate(_parts(raw, _boundary(content_type)), start=1):
        if count > MAX_PARTS:
            raise TooLarge(f"the form has more than {MAX_PARTS} parts", limit=MAX_PARTS)
        yield _part(raw, start, end, "replace" if is_lenient else "strict")


def _boundary(content_type: str) -> bytes:
    kind, parameters = header_value(content_type)
    boundary = parameters.get("boundary", "").encode("utf-8", "replace")
    if kind != "multipart/form-data" or not _BOUNDARY.fullmatch(boundary):
        raise Malformed("the Content-Type must be multipart/form-data with a boundary of 1 to 70 characters")
    return boundary


def _parts(raw: bytes, boundary: bytes) -> Iterator[tuple[int, int]]:
    """Yields start and end of each part, without the line breaks that belong to the boundaries."""
    mark = b"\r\n--" + boundary
    # Checks the bytes after the boundary: `--abc` must not match `--abcd`.
    rest = re.compile(rb"(--)?[ \t]*+(?:\r\n|\Z)")
    # Only the first boundary may have no line break before it.
    ends_at = -2 if raw.startswith(mark[2:]) else raw.find(mark)
    after = ends_at + len(mark)
    start = -1
    while ends_at != -1:
        line = rest.match(raw, after)
        if line is not None:
            if start != -1:
                yield start, ends_at
            if line[1]:
                return
            start = line.end()
            # If a part is entirely empty, the line break of this boundary may also start the next one.
            ends_at = raw.find(mark, start - 2)
        else:
            ends_at = raw.find(mark, after)
        after = ends_at + len(mark)
    raise Malformed("the multipart body has no last boundary; it may have been cut off")


def _part(raw: bytes, start: int, end: int, errors: str) -> FormPart:
    head_end = raw.find(b"\r\n\r\n", start, min(end, start + MAX_PART_HEAD_BYTES) + 4)
    if head_end == -1 or head_end > end - 4:
        if end - start > MAX_PART_HEAD_BYTES:
            raise TooLarge(f"the head of a part is longer than {MAX_PART_HEAD_BYTES} bytes", limit=MAX_PART_HEAD_BYTES)
        raise Malformed("a part of the multipart body has no head, or no empty line behind it")
    plain = _PLAIN_HEAD.fullmatch(raw, start, head_end)
    if plain is not None:  # a fifth of the time of the general case
        return FormPart(plain[1].decode("ascii"), raw[head_end + 4 : end], False, "", "")
    headers = _headers(raw[start:head_end], errors)
    kind, parameters = header_value(headers.get("content-disposition", ""))
    name = _extended(parameters, "name", errors)
    if kind != "form-data" or not name:
        raise Malformed("a part of the multipart body has no Content-Disposition: form-data with a name")
    if headers.get("content-transfer-encoding", "binary").lower() not in ("binary", "8bit", "7bit"):
        raise Malformed(f"the part '{name}' is encoded; send its bytes as they are", field=name)
    filename = _extended(parameters, "filename", errors)
    content = raw[head_end + 4 : end]
    return FormPart(name, content, filename is not None, filename or "", headers.get("content-type", ""))


def _headers(head: bytes, errors: str) -> dict[str, str]:
    try:
        lines = head.decode("utf-8", errors).split("\r\n")
    except UnicodeDecodeError as error:
        raise Malformed("the head of a part is not valid UTF-8") from error
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or not name or name != name.strip() or name in headers:
            raise Malformed("the head of a part holds a line that is not a header, or a header twice")
        if any(control in line for control in "\r\n\0"):
            raise Malformed("the head of a part holds a control character")
        headers[name] = value.strip(" \t")
    return headers


def header_value(text: str) -> tuple[str, dict[str, str]]:
    """Parses `form-data; name="a"` to ("form-data", {"name": "a"}). Raises Malformed for any other form or a repeated
    name."""
    kind = _TYPE.match(text)
    at = kind.end() if kind else 0
    parameters: dict[str, str] = {}
    while at < len(text):
        match = _PARAMETER.match(text, at)
        if match is None or (match[1] is None and match.end() != len(text.rstrip(" \t"))):
            raise Malformed('the parameters of a header cannot be read; write them as name="value"')
        if match[1] is None:
            break
        name = match[1].lower()
        if name in parameters:
            raise Malformed(f"a header has the parameter '{name}' twice")
        quoted = match[2]
        parameters[name] = match[3] if quoted is None else _ESCAPED.sub(r"\1", quoted)
        at = match.end()
        if not text[at:].strip(" \t"):
            break
    return (kind[1].strip().lower() if kind else ""), parameters


def _extended(parameters: dict[str, str], name: str, errors: str) -> str | None:
    """Returns a parameter, preferring its percent-encoded form with a charset (RFC 5987), which some clients send."""
    extended = parameters.get(f"{name}*")
    if extended is None:
        return parameters.get(name)
    charset, _, rest = extended.partition("'")
    try:
        content = unquote_to_bytes(rest.partition("'")[2])
        if charset.lower() == "iso-8859-1" and errors != "strict":
            return content.decode("latin-1")  # the other charset of RFC 5987, section 3.2.1
        if charset.lower() != "utf-8":
            raise ValueError(charset)
        return content.decode("utf-8", errors)
    except ValueError as error:
        raise Malformed(f"the {name}* of a part is not UTF-8 with percent signs") from error
