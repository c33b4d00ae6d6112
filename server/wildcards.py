"""Patterns in which `*` matches anything, without regular expressions."""


def fits(text: str, pattern: str) -> bool:
    """Returns whether the whole text matches, with case significant. Searches the parts between stars once, from left
    to right, so that no pattern takes long.

    >>> fits("hello world", "he*o*ld"), fits("hello", "*lo*p")
    (True, False)
    """
    first, *rest = pattern.split("*")
    if not rest:
        return text == first
    last = rest.pop()
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    place, end = len(first), len(text) - len(last)
    for part in rest:
        place = text.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return True
