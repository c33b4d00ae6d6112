"""The top-level entries of a KATA text as text: each with the comment above it, so that edits keep everything else."""

from server.kata.kata_parser import plain


def span(text: str, line: int) -> tuple[int, int]:
    """Returns the range of lines, from 0 and end excluded, of the entry whose key is on `line`, with the comment above
    it.

    >>> span("a:\\n  x: 1\\n\\n# Then b\\nb:\\n  y: 2\\n", 4)
    (3, 6)
    """
    lines = text.splitlines()
    start = line
    while start and lines[start - 1].startswith("#"):
        start -= 1
    end = line + 1
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith((" ", "\t"))):
        end += 1
    while end > line + 1 and not lines[end - 1].strip():
        end -= 1
    return start, end


def blocks(text: str) -> dict[str, str]:
    """{key without annotations: text of its entry, with the comment above it}.

    >>> blocks("a@list:\\n  x\\n\\n# Then b\\nb:\\n  y: 2\\n")
    {'a': 'a@list:\\n  x', 'b': '# Then b\\nb:\\n  y: 2'}
    """
    lines, texts = text.splitlines(), {}
    for key, line in _keys(lines).items():
        start, end = span(text, line)
        texts[key] = "\n".join(lines[start:end])
    return texts


def replaced(text: str, key: str, entry: str) -> str:
    """The text with another entry in place of the one with this key. "" removes it; a new key comes last.

    >>> replaced("a:\\n  x: 1\\nb:\\n  y: 2\\n", "a", ""), replaced("a:\\n  x: 1\\n", "b", "b:\\n  y: 2")
    ('b:\\n  y: 2\\n', 'a:\\n  x: 1\\n\\nb:\\n  y: 2\\n')
    """
    lines = text.splitlines()
    line = _keys(lines).get(key)
    if line is None:
        return "\n\n".join(filter(None, (text.rstrip(), entry))) + "\n"
    start, end = span(text, line)
    return "".join(f"{each}\n" for each in (*lines[:start], *entry.splitlines(), *lines[end:]))


def _keys(lines: list[str]) -> dict[str, int]:
    """{key: its line} of the entries that stand at the margin."""
    return {
        plain(each.partition(":")[0].strip()): line
        for line, each in enumerate(lines)
        if each.strip() and not each.startswith((" ", "\t", "#"))
    }
