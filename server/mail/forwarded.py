"""Finds the author of a forwarded mail: in the header lines that mail programs put above it, in many languages, or in
an attached mail. The result is a guess, which a person confirms."""

import re
from collections.abc import Iterable

from server.late_pattern import late_pattern
from server.mail import addresses, display_names, headers
from server.mail.addresses import NamedAddress

LINES = 200  # characters of a text that are searched for a forwarded mail
HEAD_LINES = 10  # header lines of a forwarded mail that are read
HEAD_BYTES = 64 * 1024  # bytes of an attached mail that are read

_PREFIX = late_pattern(
    r"\s*(?:\[[^\]]{1,40}\]\s*)?(?:fwd?|wg|tr|rv|i|enc|doorst|vs|vb|vl|pd|\u03c0\u03c1\u03b8|\u0432\u043f|\u8f6c\u53d1"
    r"|\u8f49\u5bc4|\uc804\ub2ec)\s*[:\uff1a]",
    re.IGNORECASE,
)
_MARK = late_pattern(
    r"\W*(?:begin )?(?:forwarded message|forwarded by|weitergeleitete nachricht|anfang der weitergeleiteten"
    r"|(?:d\u00e9but du )?message (?:transf\u00e9r\u00e9|r\u00e9exp\u00e9di\u00e9)|(?:inicio del )?mensaje reenviado"
    r"|(?:inizio )?messaggio inoltrato|(?:begin )?doorgestuurd bericht|mensagem encaminhada|vidarebefordrat meddelande"
    r"|videresendt (?:besked|melding)|v\u00e4litetty viesti|przekazana wiadomo"
    r"|\u041f\u0435\u0440\u0435\u0441\u044b\u043b\u0430"
    r"|\u8f6c\u53d1\u7684\u90ae\u4ef6|\u8ee2\u9001\u3055\u308c\u305f)",
    re.IGNORECASE,
)
_FROM = late_pattern(
    r"[>|\s*_]*(?:from|von|de|da|van|fr\u00e5n|fra|od|l\u00e4hett\u00e4j\u00e4|\u03b1\u03c0\u03cc|\u043e\u0442"
    r"|\u5dee\u51fa\u4eba|\u53d1\u4ef6\u4eba|\u5bc4\u4ef6\u8005|\ubcf4\ub0b8 \uc0ac\ub78c|g\u00f6nderen)"
    r"[*_\s]*[:\uff1a][*_\s]*(.*)",
    re.IGNORECASE,
)
_OTHER = late_pattern(
    r"[>|\s*_]*(?:date|sent|to|subject|cc|datum|gesendet|an|betreff|envoy\u00e9|\u00e0|objet|enviado(?: el)?|fecha|para"
    r"|asunto"
    r"|data|inviato|a|oggetto|verzonden|aan|onderwerp|assunto|skickat|till|\u00e4mne|sendt|til|emne|wys\u0142ano|do|temat"
    r"|\u0434\u0430\u0442\u0430|\u043a\u043e\u043c\u0443|\u0442\u0435\u043c\u0430|\u65e5\u6642|\u4ef6\u540d|\u5b9b\u5148"
    r"|\u65e5\u671f|\u4e3b\u9898|\u6536\u4ef6\u4eba)[*_\s]*[:\uff1a]",
    re.IGNORECASE,
)
_MAILTO = late_pattern(
    r"[\[(<]\s*(?:mailto:)?([^\s\[\]()<>]+@[^\s\[\]()<>]+)\s*[\])>](?:<mailto:[^>]*>)?", re.IGNORECASE
)


def author_of(subject: str, text: str, attached: Iterable[bytes] = ()) -> NamedAddress | None:
    """The author of the mail that this one forwards; None if unknown.

    attached: mails that came as files.

    >>> author_of("Fwd: Pump", "See.\\n\\nFrom: Carl <carl@x.example>\\nSubject: Pump\\n\\nIt leaks.")
    NamedAddress(name='Carl', address='carl@x.example')
    """
    lines = text.split("\n")[:LINES]
    begin = next((at + 1 for at, line in enumerate(lines) if _MARK.match(line)), None)
    if begin is None and _PREFIX.match(subject):
        begin = 0
    author = _in_lines(lines[begin:]) if begin is not None else None
    if author is not None:
        return author
    heads = (headers.split(content.lstrip()[:HEAD_BYTES]).first("from") for content in attached)
    return next((author for author in map(_address, heads) if author is not None), None)


def _in_lines(lines: list[str]) -> NamedAddress | None:
    for at, line in enumerate(lines):
        match = _FROM.fullmatch(line.rstrip())
        if match is None or not any(map(_OTHER.match, lines[max(at - 3, 0) : at + HEAD_LINES])):
            continue
        after = lines[at + 1].strip(" >|*_") if at + 1 < len(lines) else ""
        value = f"{match[1]} {after}" if "@" not in match[1] and not _OTHER.match(after) else match[1]
        return _address(value)
    return None


def _address(value: str) -> NamedAddress | None:
    value = _MAILTO.sub(r"<\1>", value.replace("*", " "))
    authors = addresses.parse_list(headers.header_value(value), limit=1)
    if not authors:
        return None
    email = authors[0].address.lower()
    return NamedAddress(display_names.clean(authors[0].name, email), email)
