"""Parses whole numbers and ids. `str.isdigit` accepts digits that `int` does not, `int` accepts signs, blanks and
underscores, and some numbers exceed the database."""

MAX_ID = 2**63 - 1  # the largest integer of the database
MAX_ID_DIGITS = 18  # no record has a longer id


def is_whole(text: str, most: int = MAX_ID_DIGITS) -> bool:
    """Returns whether a text consists of the digits 0 to 9, at most `most` of them.

    >>> is_whole("0042"), is_whole("-1"), is_whole("²"), is_whole("")
    (True, False, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) <= most


def whole_in(text: str, low: int, high: int) -> int | None:
    """Parses a whole number from low (0 or more) to high; None for any other text.

    >>> whole_in("42", 1, 100), whole_in("0", 1, 100), whole_in("1e1", 1, 100), whole_in("9" * 5000, 1, 100)
    (42, None, None, None)
    """
    return number if is_whole(text, 19) and low <= (number := int(text)) <= high else None


def id_in(text: str) -> int | None:
    """Parses an id; None for any other text.

    >>> id_in("42"), id_in("9223372036854775808"), id_in(" 42"), id_in("+42"), id_in("4_2"), id_in("٤")
    (42, None, None, None, None, None)
    """
    return whole_in(text, 0, MAX_ID)
