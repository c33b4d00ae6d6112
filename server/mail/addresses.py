"""Mail addresses: parses lists in header fields, checks and formats addresses, matches exclude patterns.

Address records, and the decision who may be written to, are elsewhere."""

import base64
import ipaddress
import re
from functools import lru_cache
from typing import Any, NamedTuple

from server.errors import Invalid
from server.late_pattern import late_pattern
from server.mail import headers

ADDRESSES = 500  # read from one field
ADDRESS_CHARACTERS = 254
MAILBOX_CHARACTERS = 64
NAME_CHARACTERS = 255
DEMO_DOMAIN = "demo.example"  # email to the people of the demo is never sent
ENCODED_WORD_BYTES = 45  # in base64 within the 75 characters that RFC 2047 allows a word

_SIMPLE = late_pattern(r'([^"(),:;<>@\\\[\]=]*)<([^"(),:;<>@\\\s]+@[^"(),:;<>@\\\s]+)>')
_NAMED = late_pattern(r'(?:(?:"(?:[^"\\]|\\.)*+"|[^",;:<>()]*+)\s*<([^<>]*)>|([^\s"(),;:<>]+)\s*\([^()]*\))', re.DOTALL)
_WORD = late_pattern(r"[A-Za-z0-9._+-]+@[A-Za-z0-9.-]+")
_PLAIN = late_pattern(r'[^",;:<(]+')
_QUOTED = late_pattern(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_IN_ANGLES = late_pattern(r"<([^<>]*)>?")
_IN_COMMENT = late_pattern(r"[^()\\]*+(?:\\.|[()])", re.DOTALL)
_ATOM = r"[^\x00-\x20\x7f\"(),.:;<>@\[\\\]]+"
_LABEL = r"[A-Za-z0-9_\u00a1-\U0010ffff](?:[A-Za-z0-9_\u00a1-\U0010ffff-]{0,62})"
_DOT_ATOM = rf"{_ATOM}(?:\.{_ATOM})*"
_IN_QUOTES = r'"(?:[ !#-\[\]-~]|\\[ -~])*+"'
_LITERAL = r"\[(?:\d{1,3}(?:\.\d{1,3}){3}|(?i:IPv6):[0-9A-Fa-f:.]{2,45})\]"
_ADDRESS = late_pattern(rf"({_DOT_ATOM}|{_IN_QUOTES})@(?:{_LABEL}(?:\.{_LABEL})*|{_LITERAL})")
_NEEDLESS_QUOTES = late_pattern(rf'"({_DOT_ATOM})"(?=@)')
_QUOTED_AT = late_pattern(r'@(?:\[[^]\s]*]|[^\s",;:<>()]+)')
_ROUTE = late_pattern(r'(?:@[^:]*|[^@:"]*):')  # <@relay.example:ann@x.example>, <mailto:ann@x.example>
_COMMENT = late_pattern(r"\([^()]*\)")
# Place of a comment: `ann (work) @x.example` is an address, `ann @x.example` is not.
_GAP = "\0"
_GAPS = late_pattern(rf"{_GAP}(?: ?{_GAP})+")
_AT_WITH_GAP = late_pattern(rf" ?{_GAP} ?@ ?{_GAP}? ?| ?@ ?{_GAP} ?")


class NamedAddress(NamedTuple):
    """A display name ("" for none) and an address as written."""

    name: str
    address: str


def is_demo(address: str) -> bool:
    """Whether an address belongs to a person of the demo. RFC 2606 reserves its domain.

    >>> is_demo("ana@larch-bicycles.demo.example"), is_demo("ana@demo.example.org"), is_demo("ana@notdemo.example")
    (True, False, False)
    """
    return f".{address.rpartition('@')[2].lower()}".endswith(f".{DEMO_DOMAIN}")


def valid(address: str) -> bool:
    """True for an address that mail can be sent to: mailbox, `@`, domain. Follows RFC 5322, RFC 6531.

    A mailbox may be quoted; a domain needs no dot, and may be a network address in brackets.

    >>> valid("root@localhost"), valid("jürgen@münchen.example"), valid("a..b@x.example"), valid('"a b"@[192.0.2.1]')
    (True, True, False, True)
    """
    if len(address) > ADDRESS_CHARACTERS or not address.isprintable():
        return False
    match = _ADDRESS.fullmatch(address)
    if match is None or len(match[1]) > MAILBOX_CHARACTERS:
        return False
    domain = address[match.end(1) + 1 :]
    return _is_network_address(domain) if domain.startswith("[") else "-." not in domain + "."


def the_one(text: str) -> str | None:
    """The address of a field with a single one, in lower case and without its name; None for none, and for several.

    >>> the_one('"Doe, Joe" <Joe@X.example>'), the_one("joe@x.example (Joe)"), the_one("a@x.example, b@x.example")
    ('joe@x.example', 'joe@x.example', None)
    """
    text = text.strip()
    if valid(text):
        return text.lower()
    match = _NAMED.fullmatch(text)
    text = next((found.strip() for found in match.groups() if found), "") if match else ""
    return text.lower() if valid(text) else None


def without_plus(email: str) -> str:
    """The address that `mailbox+anything@host` is delivered to; returns other addresses unchanged (RFC 5233).

    >>> without_plus("billing+vip@desk.example"), without_plus("+1555@desk.example"), without_plus('"a+b"@desk.example')
    ('billing@desk.example', '+1555@desk.example', '"a+b"@desk.example')
    """
    mailbox, at, host = email.rpartition("@")
    base, plus, _detail = mailbox.partition("+")
    return f"{base}{at}{host}" if plus and base and not mailbox.startswith('"') else email


def parse_list(text: str, limit: int = ADDRESSES) -> list[NamedAddress]:
    """The valid addresses of a field, at most `limit`, in order; skips text that is not an address. Takes linear time.

    `,` and `;` separate; quoted names may hold both; `mail@host (Name)`, groups and bare addresses are understood.

    >>> parse_list('"Doe, Ann" <ann@x.example>; bob@x.example (Bob)')
    [NamedAddress(name='Doe, Ann', address='ann@x.example'), NamedAddress(name='Bob', address='bob@x.example')]
    """
    if "@" not in text:
        return []
    if _WORD.fullmatch(text):
        return [NamedAddress("", text)] if valid(text) and limit > 0 else []
    simple = _SIMPLE.fullmatch(text)
    if simple is not None:
        return [NamedAddress(headers.one_line(simple[1]), simple[2])] if valid(simple[2]) and limit > 0 else []
    return _AddressReader(text, limit).read()


def parse_all(text: str, limit: int = ADDRESSES) -> list[NamedAddress]:
    """Parses recipients that a person entered. Raises Invalid with the first text that is not an address, so that no
    recipient is omitted silently.

    >>> parse_all("ann@x.example; Bob <bob@x.example>")[1].name
    'Bob'
    """
    if _WORD.fullmatch(text) and valid(text):  # the most frequent form
        return [NamedAddress("", text)][:limit]
    reader = _AddressReader(text, limit)
    addresses = reader.read()
    if reader.unread and len(addresses) < limit:
        unread = headers.one_line(reader.unread)[:ADDRESS_CHARACTERS]
        raise Invalid(f"'{unread}' is not an email address; use name@host")
    return addresses


def _is_network_address(literal: str) -> bool:
    """Whether the brackets of a domain hold an IP address: [192.0.2.1], [IPv6:2001:db8::1]."""
    version, colon, rest = literal[1:-1].partition(":")
    try:
        ipaddress.IPv6Address(rest) if colon else ipaddress.IPv4Address(version)
    except ValueError:
        return False
    return True


def format_address(name: str, address: str) -> str:
    """A mailbox for a header field, its name quoted or encoded. Raises Invalid for CR, LF, NUL and bad addresses.

    >>> format_address("Ida at Quartz Depot", "help@desk.example")
    '"Ida at Quartz Depot" <help@desk.example>'
    """
    if re.search(r"[\r\n\0]", name + address):
        raise Invalid("A name or address in a mail must be one line; remove the line breaks.", field="address")
    if not valid(address):
        raise Invalid(f"'{address[:ADDRESS_CHARACTERS]}' is not an email address; use name@host.", field="address")
    if not name:
        return address
    if name.isascii() and name.isprintable() and "=?" not in name:  # many mail programs decode these inside quotes, too
        return '"' + re.sub(r'(["\\])', r"\\\1", name) + f'" <{address}>'
    return f"{encoded(name)} <{address}>"


def matches_pattern(address: str, pattern: str) -> bool:
    """True if an exclude pattern matches the address, ignoring case.

    Pattern: `*` matches any text and the whole address must match, or `/regex/` that is searched in it. An invalid
    regular expression matches nothing."""
    compiled = _pattern(pattern.strip())
    return compiled is not None and compiled.search(address) is not None


@lru_cache(maxsize=256)  # 10 microseconds for each pattern and recipient of an email
def _pattern(pattern: str) -> Any:
    if not pattern:
        return None
    import re2  # a large library in C++, which few of the first requests need

    is_regex = len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/")
    source = pattern[1:-1] if is_regex else "^" + ".*".join(map(re2.escape, pattern.split("*"))) + "$"
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    try:
        return re2.compile(source, options=options)
    except re2.error:
        return None


def encoded(name: str) -> str:
    """A text as encoded words, for header fields that allow only ASCII (RFC 2047)."""
    words, piece = [], ""
    for character in name:
        if len((piece + character).encode("utf-8", "replace")) > ENCODED_WORD_BYTES:
            words.append(piece)
            piece = ""
        piece += character
    return " ".join(map(_encoded_word, [*words, piece]))


def _encoded_word(text: str) -> str:
    return "=?utf-8?b?" + base64.b64encode(text.encode("utf-8", "replace")).decode("ascii") + "?="


class _AddressReader:
    """One pass over a field. An opening quote or parenthesis without its end is an ordinary character, and so are all
    later ones: a search for each end again would take quadratic time."""

    def __init__(self, text: str, limit: int) -> None:
        self.text, self.limit, self.position = text, limit, 0
        self.found: list[NamedAddress] = []
        self.unread = ""  # the first text between commas without an address or with a cut one, or a word with @
        self._begun = 0  # start of the text since the last comma
        self.has_quotes = self.has_comments = True
        self._next_mailbox()

    def read(self) -> list[NamedAddress]:
        while self.position < len(self.text) and len(self.found) < self.limit:
            plain = _PLAIN.match(self.text, self.position)
            if plain is not None:
                self._add_plain(plain[0])
                self.position = plain.end()
            else:
                self._special(self.text[self.position])
        if len(self.found) < self.limit:
            self._mailbox()
        return self.found[: self.limit]

    def _next_mailbox(self) -> None:
        self.phrase: list[str] = []
        self.comment = ""
        self.angle: str | None = None
        self.is_cut_off = False  # `<ann@x` may have been `<ann@x.example>`
        self.quoted = ""
        self.bare: list[str] = []  # unquoted words of the phrase

    def _special(self, character: str) -> None:
        if character in ",;":
            self._mailbox()
            self.position += 1
            self._begun = self.position
        elif character == '"':
            self._quoted()
        elif character == "(":
            self._comment()
        elif character == "<":
            match = _IN_ANGLES.match(self.text, self.position)
            assert match is not None
            self.angle = self.angle or match[1]
            self.is_cut_off = self.is_cut_off or not match[0].endswith(">")
            self.position = match.end()
        else:
            # The colon ends the name of a group, or "mailto".
            if self.angle is None and not any("@" in piece for piece in self.phrase):
                self.phrase.clear()
                self.bare.clear()
            else:
                self._add_plain(character)
            self.position += 1

    def _add_plain(self, text: str) -> None:
        self.phrase.append(text)
        self.bare.append(text)

    def _quoted(self) -> None:
        match = _QUOTED.match(self.text, self.position) if self.has_quotes else None
        self.has_quotes = match is not None
        self.position = match.end() if match else self.position + 1
        if match is None:
            return
        at_host = _QUOTED_AT.match(self.text, self.position)
        if at_host is not None:
            self.angle = self.angle or match[0] + at_host[0]
            self.position = at_host.end()
            return
        self.quoted = re.sub(r"\\(.)", r"\1", match[1])
        self.phrase.append(self.quoted)

    def _comment(self) -> None:
        end = self._comment_end() if self.has_comments else None
        self.has_comments = end is not None
        if end is None:
            self.position += 1
            return
        self.comment = self.comment or self.text[self.position + 1 : end - 1]
        self._add_plain(_GAP)
        self.position = end

    def _comment_end(self) -> int | None:
        depth, position = 0, self.position
        while (match := _IN_COMMENT.match(self.text, position)) is not None:
            position = match.end()
            if len(match[0]) > 1 and match[0][-2] == "\\":
                continue
            depth += 1 if match[0][-1] == "(" else -1
            if depth == 0:
                return position
        return None

    def _mailbox(self) -> None:
        name = "".join(self.phrase).replace(_GAP, " ").strip() or self.comment
        before = len(self.found)
        if self.angle is not None:
            self._add(name, _in_angles(self.angle))
        # A quoted text is never part of an address, but may be one by itself, such as "ann@x.example".
        elif not self._bare() and self.quoted:
            self._add(self.comment, self.quoted)
        if self.is_cut_off or len(self.found) == before:
            self._left_out(self.text[self._begun : self.position])
        self._next_mailbox()

    def _left_out(self, text: str) -> None:
        is_group = self.angle is None and text.rstrip().endswith(":")  # `friends:;` is a valid empty group
        self.unread = self.unread or ("" if is_group else text.strip())

    def _bare(self) -> bool:
        """Adds the addresses among the unquoted words; returns whether there were any."""
        text = _GAPS.sub(_GAP, " ".join("".join(self.bare).split()))
        words = _AT_WITH_GAP.sub("@", text).replace(_GAP, " ").split()
        addresses = {word: _bare_address(word) for word in words if "@" in word}
        good = [word for word in words if word in addresses and valid(addresses[word])]
        bad = next((word for word in addresses if word not in good), "")
        if good and bad:
            self._left_out(bad)
        rest = " ".join(word for word in words if word not in good) if len(good) == 1 else ""
        for word in good:
            self._add(self.comment or " ".join(filter(None, (self.quoted, rest))), addresses[word])
        return bool(good)

    def _add(self, name: str, address: str) -> None:
        address = _NEEDLESS_QUOTES.sub(r"\1", address)
        if valid(address):
            self.found.append(NamedAddress(headers.one_line(name)[:NAME_CHARACTERS], address))


def _bare_address(word: str) -> str:
    """A word without enclosing characters: <ann@x.example>, 'ann@x.example'. A single quote is part of the address."""
    word = word.strip("<>")
    return word[1:-1] if len(word) > 2 and word[0] == word[-1] == "'" else word


def _in_angles(text: str) -> str:
    """The address inside `<...>`, without route and comments."""
    text = _ROUTE.sub("", text, count=1) if _ROUTE.match(text) else text
    return text.strip() if '"' in text or "(" not in text else "".join(_COMMENT.sub("", text).split())
