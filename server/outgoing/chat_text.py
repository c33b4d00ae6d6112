"""Texts of messages to chat programs: cleaned, neutralized and escaped, so that no customer mentions a channel, adds a
link or changes the layout by a subject or a name."""

import html
import re
import unicodedata
from collections.abc import Callable

from server.late_pattern import late_pattern

BREAK = "\u200b"  # zero width space, between characters that a program must not read together
_JOINERS = "\u200c\u200d"  # parts of letters and emoji
# A scheme, a host name, a mention, a code of an emoji. Programs turn them into links even without markup.
_ACTIVE = late_pattern(r"(?<=:)(?=//)|(?<=\w\.)(?=[^\W\d])|(?<=@)(?=\w)|(?<=:)(?=\w)")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_MARKDOWN = re.compile(r"[\\`*_{}\[\]()#+\-.!>~|]")  # the characters that Mattermost lets a backslash escape
_ROCKET = re.compile(r"[*_~`#]")

Escape = Callable[[str], str]


def clean(text: str, most: int) -> str:
    """Returns a text on one line, without control and direction characters, and at most this long.

    >>> clean("Pump\\n\\tleaks\\u202e!", 20), clean("Pump leaks", 6)
    ('Pump leaks!', 'Pump…')
    """
    words = " ".join(text.split())
    seen = "".join(each for each in words if each in _JOINERS or unicodedata.category(each) not in ("Cc", "Cf", "Cs"))
    return seen if len(seen) <= most else f"{seen[: most - 1].rstrip()}…"


def inert(text: str) -> str:
    """Returns a text in which programs find no address, mention or emoji, by invisible breaks.

    >>> inert("@all: https://a.example, version 1.2").replace(BREAK, "|")
    '@|all: https:|//a.|example, version 1.2'
    """
    return _ACTIVE.sub(BREAK, text)


def fitted(text: str, escape: Escape, most: int) -> str:
    """Returns an escaped text of at most this many characters; a longer one is cut before it is escaped.

    >>> fitted("a*b*c", discord, 6)
    'a\\\\*b…'
    """
    whole = escape(text)
    if len(whole) <= most:
        return whole
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(escape(text[:middle])) < most else (low, middle - 1)
    return f"{escape(text[:low])}…"


def slack(text: str) -> str:
    """Escapes mrkdwn of Slack; `<` begins mentions and links there.

    >>> slack("<!channel> & co")
    '&lt;!channel&gt; &amp; co'
    """
    return inert(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def discord(text: str) -> str:
    """Escapes Markdown of Discord, where a backslash escapes any punctuation.

    >>> discord("<@1> *now*").replace(BREAK, "|")
    '\\\\<\\\\@|1\\\\> \\\\*now\\\\*'
    """
    return _PUNCTUATION.sub(r"\\\g<0>", inert(text))


def mattermost(text: str) -> str:
    """Escapes Markdown of Mattermost.

    >>> mattermost("[now](x) #1")
    '\\\\[now\\\\]\\\\(x\\\\) \\\\#1'
    """
    return _MARKDOWN.sub(r"\\\g<0>", inert(text))


def rocketchat(text: str) -> str:
    """Escapes Markdown of Rocket.Chat, which has no escape for the brackets of links.

    >>> rocketchat("[now](x) *1* <a|b>")
    '(now)(x) \\\\*1\\\\* ‹a|b›'
    """
    plain = inert(text.replace("\\", "/")).translate(str.maketrans("[]<>", "()‹›"))
    return _ROCKET.sub(r"\\\g<0>", plain)


def as_html(text: str) -> str:
    """Escapes HTML, as Matrix has it."""
    return html.escape(inert(text))
