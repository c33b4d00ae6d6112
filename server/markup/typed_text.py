"""Texts that people outside type into forms, as they are stored and searched for."""

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # all but tab and line feed
MAX_QUERY_CHARS, MAX_QUERY_WORDS = 200, 12
SEARCH_SIGNS = "\"'(){}[]^:"


def clean_lines(text: str) -> str:
    """Returns a text with the line ends of a stored one, without control characters and blanks around it. Invisible
    characters that join letters or emoji remain.

    >>> clean_lines(" a\\r\\nb\\x00\\tc "), clean_lines("\\u06cc\\u200c\\u0647") == "\\u06cc\\u200c\\u0647"
    ('a\\nb\\tc', True)
    """
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def clean_query(text: str, signs: str = SEARCH_SIGNS) -> str:
    """Returns the words of a query that are searched for: without control characters and signs of the search language,
    and not more than a search needs.

    >>> clean_query('  "Reset*  pass\\x00word" OR\\n(x) ')
    'Reset* pass word OR x'
    """
    plain = _CONTROL.sub(" ", text[:MAX_QUERY_CHARS])
    return " ".join("".join(" " if each in signs else each for each in plain).split()[:MAX_QUERY_WORDS])
