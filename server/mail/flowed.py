"""Joins the broken lines of `format=flowed` text (RFC 3676).

A line that ends in a space continues in the next one of the same quotation depth; with `delsp` that space was added."""

import re

SIGNATURE = "-- "
_QUOTED = re.compile(r">*")


def join_lines(text: str, *, deletes_space: bool = False) -> str:
    """The text with each paragraph on one line; quotation marks precede each line, with one space after them.

    deletes_space: the parameter DelSp. An empty line ends a paragraph, though RFC 3676, section 4.1 allows joining it.

    >>> join_lines("one \\ntwo\\n> three \\n> four\\n")
    'one two\\n> three four\\n'
    """
    joined: list[str] = []
    paragraph: list[str] = []
    depth = 0

    def finish() -> None:
        if paragraph:
            words = "".join(paragraph)
            joined.append((">" * depth + " " if depth else "") + (words if words == SIGNATURE else words.rstrip(" ")))
            paragraph.clear()

    for line in text.split("\n"):
        marks = _QUOTED.match(line)
        line_depth = marks.end() if marks else 0
        words = line[line_depth:].removeprefix(" ")  # stuffing, RFC 3676, section 4.4
        if paragraph and (line_depth != depth or words == SIGNATURE or not words.strip()):
            finish()
        depth = line_depth
        is_flowed = words.endswith(" ") and words != SIGNATURE
        paragraph.append(words[:-1] if is_flowed and deletes_space else words)
        if not is_flowed:
            finish()
    finish()
    return "\n".join(joined)
