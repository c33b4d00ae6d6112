"""Chooses the text of a mail when plain text and HTML differ."""

import re

from server.dataclass import dataclass

LEAST_WORDS = 3  # in an HTML part that can stand for the mail
COVERED_SHARE = 0.3  # share of the words of the HTML; a plain text with fewer of them does not represent it
PLACEHOLDER_WORDS = 60  # in a plain text that says only that there is HTML, in several languages at most
OTHER_CHARACTERS = 32_000  # words in only one of the two texts

_URL = re.compile(r"<?(?:https?:|mailto:|cid:)[^\s<>]*>?", re.IGNORECASE)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ChosenText:
    """is_plain: whether the plain text was chosen. other_words: of the other text, so that search finds them."""

    text: str
    is_plain: bool
    other_words: str = ""


def choose_text(plain: str, html_text: str, *, are_alternatives: bool) -> ChosenText:
    """Chooses the text of a mail with both. are_alternatives: whether they are alternatives; a plain text besides the
    HTML, such as the footer of a list, is appended."""
    plain_words, html_words = _words(plain), _words(html_text)
    unsaid = [word for word in html_words if word not in plain_words]
    covered = len(html_words) - len(unsaid)
    is_short = len(plain_words) <= max(PLACEHOLDER_WORDS, len(html_words))
    if len(html_words) < LEAST_WORDS or covered >= COVERED_SHARE * len(html_words) or not is_short:
        return ChosenText(plain, True, _joined(unsaid))
    if not are_alternatives:
        return ChosenText(f"{html_text}\n\n{plain}", False)
    return ChosenText(html_text, False, _joined([word for word in plain_words if word not in html_words]))


def _words(text: str) -> dict[str, None]:
    """The distinct words in order."""
    return dict.fromkeys(_WORD.findall(_URL.sub(" ", text).casefold()))


def _joined(words: list[str]) -> str:
    return " ".join(words)[:OTHER_CHARACTERS]
