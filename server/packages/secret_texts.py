"""Finds secrets in the texts of records that become a package: scripts, bindings, settings.

A value is a secret if the name in front of it says so (`api_key:`, `Authorization:`, `?token=`), if it has the form of
a known kind of token, or if it is below a secret name. Templates that compute a value are preserved, with the secret
texts in them replaced. The search works on lines, so that comments, order and invalid KATA are preserved."""

import re
from collections.abc import Iterator

from server.dataclass import dataclass
from server.late_pattern import late_pattern
from server.record_types.shared.secrets import is_secret

Span = tuple[int, int, str]  # (start, end, name) of a secret in its text

# Names that contain a secret word but name something public.
_PUBLIC_NAME = late_pattern(
    r"(?i)^(?:authors?(?:_\w+)?|authentication|key|sig|sign|signature|hash|digest|token_type|.*_ids?|.*_at|is_.*|has_.*)$"
)
_MORE_NAMES = late_pattern(r"(?i)^(?:pin|pw|pass|passcode|passphrase|salt|bearer|credentials?)$")
_PUBLIC_VALUE = late_pattern(r"(?i)^(?:yes|no|true|false|on|off|null|none|svc:\S*|&\S+|\*\S+)$")
_SCHEME = late_pattern(r"(?i)^(?:bearer|basic|token|apikey|key|digest)\s+(?=\S)")
_LINE = late_pattern(r"^(?P<indent> *)(?P<key>[A-Za-z_][^\s:{}\"']{0,127}):(?:[ \t]+(?P<value>\S.*?))?[ \t]*$")
_TEMPLATE = late_pattern(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_QUOTED = late_pattern(r"""(?P<quote>["'])(?P<value>(?:\\.|(?!(?P=quote))[^\\\r\n])*)(?P=quote)""")
_WORD = late_pattern(r"[^\s,;\"']+")
_PUBLIC_WORDS = frozenset(("base64", "bearer", "basic", "hex", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"))
# A random value that stands alone: 24 characters or more, with letters and digits.
_RANDOM = late_pattern(r"^(?=[^A-Za-z]*[A-Za-z])(?=[^0-9]*[0-9])[A-Za-z0-9+/_=-]{24,}$")
_PAIR = late_pattern(
    r"""(?<![\w.-])["']?(?P<name>[A-Za-z_][\w.-]{0,63})["']?\s{0,9}[:=]\s{0,9}(?P<quote>["'])"""
    r"""(?P<value>(?:\\.|(?!(?P=quote))[^\\\r\n])+)(?P=quote)"""
)
_PARAMETER = late_pattern(r"(?:^|[?&;\s])(?P<name>[A-Za-z_][\w.\[\]-]{0,63})=(?P<value>[^&\s\"'<>{}]+)")
_HMAC = late_pattern(r"""hash_hmac\s{0,9}\(\s{0,9}(?P<quote>["'])(?P<value>(?:(?!(?P=quote))[^\r\n])+)(?P=quote)""")
_LOGIN = late_pattern(r"\b[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s/@:\"']{0,128}:(?P<value>[^\s/@\"'{}]{1,256})@")
_SCHEMED = late_pattern(r"(?i)\b(?:bearer|basic)[ \t]+(?P<value>[A-Za-z0-9._~+/=-]{8,})")
_TOKEN = late_pattern(
    r"(?P<value>-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}|\bwhsec_[A-Za-z0-9+/=]{8,}|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bxox[abeprs]-[A-Za-z0-9-]{8,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\bSG\.[\w-]{16,}\.[\w-]{16,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{0,})",
    re.DOTALL,
)
# Addresses whose path is the secret: this service's webhooks and those of chat programs.
_ADDRESS = late_pattern(
    r"(?:/webhooks/(?P<own>[A-Za-z0-9_-]{16,64}))"
    r"|(?:hooks\.slack\.com/(?:services|workflows)/(?P<slack>[A-Za-z0-9/_-]{8,}))"
    r"|(?:discord(?:app)?\.com/api/webhooks/(?P<discord>[A-Za-z0-9/_-]{8,}))"
    r"|(?:webhook\.office\.com/(?P<teams>[^\s\"'<>]{8,}))"
)


@dataclass
class _OpenKey:
    """An open key. is_secret: whether values below it are secret."""

    indent: int
    key: str
    is_secret: bool


def is_secret_name(name: str) -> bool:
    """Whether the name of a value in a script or setting indicates a secret.

    >>> [is_secret_name(each) for each in ("api_key", "X-Auth-Token", "author", "signature_id", "key", "pin")]
    [True, True, False, False, False, True]"""
    return _MORE_NAMES.search(name) is not None or (_PUBLIC_NAME.search(name) is None and is_secret(name))


def secrets_in_prose(text: str) -> list[Span]:
    """Returns the secrets in a text for people: only tokens of a known form."""
    return _merged([*_formed(text)])


def secrets_in_script(text: str) -> list[Span]:
    """The secrets in KATA, a template or a body.

    >>> text = "headers:\\n  Authorization: Bearer abc\\nauthor: Ann"
    >>> [text[start:end] for start, end, _ in secrets_in_script(text)]
    ['abc']
    """
    spans = [*_lines(text), *_formed(text)]
    for pattern in (_PAIR, _PARAMETER):
        spans += [
            (*match.span("value"), match["name"])
            for match in pattern.finditer(text)
            if is_secret_name(match["name"]) and _is_literal(match["value"])
        ]
    spans += [(*match.span("value"), "hash_hmac") for match in _HMAC.finditer(text)]
    return _merged(spans)


def secrets_in_value(name: str, text: str) -> list[Span]:
    """Returns the secrets in a text that has a name, such as a setting."""
    return _merged([*_valued(text, 0, name)]) if is_secret_name(name) else secrets_in_script(text)


def _formed(text: str) -> Iterator[Span]:
    for pattern, name in ((_LOGIN, "password"), (_SCHEMED, "token"), (_TOKEN, "token")):
        for match in pattern.finditer(text):
            yield *match.span("value"), name
    for match in _ADDRESS.finditer(text):
        yield *match.span(str(match.lastgroup)), "webhook"


def _lines(text: str) -> Iterator[Span]:
    levels: list[_OpenKey] = []
    announced: tuple[int, str] | None = None  # `key: api_key` or `name: Authorization`, whose value is on the next line
    place = 0
    for line in text.split("\n"):
        start, place = place, place + len(line) + 1
        line = line.rstrip("\r")
        stripped = line.lstrip(" ")
        if not stripped:
            continue
        indent = len(line) - len(stripped)
        while levels and indent <= levels[-1].indent:
            levels.pop()
        below = levels[-1] if levels else None
        match = _LINE.match(line)
        if match is None:
            if below is not None and below.is_secret and not stripped.startswith("#"):
                yield from _valued(stripped.rstrip(), start + indent, below.key)
            continue
        written = match["key"].partition("@")[0]
        kind, slash, label = written.rpartition("/")
        key, value = label, match["value"]
        is_named = announced is not None and announced[0] == indent and written in ("value", "default", "to", "text")
        is_hidden = _is_hidden(written, kind, slash, below) or is_named
        if is_named and announced is not None:
            key = announced[1]
        if value is None:
            levels.append(_OpenKey(indent, key, is_hidden and not slash))
            if slash and kind in ("text", "text_multiline", "array") and is_secret_name(label):
                levels[-1] = _OpenKey(indent, f"{label} default", False)
        elif is_hidden:
            yield from _valued(value, start + match.start("value"), key if key not in ("default",) else written)
        elif _RANDOM.search(value):
            yield start + match.start("value"), start + match.end("value"), key
        if value is not None and written in ("key", "name", "header"):
            announced = (indent, value) if is_secret_name(value) else None


def _is_hidden(written: str, kind: str, slash: str, below: _OpenKey | None) -> bool:
    if slash:
        return False  # a command, an automation or a declared input: its name is a label
    if below is not None and below.key.endswith(" default"):
        return written == "default"
    return is_secret_name(written) or (below is not None and below.is_secret and not _PUBLIC_NAME.search(written))


def _valued(value: str, start: int, name: str) -> Iterator[Span]:
    """Yields the secret parts of a value under a secret name."""
    if not _is_literal(value):
        return
    if _TEMPLATE.search(value) is None:
        scheme = _SCHEME.match(value)
        begin = scheme.end() if scheme else 0
        end = len(value)
        if end - begin >= 2 and value[begin] == value[-1] and value[begin] in "\"'":
            begin, end = begin + 1, end - 1
        yield start + begin, start + end, name
        return
    position = 0
    for match in _TEMPLATE.finditer(value):
        yield from _words(value, position, match.start(), start, name)
        for quoted in _QUOTED.finditer(value, match.start(), match.end()):
            if len(quoted["value"]) >= 4 and quoted["value"].lower() not in _PUBLIC_WORDS:
                yield start + quoted.start("value"), start + quoted.end("value"), name
        position = match.end()
    yield from _words(value, position, len(value), start, name)


def _words(value: str, begin: int, end: int, start: int, name: str) -> Iterator[Span]:
    for match in _WORD.finditer(value, begin, end):
        if len(match[0]) >= 4 and match[0].lower() not in _PUBLIC_WORDS:
            yield start + match.start(), start + match.end(), name


def _is_literal(value: str) -> bool:
    return bool(value.strip()) and _PUBLIC_VALUE.search(value.strip()) is None


def _merged(spans: list[Span]) -> list[Span]:
    """Sorts spans and joins those that overlap, under the name of the first."""
    merged: list[Span] = []
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= end:
            continue
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]), merged[-1][2])
        else:
            merged.append((start, end, name))
    return merged
