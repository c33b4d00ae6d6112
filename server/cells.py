"""Cells of tables that go to spreadsheets, which run what looks like a formula, whoever wrote it."""

import re

FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # the wide ones count in East Asia
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")


def guarded(text: str) -> str:
    """The text, with a quote before it where a spreadsheet would take it for a formula. Numbers stay numbers.

    >>> guarded("=1+1"), guarded("-5"), guarded("-5+A1"), guarded("+49 30 1")
    ("'=1+1", '-5', "'-5+A1", "'+49 30 1")
    """
    return f"'{text}" if text.startswith(FORMULA) and not _NUMBER.match(text) else text


def unguarded(text: str) -> str:
    """The text as it was before `guarded`.

    >>> unguarded("'=1+1"), unguarded("'tis"), unguarded("=1+1")
    ('=1+1', "'tis", '=1+1')
    """
    return text[1:] if text[:1] == "'" and text[1:].startswith(FORMULA) else text
