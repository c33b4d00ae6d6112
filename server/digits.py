"""Texts that are whole numbers. `str.isdigit` knows digits that `int` does not, and some numbers are too long."""

MAX_ID_DIGITS = 18  # no record has a longer id, and the database takes no longer number


def is_whole(text: str, most: int = MAX_ID_DIGITS) -> bool:
    """Whether a text is nothing but digits 0 to 9, and not more than so many.

    >>> is_whole("0042"), is_whole("-1"), is_whole("²"), is_whole("")
    (True, False, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) <= most
