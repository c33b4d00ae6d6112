"""Escapes cells of exported tables: spreadsheets execute any text that looks like a formula."""

import re

FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # full-width signs work in East Asian spreadsheets
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")


def guarded(text: str) -> str:
    """Returns the text, with a quote in front if a spreadsheet would read it as a formula. Numbers stay numbers.

    >>> guarded("=1+1"), guarded("-5"), guarded("-5+A1"), guarded("+49 30 1")
    ("'=1+1", '-5', "'-5+A1", "'+49 30 1")
    """
    return f"'{text}" if text.startswith(FORMULA) and not _NUMBER.match(text) else text


def unguarded(text: str) -> str:
    """Reverses `guarded`.

    >>> unguarded("'=1+1"), unguarded("'tis"), unguarded("=1+1")
    ('=1+1', "'tis", '=1+1')
    """
    return text[1:] if text[:1] == "'" and text[1:].startswith(FORMULA) else text
