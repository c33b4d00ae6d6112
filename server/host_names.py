"""Host names beyond ASCII as DNS knows them: IDNA 2008 by UTS 46, non-transitional, as browsers do.

The codec of the standard library is that of 2003, by which `faß.example` is `fass.example`: somebody else's domain."""

LABEL_CHARACTERS = 63


def ascii_host(name: str) -> str:
    """The name with each label in ASCII; a name in ASCII stays as it is. Raises UnicodeError for what is no host name.

    >>> ascii_host("faß.Example"), ascii_host("_dmarc.straße.example"), ascii_host("Desk.example")
    ('xn--fa-hia.example', '_dmarc.xn--strae-oqa.example', 'Desk.example')
    """
    if name.isascii():
        return name
    import idna  # tables of Unicode, which few of the first requests need

    try:
        labels = idna.uts46_remap(name, std3_rules=False, transitional=False).split(".")
        return ".".join(each if each.isascii() else _ascii_label(each) for each in labels)
    except (IndexError, ValueError) as error:  # UnicodeError is one
        raise UnicodeError(f"{name[:80]!a} is no host name") from error


def _ascii_label(label: str) -> str:
    import idna

    try:
        return idna.alabel(label).decode("ascii")
    except idna.InvalidCodepoint:  # such as an emoji: UTS 46 has it, and names with some are registered
        encoded = "xn--" + label.encode("punycode").decode("ascii")
        if len(encoded) > LABEL_CHARACTERS:
            raise
        return encoded
