"""Counts what STYLE.md warns of: sentences that read as translated, and names that say nothing. `make lint` runs it.

    python build/style.py                 fails if a room has more than it may have, and shows where
    python build/style.py server/mail     shows every place in a folder

The patterns find where to read; a sentence that they find may be good. So a room may have some, and no word is
forbidden.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOPS = ("server", "console", "tests", "build")
MAX_PER_1000_WORDS = 10.0  # in a room
FEWEST_WORDS = 400  # words of a room; in a smaller one a single sentence would decide
MAX_NAMES_PER_1000_LINES = 25.0  # in a room
MAX_FILES, MAX_LINES = 60, 8_000  # in a folder without its subfolders; above them a reader gets a warning

# {what is wrong: a pattern that finds it}; STYLE.md says what to write instead.
SENTENCES = {
    "a clause in place of a noun": re.compile(
        r"(?:^|[.:;,(]\s|\b(?:and|of|with|for|by|to)\s)(?:[Ww]hat|[Ww]ho|[Ww]hoever|[Ww]hose)\s"
        r"(?:is|are|was|were|has|have|had|can|may|must|they|it|a|an|the|there)\b"
    ),
    "those that, those of": re.compile(r"\b(?:those|that)\s(?:of|that)\b|\bof\s(?:them|it)\sthat\b"),
    "answers, tells, told": re.compile(r"\b(?:told|tells?)\b|\b[Aa]nswers\s(?:the|a|an|what|how|whether|its|one)\b"),
    "negation as a noun": re.compile(r"\b(?:is|are|was|were)\snone\b|\b(?:nobody|somebody|anybody)\b|\bat\sall\b"),
    "anew, once more, beside, behind, meanwhile": re.compile(r"\b(?:anew|once\smore|beside|behind|meanwhile)\b"),
    "of its own": re.compile(r"\bof\s(?:ours|theirs|(?:its|their)\sown)\b|\bthe\sones?\s(?:of|that)\b"),
    "is to be": re.compile(r"\b(?:is|are|was|were)\sto\s(?:be\s)?[a-z]+\b|\b[Ll]et\s(?:all|others|it|them|what)\b"),
    "a comment that continues the name": re.compile(
        r"^#\s(?:of|that|whose|until|from|for|before|behind|between|after|by|with|without|as)\s"
    ),
}
PARTICIPLES = frozenset(
    "asked found given held kept known left listed made named noted seen shown taken told wanted".split()
)
VAGUE_FUNCTIONS = frozenset(("of", "told", "tell"))


@dataclass(frozen=True)
class Mark:
    """A place to read again."""

    path: Path
    line: int
    reason: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.reason}: {self.text[:120]}"


@dataclass
class Room:
    """The counts of a folder with its subfolders, or of the modules directly in a top folder."""

    words: int = 0
    lines: int = 0
    sentences: int = 0
    names: int = 0

    @property
    def sentence_rate(self) -> float:
        """Marked sentences per 1,000 words."""
        return 1000 * self.sentences / self.words if self.words else 0.0

    @property
    def name_rate(self) -> float:
        """Marked names per 1,000 lines."""
        return 1000 * self.names / self.lines if self.lines else 0.0

    @property
    def is_crowded(self) -> bool:
        """Whether somebody should read the room again."""
        has_sentences = self.words >= FEWEST_WORDS and self.sentence_rate > MAX_PER_1000_WORDS
        return has_sentences or self.name_rate > MAX_NAMES_PER_1000_LINES


def texts(source: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields the line and the text of each docstring, without its examples, and of each comment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (ast.get_docstring(node) or "").splitlines()
            text = " ".join(line.strip() for line in lines if not line.strip().startswith((">>>", "...")))
            if text:
                yield node.body[0].lineno, text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(("# fmt:", "# noqa", "# type:", "# --")):
            yield token.start[0], token.string


def vague_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields the line and the name of each variable that is a bare participle, and of each function named `of`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in PARTICIPLES:
            yield node.lineno, node.id
        elif isinstance(node, ast.arg) and node.arg in PARTICIPLES:
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.strip("_") in VAGUE_FUNCTIONS:
            yield node.lineno, f"{node.name}()"


def marks_of(path: Path, room: Room) -> Iterator[Mark]:
    """Counts a file into its room and yields its marks. Names of tests do not count."""
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    room.lines += source.count("\n")
    for line, text in texts(source, tree):
        room.words += len(text.split())
        for reason, pattern in SENTENCES.items():
            for _ in pattern.findall(text):
                room.sentences += 1
                yield Mark(path, line, reason, text)
    if path.relative_to(ROOT).parts[0] == "tests":
        return
    for line, name in vague_names(tree):
        room.names += 1
        yield Mark(path, line, "a name that says nothing", name)


def room_of(path: Path) -> str:
    """The name of the room that a file belongs to.

    >>> room_of(ROOT / "server/mail/inboxes/imap.py"), room_of(ROOT / "server/app.py")
    ('server/mail', 'server')
    """
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def large_folders(lines: dict[Path, int]) -> Iterator[str]:
    """Yields a sentence for each folder that holds so much that it may be several things. lines: of each file."""
    files = Counter(path.parent for path in lines)
    for folder, count in sorted(files.items()):
        total = sum(number for path, number in lines.items() if path.parent == folder)
        if count > MAX_FILES or total > MAX_LINES:
            yield f"{folder.relative_to(ROOT)}: {count} files, {total} lines: are these several things?"


def main(places: list[str]) -> int:
    rooms: dict[str, Room] = {}
    marks: dict[str, list[Mark]] = {}
    lines: dict[Path, int] = {}
    for path in (path for top in TOPS for path in sorted((ROOT / top).rglob("*.py"))):
        name = room_of(path)
        room = rooms.setdefault(name, Room())
        before = room.lines
        marks.setdefault(name, []).extend(marks_of(path, room))
        if path.relative_to(ROOT).parts[0] != "tests":
            lines[path] = room.lines - before
    if places:
        folders = [ROOT / place for place in places]
        every_mark = (mark for each in marks.values() for mark in each)
        print(*(mark for mark in every_mark if any(map(mark.path.is_relative_to, folders))), sep="\n")
        return 0
    for sentence in large_folders(lines):
        print(f"warning: {sentence}")
    crowded = {name: room for name, room in rooms.items() if room.is_crowded}
    for name, room in crowded.items():
        print(*marks[name], sep="\n")
        print(
            f"{name}: {room.sentence_rate:.1f} marked sentences per 1,000 words, at most {MAX_PER_1000_WORDS:g}; "
            f"{room.name_rate:.1f} marked names per 1,000 lines, at most {MAX_NAMES_PER_1000_LINES:g}. See STYLE.md."
        )
    return 1 if crowded else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
