"""Texts that are whole numbers, ids among them. `str.isdigit` knows digits that `int` does not, `int` takes signs,
blanks and underscores, and some numbers are too long for the database."""

MAX_ID = 2**63 - 1  # the largest number that the database takes
MAX_ID_DIGITS = 18  # no record has a longer id


def is_whole(text: str, most: int = MAX_ID_DIGITS) -> bool:
    """Whether a text is nothing but digits 0 to 9, and not more than so many.

    >>> is_whole("0042"), is_whole("-1"), is_whole("²"), is_whole("")
    (True, False, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) <= most


def whole_in(text: str, low: int, high: int) -> int | None:
    """The whole number that a text is, from low (0 or more) to high; None for any other text.

    >>> whole_in("42", 1, 100), whole_in("0", 1, 100), whole_in("1e1", 1, 100), whole_in("9" * 5000, 1, 100)
    (42, None, None, None)
    """
    return number if is_whole(text, 19) and low <= (number := int(text)) <= high else None


def id_in(text: str) -> int | None:
    """The id that a text is, None for what is none.

    >>> id_in("42"), id_in("9223372036854775808"), id_in(" 42"), id_in("+42"), id_in("4_2"), id_in("٤")
    (42, None, None, None, None, None)
    """
    return whole_in(text, 0, MAX_ID)
