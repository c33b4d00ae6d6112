"""Divides the text of a mail into the writer's own words, quotations and the signature, so that pages can fold the
latter.

Only marks parts; together they are the whole text. Not a library: the known ones search quotations with patterns that
take minutes for some mails, and anybody can send a mail. This reads each line a few times."""

import re
from collections.abc import Iterator
from itertools import groupby, takewhile
from typing import Literal

Kind = Literal["said", "quote", "signature"]
MAX_HEAD_LINES = 3  # lines of the attribution above a quotation, if it is wrapped
MAX_HEAD_CHARS = 400
LEAST_HEADERS = 3  # minimum of lines such as `From: Ana` that begin a mail quoted below
# Separators above a mail quoted below: -----Original Message-----, _______
_SEPARATOR = re.compile(r"\s*(?:-{4,}[^-]{3,60}-{4,}|_{20,})\s*\Z")
_HEADER = re.compile(r"\s*\*?([^\W\d_][\w -]{0,20}?)\s?(?::\*?\s+|：\*?\s*)\S")
# Names of the first header in mail programs. Other lists of `Name: …`, as web forms send them, are not mails.
FROM_WORDS = frozenset(
    "from von de da van från fra od от від из kimden gönderen lähettäjä feladó expéditeur remitente mittente "
    "avsändare avsender afsender afzender odesílatel odosielateľ nadawca отправитель από מאת 发件人 差出人".split()
)
# Names of the date, the second header, for mails without addresses, as within a company.
SENT_WORDS = frozenset(
    "sent date gesendet datum envoyé enviado enviada enviat inviato data verzonden verstuurd skickat skickades sendt "
    "dato lähetetty päivämäärä odesláno odoslané wysłano надіслано отправлено дата gönderildi tarih elküldve küldve "
    "saadetud изпратено poslano trimis נשלח תאריך 发送时间 傳送時間 日期 送信日時 日付 보낸 ".split()
)
# Verbs of the line above a quotation, as in `On Monday Ida wrote:`.
WROTE_WORDS = frozenset(
    "wrote schrieb écrit escribió scritto schreef geschreven escreveu skrev napisał napisała napisał(a) написал "
    "написала написал(a) kirjoitti írta napsal napsal(a) yazdı 書きました のメール 写道 寫道".split()
)
_COLONS = (":", "：")  # the second one in Chinese and Japanese
_SIGNATURE = re.compile(r"-- ?\Z")
# How lines begin that mobile programs add below a mail.
DEVICE_LINES = (
    r"sent (?:from|via|with) (?:my |outlook|yahoo|mail for|proton|gmail|samsung|mobile)|get outlook for |"
    r"sent from \S+ mail|von meinem \S+ (?:\S+ )?gesendet|gesendet (?:von|mit) (?:meinem|outlook|der|mail|yahoo)|"
    r"outlook für (?:ios|android)|envoyé (?:de|depuis) mon |télécharger outlook|enviado desde mi |obtener outlook|"
    r"inviato da(?:l mio)? (?:iphone|ipad|outlook|android|cellulare)|scarica outlook|verstuurd vanaf mijn |"
    r"verzonden (?:vanaf|met) mijn |download outlook|enviado do meu |obter o outlook|skickat från min |sendt fra min |"
    r"wysłane z |pobierz outlook|(?:iphone|ipad|android)から送信"
)
_DEVICE = re.compile(f"(?:{DEVICE_LINES})", re.IGNORECASE)
MAX_DEVICE_CHARS = 120
_TIME = re.compile(r"\d{1,2}[:.h]\d{2}")
_DATE = re.compile(r"@|\d{4}|\d{1,2}[./]\d{1,2}[./]\d{2}")
_WORD_ENDS = re.compile(r"[\s:：,<>]+")


def parts(text: str) -> list[tuple[Kind, str]]:
    """Returns the parts of a text in order; takes linear time.

    >>> parts("Yes.\\n\\nOn Monday Ida wrote:\\n> Is it?\\n> Ida")
    [('said', 'Yes.\\n'), ('quote', 'On Monday Ida wrote:\\n> Is it?\\n> Ida')]
    >>> parts("Yes.\\n-- \\nIda")
    [('said', 'Yes.'), ('signature', '-- \\nIda')]
    >>> parts("Yes.\\n\\nSent from my iPhone")
    [('said', 'Yes.\\n'), ('signature', 'Sent from my iPhone')]
    """
    lines = text.split("\n")
    kinds = _kinds(lines)
    groups = groupby(zip(kinds, lines, strict=True), key=lambda each: each[0])
    return [(kind, "\n".join(line for _, line in group)) for kind, group in groups]


def beginning(text: str, most: int) -> str:
    """Returns the first characters of a text on one line.

    >>> beginning("Yes,\\nit is.", 20), beginning("Yes, it is.", 5)
    ('Yes, it is.', 'Yes,…')
    """
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[:most].rstrip()}…"


def _kinds(lines: list[str]) -> list[Kind]:
    below = next((first for place in range(len(lines)) if (first := _begins_mail(lines, place)) >= 0), len(lines))
    kinds: list[Kind] = ["quote" if place >= below or _is_quoted(line) else "said" for place, line in enumerate(lines)]
    for place in _beginnings(kinds):
        _mark_head(lines, kinds, place)
    _mark_blanks(lines, kinds)
    _mark_signature(lines, kinds)
    return kinds


