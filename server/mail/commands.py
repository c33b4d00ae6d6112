"""The lines of a mail's content that stand for something else: `#signature`, `#sig` and `#original_message`.

For content that comes through the API. The further commands of the console's editor are not known here, so that text
of an integration's users goes out as they wrote it.
"""

SIGNATURE_LINES = frozenset({"#signature", "#sig"})
ORIGINAL_LINE = "#original_message"


def apply(content: str, signature: str, original: str | None) -> str:
    """`content` with each line that is exactly a command, blanks around it aside, replaced; other lines untouched.

    original: the quoted text of the message answered, or None where there is none; its line then stays as it is. What
    is put in is not looked at again. Source: decisions, lines beginning with `#`.

    >>> apply("Hi\\n  #sig\\n#signature please", "Ida", None)
    'Hi\\nIda\\n#signature please'
    """
    return "\n".join(_replaced(line, signature, original) for line in content.split("\n"))


def _replaced(line: str, signature: str, original: str | None) -> str:
    command = line.strip()
    if command in SIGNATURE_LINES:
        return signature
    if command == ORIGINAL_LINE and original is not None:
        return original
    return line
