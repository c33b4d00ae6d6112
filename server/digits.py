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


def id_in(text: str) -> int | None:
    """The id that a text is, None for what is none.

    >>> id_in("42"), id_in("9223372036854775808"), id_in(" 42"), id_in("+42"), id_in("4_2"), id_in("٤")
    (42, None, None, None, None, None)
    """
    if not is_whole(text, 19):
        return None
    number = int(text)
    return number if number <= MAX_ID else None