def _is_quoted(line: str) -> bool:
    return line.lstrip().startswith(">")


def _begins_mail(lines: list[str], place: int) -> int:
    """Returns the first line of a quoted mail that takes the rest of the text and whose beginning is recognized at this
    line, else -1: perhaps a separator, then headers; or an attribution."""
    line = lines[place]
    if ":" not in line and "：" not in line and "----" not in line and "____" not in line:
        return -1
    first = place + 1 if _SEPARATOR.match(line[:100]) else place
    return place if _has_headers(lines, first, first > place) else _attribution(lines, place)


def _has_headers(lines: list[str], first: int, is_apart: bool) -> bool:
    headers = lines[first : first + LEAST_HEADERS + 1]
    if is_apart and headers and _names_author(headers[0][:200]):
        return True
    matches = takewhile(bool, map(_HEADER.match, (each[:200] for each in headers)))
    names = [match[1].lower() for match in matches if match]
    if len(names) < LEAST_HEADERS:
        return False
    has_address = any("@" in each for each in headers[:LEAST_HEADERS])
    is_dated = len(names) > LEAST_HEADERS and names[1] in SENT_WORDS
    is_dated_first = names[0] in SENT_WORDS and not FROM_WORDS.isdisjoint(names)
    return is_apart or (names[0] in FROM_WORDS and (has_address or is_dated)) or (is_dated_first and has_address)


def _names_author(line: str) -> bool:
    """Returns whether a line below a separator names the author without a colon, as eM Client writes it:
    `From "Ida" <ida@kite.example>`."""
    name, _, author = line.lstrip().partition(" ")
    return "@" in author and name.lower() in FROM_WORDS


def _attribution(lines: list[str], place: int) -> int:
    """Returns the first line of an attribution that ends at this line and whose quotation has no marks, else -1. It
    names a time, a date or address, and a verb, so that no sentence of the writer is taken for one."""
    if not lines[place].rstrip().endswith(_COLONS):
        return -1
    next_line = next((each for each in lines[place + 1 : place + 6] if each.strip()), ">")
    if _is_quoted(next_line):
        return -1
    first = place
    while first > 0 and place - first < MAX_HEAD_LINES - 1 and lines[first - 1].strip():
        first -= 1
    return first if first and is_attribution(" ".join(lines[first : place + 1])) else -1


def is_attribution(text: str) -> bool:
    """Returns whether a line above a quotation says who wrote it and when.

    >>> is_attribution("On Mon, 23 Nov 2026 at 10:00, Ida <ida@kite.example> wrote:"), is_attribution("Ida wrote:")
    (True, False)
    """
    if len(text) > MAX_HEAD_CHARS or not _TIME.search(text) or not _DATE.search(text):
        return False
    return not WROTE_WORDS.isdisjoint(_WORD_ENDS.split(text.lower()))


def _beginnings(kinds: list[Kind]) -> Iterator[int]:
    return (place for place, kind in enumerate(kinds) if kind == "quote" and place and kinds[place - 1] == "said")


def _mark_head(lines: list[str], kinds: list[Kind], place: int) -> None:
    """Marks the attribution above a quotation, wrapped or not, and the blank lines in between."""
    last = place - 1
    while last >= 0 and not lines[last].strip():
        last -= 1
    if last < 0 or not lines[last].rstrip().endswith(_COLONS) or kinds[last] != "said":
        return
    first = last
    while first > 0 and last - first < MAX_HEAD_LINES - 1 and lines[first - 1].strip() and kinds[first - 1] == "said":
        first -= 1
    if sum(len(each) for each in lines[first : last + 1]) > MAX_HEAD_CHARS or (first and lines[first - 1].strip()):
        first = last
    if first >= 2 and _SEPARATOR.match(lines[first - 1][:100]) and kinds[first - 1] == "said":
        first -= 1
    kinds[first:place] = ["quote"] * (place - first)


def _mark_blanks(lines: list[str], kinds: list[Kind]) -> None:
    """Marks blank lines between two quotations, and those after the last one."""
    blanks: list[int] = []
    for place, line in enumerate(lines):
        if kinds[place] == "said" and not line.strip():
            blanks.append(place)
            continue
        if kinds[place] == "quote" and blanks and blanks[0] and kinds[blanks[0] - 1] == "quote":
            for each in blanks:
                kinds[each] = "quote"
        blanks = []


def _mark_signature(lines: list[str], kinds: list[Kind]) -> None:
    """Marks signatures: from two dashes to the next quotation or the end, and the lines that mobile programs add."""
    is_signature = False
    for place, line in enumerate(lines):
        if kinds[place] == "quote":
            is_signature = False
        elif is_signature or _SIGNATURE.match(line):
            is_signature = True
            kinds[place] = "signature"
    last = next((place for place in range(len(lines) - 1, 0, -1) if kinds[place] == "said" and lines[place].strip()), 0)
    if last and len(lines[last]) <= MAX_DEVICE_CHARS and _DEVICE.match(lines[last].strip()):
        kinds[last] = "signature"
