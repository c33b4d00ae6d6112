"""Hides secrets in bodies: the values of JSON keys, form fields and parts with secret names. All other bytes are
preserved, even in a broken or truncated body, so that it can be inspected and run again.

Runs in linear time. record_types/shared/secrets.py defines the secret names."""

import json
import re
from urllib.parse import quote_plus, unquote_plus

from server.automation.webhooks.secret_requests import HIDDEN
from server.late_pattern import late_pattern
from server.record_types.shared.secrets import is_secret

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
# Most bodies contain none of these and can skip the full scan.
_LIKELY = late_pattern(
    rb"auth|token|secret|passw|pwd|cookie|key|sig|hmac|jwt|session|credential|hash|digest|\\u00|%[2-7]", re.IGNORECASE
)
_STRING = late_pattern(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_NAME = late_pattern(rb'"((?:[^"\\]|\\.)*+)"\s*+:\s*+', re.DOTALL)
_STRUCTURE = late_pattern(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_PLAIN = late_pattern(rb"[^,\]}\s]*+")
_TELLS_NOTHING = (b"null", b"true", b"false", b'""', b"{}", b"[]", b"")
# Names and values in free-form texts, such as lines, forms sent as text/plain, and XML.
_PAIR = late_pattern(
    rb"""(?:^|(?<=[\s&;,?]))(?P<name>[A-Za-z][\w.\[\]-]{0,99}+)=(?P<value>"[^"\r\n]++"|'[^'\r\n]++'|[^&\s<>"']++)"""
)
_ELEMENT = late_pattern(rb"<(?P<name>[A-Za-z][\w:.-]{0,99}+)(?:\s[^<>]{0,500}+)?>(?P<value>[^<]++)</")
_LINE = late_pattern(
    rb"^[ \t>]{0,20}+(?P<name>[A-Za-z][\w.-]{0,49}+(?: [\w.-]{1,49}+){0,3})(?: ?:| =)[ \t]*+(?P<value>[^\r\n]++)",
    re.MULTILINE,
)
_BOUNDARY = late_pattern(r'boundary="?([^";]{1,200})"?', re.IGNORECASE)
_PART_NAME = late_pattern(rb';\s*name="?([^";\r\n]{1,200})"?', re.IGNORECASE)


def redacted(body: bytes, content_type: str) -> bytes:
    """Returns a body that can be stored and shown.

    >>> redacted(b'{"user": "ann", "api_key": "sk_1", "card": {"password": "x"}}', "application/json")
    b'{"user": "ann", "api_key": "(hidden)", "card": {"password": "(hidden)"}}'
    >>> redacted(b"user=ann&access_token=abc", "application/x-www-form-urlencoded")
    b'user=ann&access_token=%28hidden%29'
    >>> redacted(b"user=ann&access_token=abc\\nPassword: x", "text/plain"), redacted(b"<token>x</token>", "text/xml")
    (b'user=ann&access_token=(hidden)\\nPassword: (hidden)', b'<token>(hidden)</token>')
    """
    if not _LIKELY.search(body):
        return body
    kind = content_type.partition(";")[0].strip().lower()
    if kind == FORM:
        return b"&".join(map(_field, body.split(b"&")))
    boundary = _BOUNDARY.search(content_type) if kind == MULTIPART else None
    if boundary is not None:
        mark = b"--" + boundary[1].strip().encode("utf-8", "replace")
        return mark.join(map(_part, body.split(mark)))
    body = _json(body)
    if not kind.endswith("json"):
        for pattern in (_PAIR, _ELEMENT, _LINE):
            body = pattern.sub(_hide, body)
    return body


def _hide(match: re.Match[bytes]) -> bytes:
    if not is_secret(match["name"].decode("utf-8", "replace")):
        return match[0]
    start, end = match.start("value") - match.start(), match.end("value") - match.start()
    quote = match["value"][:1] if match["value"][:1] in (b'"', b"'") else b""
    return match[0][:start] + quote + HIDDEN.encode() + quote + match[0][end:]


def _json(body: bytes) -> bytes:
    pieces: list[bytes] = []
    position = 0
    while (match := _NAME.search(body, position)) is not None:
        end = match.end()
        pieces.append(body[position:end])
        position = end
        if is_secret(_unescaped(match[1])):
            position = _value_end(body, end)
            value = body[end:position]
            pieces.append(value if value in _TELLS_NOTHING else b'"' + HIDDEN.encode() + b'"')
    pieces.append(body[position:])
    return b"".join(pieces)


def _unescaped(name: bytes) -> str:
    text = name.decode("utf-8", "replace")
    if "\\" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def _value_end(body: bytes, start: int) -> int:
    """Returns the end of the value that begins here: after the last bracket of a list or a map."""
    first = body[start : start + 1]
    if first not in (b"[", b"{"):
        match = (_STRING if first == b'"' else _PLAIN).match(body, start)
        return match.end() if match else start
    depth = 0
    for match in _STRUCTURE.finditer(body, start):
        mark = match[0][:1]
        if mark == b'"':
            continue
        depth += 1 if mark in (b"[", b"{") else -1
        if depth == 0:
            return match.end()
    return len(body)


def _field(pair: bytes) -> bytes:
    name, sign, value = pair.partition(b"=")
    if not value:
        return pair
    if is_secret(unquote_plus(name.decode("latin-1"))):
        return name + sign + quote_plus(HIDDEN).encode()
    if value[:1] in (b"{", b"[") or value[:3].upper() in (b"%7B", b"%5B"):  # some services send JSON in a form field
        text = unquote_plus(value.decode("latin-1"), errors="surrogateescape").encode("utf-8", "surrogateescape")
        cleaned = _json(text)
        return pair if cleaned == text else name + sign + quote_plus(cleaned).encode()
    return pair


def _part(part: bytes) -> bytes:
    head, gap, content = part.partition(b"\r\n\r\n")
    name = _PART_NAME.search(head)
    if not gap or name is None:
        return part
    if is_secret(name[1].decode("utf-8", "replace")):
        return head + gap + HIDDEN.encode() + b"\r\n"
    return head + gap + _json(content) if content[:1] in (b"{", b"[") else part
