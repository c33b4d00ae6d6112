"""The lines of a mail's content that stand for something else: `#signature`, `#sig` and `#original_message`.

For content that comes through the API. The further commands of the console's editor are not known here, so that text
of an integration's users goes out as they wrote it.
"""

SIGNATURE, ORIGINAL, TEXT = "signature", "original", "text"  # kinds of pieces
SIGNATURE_LINES = frozenset({"#signature", "#sig"})
ORIGINAL_LINE = "#original_message"


def apply(content: str, signature: str, original: str | None) -> str:
    """Replaces each line of `content` that is exactly a command, apart from surrounding blanks.

    original: the quoted text of the original message; None leaves its command as it is. Replacements are not searched
    again.

    >>> apply("Hi\\n  #sig\\n#signature please", "Ida", None)
    'Hi\\nIda\\n#signature please'
    """
    return "\n".join(_replaced(line, signature, original) for line in content.split("\n"))


def pieces(content: str) -> list[tuple[str, str]]:
    """`content` split at its command lines: (SIGNATURE, ORIGINAL or TEXT, the lines unchanged).

    >>> pieces("Hi\\n\\n#sig\\n#original_message")
    [('text', 'Hi\\n'), ('signature', '#sig'), ('original', '#original_message')]
    """
    cut: list[tuple[str, str]] = []
    lines: list[str] = []
    for line in content.split("\n"):
        kind = _kind(line)
        if kind == TEXT:
            lines.append(line)
            continue
        if lines:
            cut.append((TEXT, "\n".join(lines)))
        cut.append((kind, line))
        lines = []
    return [*cut, (TEXT, "\n".join(lines))] if lines else cut


def _kind(line: str) -> str:
    command = line.strip()
    return SIGNATURE if command in SIGNATURE_LINES else ORIGINAL if command == ORIGINAL_LINE else TEXT


def _replaced(line: str, signature: str, original: str | None) -> str:
    kind = _kind(line)
    if kind == SIGNATURE:
        return signature
    return original if kind == ORIGINAL and original is not None else line
