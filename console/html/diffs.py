"""Compares two texts line by line."""

import difflib

from server.dataclass import dataclass

MAX_LINES = 5000  # lines of both texts together; the time to compare them grows with the square
AROUND = 3  # lines of context on each side of a change


@dataclass(frozen=True, slots=True)
class DiffLine:
    """kind: removed, added, same, or skipped for lines that are left out between changes. old, new: their numbers from
    1, 0 for a side that does not have it."""

    kind: str
    text: str = ""
    old: int = 0
    new: int = 0


def compared(old: str, new: str) -> list[DiffLine] | None:
    """The lines that differ, with some around them; [] for equal texts, None for texts too long to be compared.

    >>> [(each.kind, each.text) for each in compared("a\\nb", "a\\nc") or []]
    [('same', 'a'), ('removed', 'b'), ('added', 'c')]
    """
    if old == new:
        return []
    before, after = old.split("\n"), new.split("\n")
    if len(before) + len(after) > MAX_LINES:
        return None
    lines: list[DiffLine] = []
    for group in difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(AROUND):
        if lines or group[0][1] > 0:
            lines.append(DiffLine("skipped"))
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                lines += [
                    DiffLine("same", before[at], at + 1, new_from + at - old_from + 1) for at in range(old_from, old_to)
                ]
                continue
            lines += [DiffLine("removed", before[at], at + 1) for at in range(old_from, old_to)]
            lines += [DiffLine("added", after[at], 0, at + 1) for at in range(new_from, new_to)]
    return lines
