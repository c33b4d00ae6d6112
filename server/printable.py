"""Texts of other programs, as messages and logs show them."""


def printable(text: str) -> str:
    """Returns a text with a blank in place of each line end and each other character that cannot be printed.

    >>> printable("Too many\\r\\nrequests\\x1b[2J")
    'Too many  requests [2J'
    """
    return "".join(char if char.isprintable() else " " for char in text)
