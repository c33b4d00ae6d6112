"""Encodes host names beyond ASCII for DNS: IDNA 2008 by UTS 46, non-transitional, as browsers do.

The codec of the standard library implements IDNA 2003, which maps `faß.example` to `fass.example`, another domain."""

LABEL_CHARACTERS = 63


def ascii_host(name: str) -> str:
    """Returns the name with each label in ASCII; a name in ASCII is unchanged. Raises UnicodeError for an invalid host
    name.

    >>> ascii_host("faß.Example"), ascii_host("_dmarc.straße.example"), ascii_host("Desk.example")
    ('xn--fa-hia.example', '_dmarc.xn--strae-oqa.example', 'Desk.example')
    """
    if name.isascii():
        return name
    import idna  # large Unicode tables, rarely needed by the first requests

    try:
        labels = idna.uts46_remap(name, std3_rules=False, transitional=False).split(".")
        return ".".join(each if each.isascii() else _ascii_label(each) for each in labels)
    except (IndexError, ValueError) as error:  # UnicodeError is one
        raise UnicodeError(f"{name[:80]!a} is not a host name") from error


def _ascii_label(label: str) -> str:
    import idna

    try:
        return idna.alabel(label).decode("ascii")
    except idna.InvalidCodepoint:  # such as an emoji: UTS 46 allows it, and such names are registered
        encoded = "xn--" + label.encode("punycode").decode("ascii")
        if len(encoded) > LABEL_CHARACTERS:
            raise
        return encoded
